"""The same networks in wanlab, ns-3 and Mininet: their costs and their results.

    bulk-RATE   one CUBIC flow of 10 s over a bottleneck with a round-trip time of 20 ms and a drop-tail
                queue of one bandwidth-delay product; hosts have links of ten times the rate
    dctcp       figure 17 of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010: 40 senders, of
                which S1 and S3 share 1 Gbit/s, S1 and S2 10 Gbit/s. 5 s; goodput in the last one.

ns-3 is PyPI's package `ns3`, downloaded on first use; it models TCP. Mininet runs if it is installed
(Debian's packages `mininet` and `bridge-utils`), as root, on real time; it emulates at most 1 Gbit/s.
wanlab carries packets of the MTU (wire `mtu`) and super-packets (wire `gso`).

    wall_s        real time from the first packet to the last; `cpu_s` the processor time, which is what
                  wall_s would be on an idle computer, because each of them computes on one processor
    speed         virtual seconds per second of processor time
    goodput_mbps  of the receivers, including slow start; dctcp: of each sender S1, S2, S3
    memory_mb     at the end, of all processes together, shared pages counted once
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import _modes
from _family import cpu_s, family, memory
from _mininet import in_private, why_no_mininet
from _ns3 import VERSION, NoNs3Error, Ns3
from _report import Report

from wanlab import Network, Topology, iperf3, shapes
from wanlab.plan import Wire
from wanlab.topology import Host, Switch
from wanlab.topology.words import ConditionWords, link

DELAY_NS = 10_000_000
PACKET_BYTES = 1500
SOCKET_BUFFER_BYTES = 150_000_000
SECONDS = 10
DCTCP_SECONDS = 5
EDGE_FACTOR = 10
BULK_BPS = {"10mbit": 10**7, "100mbit": 10**8, "1gbit": 10**9, "10gbit": 10**10}
CASES = (*(f"bulk-{rate}" for rate in BULK_BPS), "dctcp")
COLUMNS = ("case", "what", "wall_s", "cpu_s", "speed", "goodput_mbps", "memory_mb")
MININET_MAX_BPS = 10**9
MININET_SCRIPT = """
import json, sys
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
rate_mbps, delay, packets, seconds = float(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
net = Mininet(controller=None, switch=LinuxBridge, link=TCLink)
h1, h2, s1 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s1")
net.addLink(h1, s1, cls=TCLink)
net.addLink(s1, h2, bw=rate_mbps, delay=delay, max_queue_size=packets)
net.start()
h2.cmd("iperf3 -s -D; sleep 1")
print(json.loads(h1.cmd("iperf3 -J -C cubic -c", h2.IP(), "-t", seconds))
      ["end"]["sum_received"]["bits_per_second"])
"""


@dataclass(frozen=True)
class Cost:
    """The resources that a run used, and its goodput."""

    seconds: float
    wall_s: float
    cpu_s: float | None
    goodput_mbps: list[float]
    memory_bytes: int | None

    def row(self) -> dict[str, Any]:
        return {
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "speed": self.seconds / (self.cpu_s or self.wall_s),
            "goodput_mbps": " ".join(f"{mbps:.4g}" for mbps in self.goodput_mbps),
            "memory_mb": None if self.memory_bytes is None else self.memory_bytes / 1e6,
        }


def main() -> int:
    options = _arguments()
    report = Report("peers")
    ns3 = _ns3(report)
    no_mininet = why_no_mininet()
    if no_mininet:
        report.note(f"without Mininet: {no_mininet}")
    report.more = {"ns3": VERSION if ns3 else None, "mininet": no_mininet is None}
    table = report.table("runs", COLUMNS)
    for case in options.case or CASES:
        for what, cost in _runs(case, options.modes, ns3, has_mininet=no_mininet is None):
            if isinstance(cost, str):
                report.note(f"{case}: no {what}: {cost}")
            else:
                table.add(case=case, what=what, **cost.row())
    return report.finish(is_met=None)


def _ns3(report: Report) -> Ns3 | None:
    try:
        return Ns3(report.note)
    except NoNs3Error as reason:
        report.note(f"without ns-3: {reason}")
        return None


def _runs(
    case: str, modes: Sequence[str], ns3: Ns3 | None, *, has_mininet: bool
) -> Iterator[tuple[str, Cost | str]]:
    """Yield each program's name with its cost, or with the reason why it did not run the case."""
    wires: tuple[Wire, ...] = ("mtu", "gso")
    if case == "dctcp":
        for mode in modes:  # super-packets would be marked as a whole
            with _modes.in_mode(mode):
                yield f"wanlab mtu {mode}".strip(), _dctcp()
        if ns3:
            yield "ns-3", _dctcp_ns3(ns3)
        return
    rate_bps = BULK_BPS[case.removeprefix("bulk-")]
    for wire, mode in itertools.product(wires, modes):
        with _modes.in_mode(mode):
            yield f"wanlab {wire} {mode}".strip(), _bulk(rate_bps, wire)
    if ns3:
        yield "ns-3", _bulk_ns3(ns3, rate_bps)
    if has_mininet:
        yield "Mininet", _bulk_mininet(rate_bps)


def _queue_packets(rate_bps: int) -> int:
    return rate_bps * 2 * DELAY_NS // 10**9 // 8 // PACKET_BYTES


def _bulk(rate_bps: int, wire: Wire) -> Cost:
    buffers = f"4096 131072 {SOCKET_BUFFER_BYTES}"
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(
            shapes.single(2),
            wire=wire,
            sysctls={"net.ipv4.tcp_rmem": buffers, "net.ipv4.tcp_wmem": buffers},
            folder=folder,
        ) as net,
    ):
        net.set_link("h1", "s1", rate=rate_bps * EDGE_FACTOR)
        net.set_link(
            "s1",
            "h2",
            rate=rate_bps,
            delay=f"{DELAY_NS}ns",
            queue={"kind": "fifo", "packets": _queue_packets(rate_bps)},
        )
        net["h2"].start("iperf3 -s")
        net["h1"].run("ping -c 1 h2")
        with _Meter(SECONDS) as meter:
            output = net["h1"].run(f"iperf3 -c h2 -C cubic -t {SECONDS} -J").output
        return meter.cost([iperf3.parse(output).received.bits_per_second / 1e6])


def _dctcp() -> Cost:
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder:
        sysctls = {"net.ipv4.tcp_ecn": "1", "net.ipv4.tcp_congestion_control": "dctcp"}
        with Network(_dctcp_topology(), sysctls=sysctls, folder=folder) as net:
            flows = [(f"a{i}", "r", 5200 + i) for i in range(10)]
            flows += [(f"b{i}", f"q{i}", 5200) for i in range(20)]
            flows += [(f"c{i}", "r", 5210 + i) for i in range(10)]
            for _, receiver, port in flows:
                net[receiver].start(f"iperf3 -s -1 -p {port}")
            net.run_for("500ms")
            omitted_s = DCTCP_SECONDS - 1
            with _Meter(DCTCP_SECONDS) as meter:
                clients = [
                    net[sender].start(f"iperf3 -c {receiver} -p {port} -t 1 -O {omitted_s} -J")
                    for sender, receiver, port in flows
                ]
                outputs = [client.finish().output for client in clients]
            mbps = [iperf3.parse(text).received.bits_per_second / 1e6 for text in outputs]
            groups = (mbps[:10], mbps[10:30], mbps[30:])
            return meter.cost([statistics.mean(group) for group in groups])


def _dctcp_topology() -> Topology:
    """Return the network of figure 17.

    A queue marks every packet while it is longer than K: 65 packets at 10 Gbit/s, 20 at 1 Gbit/s.
    """

    def marked(packets: int) -> dict[str, Any]:
        threshold = packets * PACKET_BYTES
        options = [f"min {threshold}", f"max {threshold + 1}", f"avpkt {PACKET_BYTES}"]
        options += [f"burst {packets + 1}", "ecn"]
        return {"kind": "red", "limit": "4MB", "options": options}

    edge: ConditionWords = {"rate": "1Gbps", "delay": "10us"}
    senders = [f"{group}{i}" for group, count in (("a", 10), ("b", 20)) for i in range(count)]
    links = [link(sender, "s1", **edge) for sender in senders]
    links.append(link("s1", "s2", rate="10Gbps", delay="10us", queue=marked(65)))
    links += [link(f"c{i}", "s2", **edge) for i in range(10)]
    receivers = ["r", *(f"q{i}" for i in range(20))]
    marked_edge: ConditionWords = {**edge, "queue": marked(20)}
    links += [link("s2", name, **marked_edge) for name in receivers]
    hosts = [*senders, *(f"c{i}" for i in range(10)), *receivers]
    nodes = (*(Host(name) for name in hosts), Switch("s1"), Switch("s2"))
    return Topology(name="dctcp", nodes=nodes, links=tuple(links))


def _bulk_ns3(ns3: Ns3, rate_bps: int) -> Cost | str:
    arguments = [rate_bps, rate_bps * EDGE_FACTOR, DELAY_NS, _queue_packets(rate_bps), SECONDS]
    try:
        ran = ns3.run("bulk", [*map(str, arguments), "ns3::TcpCubic"])
    except NoNs3Error as reason:
        return str(reason)
    goodput = [ran.numbers[0] * 8 / SECONDS / 1e6]
    return Cost(SECONDS, ran.wall_s, ran.cpu_s, goodput, ran.memory_bytes)


def _dctcp_ns3(ns3: Ns3) -> Cost | str:
    try:
        ran = ns3.run("dctcp", [str(DCTCP_SECONDS)])
    except NoNs3Error as reason:
        return str(reason)
    pairs = zip(ran.numbers, (10, 20, 10), strict=True)
    goodput = [size * 8 / senders / 1e6 for size, senders in pairs]
    return Cost(DCTCP_SECONDS, ran.wall_s, ran.cpu_s, goodput, ran.memory_bytes)


def _bulk_mininet(rate_bps: int) -> Cost | str:
    if rate_bps > MININET_MAX_BPS:
        return f"its links have at most {MININET_MAX_BPS // 10**6} Mbit/s"
    arguments = (f"{rate_bps / 1e6:g}", f"{DELAY_NS // 1000}us", str(_queue_packets(rate_bps)))
    script = 'exec python3 -c "$@"'
    began = time.monotonic()
    done = subprocess.run(
        in_private(script, MININET_SCRIPT, *arguments, str(SECONDS)),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    wall_s = time.monotonic() - began
    try:
        goodput_bps = float(done.stdout.split()[-1])
    except (IndexError, ValueError):
        return (done.stderr.strip().splitlines() or ["it printed no result"])[-1]
    return Cost(SECONDS, wall_s, None, [goodput_bps / 1e6], None)


class _Meter:
    """Measures the resources that all our processes use during its body."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> _Meter:
        self._began = time.monotonic()
        self._used_s = cpu_s(family(os.getpid()))
        return self

    def __exit__(self, *_: object) -> None:
        processes = family(os.getpid())
        self._wall_s = time.monotonic() - self._began
        self._used_s = cpu_s(processes) - self._used_s
        self._memory_bytes = memory(processes).proportional_bytes

    def cost(self, goodput_mbps: list[float]) -> Cost:
        return Cost(self._seconds, self._wall_s, self._used_s, goodput_mbps, self._memory_bytes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", action="append", choices=CASES, help="only these cases")
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
