"""4 GB of TCP cost less processor time in wanlab than between two namespaces of the computer's kernel.

One host sends to another with iperf3 over a cable: without a limit, and through tbf at 1 and 10 Gbit/s.
The computer's kernel does the same in real time, so it works whenever a few packets have arrived; a
machine's time waits for it. Runs alternate, the fastest counts, and what a run of 1 MB costs (the start)
is subtracted.

    wire      `gso` carries super-packets of up to 64 KB; `mtu` packets of 1500 bytes: on the
              computer's interfaces, gso_max_segs 1 forbids super-packets
    cpu_s     processor time of all processes, by a control group; of the computer's kernel without
              ksoftirqd and kworker threads
    of_host   cpu_s divided by that of the computer's kernel; at_most: the budget
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import Any

import _modes
from _control_group import cpu_of, why_no_control_group
from _report import Report

from wanlab import Network, Topology, link
from wanlab.topology import Host

GIGABYTE = 10**9
START_BYTES = 10**6
# rate: (the burst and the limit of tbf in bytes)
RATES = {"": (0, 0), "1gbit": (500_000, 2_621_440), "10gbit": (5_000_000, 26_214_400)}
AT_MOST = {"gso": 0.35, "mtu": 1.0}
COLUMNS = ("rate", "wire", "what", "cpu_s", "of_host", "at_most", "is_met")
NAMESPACES = """
set -e
rate=$1 burst=$2 limit=$3 segments=$4 bytes=$5
unshare --net sleep 1000 & peer=$!
trap 'kill -9 $peer' EXIT
until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add dev left type veth peer name right netns $peer
inside="nsenter --target $peer --net"
ip address add 10.9.9.1/24 dev left
$inside ip address add 10.9.9.2/24 dev right
for set in "ip link set left" "$inside ip link set right"; do
    $set gso_max_segs $segments up
done
if [ $rate ]; then tc qdisc add dev left root tbf rate $rate burst $burst limit $limit; fi
$inside iperf3 -s -1 > /dev/null & server=$!
until $inside ss -tln | grep -q :5201; do sleep 0.01; done
iperf3 -c 10.9.9.2 -n $bytes > /dev/null
wait $server
"""


def main() -> int:
    options = _arguments()
    if options.one:
        _send(options.one, options.rate[0], options.bytes)
        return 0
    report = Report("limit")
    if reason := why_no_control_group():
        report.note(f"nothing is measured: {reason}")
        return report.finish(is_met=None)
    table = report.table("runs", COLUMNS)
    met: list[bool] = []
    for rate in options.rate or RATES:
        for wire in options.wire or AT_MOST:
            fastest = _measure(rate, wire, options)
            host_s = fastest.pop("host")
            key: dict[str, Any] = {"rate": rate or None, "wire": wire}
            table.add(**key, what="the computer's kernel", cpu_s=host_s)
            for mode, cpu_s in fastest.items():
                met.append(cpu_s / host_s <= AT_MOST[wire])
                figures = {"cpu_s": cpu_s, "of_host": cpu_s / host_s, "at_most": AT_MOST[wire]}
                table.add(**key, what=f"wanlab {mode}".strip(), **figures, is_met=met[-1])
    return report.finish(is_met=all(met))


def _measure(rate: str, wire: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the least processor time of the transfer in each mode, and on the "host"."""
    runs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.runs):
        pair = [cpu_of(_on_the_computer(rate, wire, size))[0] for size in _sizes(options)]
        runs.setdefault("host", []).append((pair[0], pair[1]))
        for mode in options.modes:
            with _modes.in_mode(mode):
                pair = [cpu_of(_in_wanlab(rate, wire, size))[0] for size in _sizes(options)]
            runs.setdefault(mode, []).append((pair[0], pair[1]))
    return {
        name: min(whole for whole, _ in pairs) - min(start for _, start in pairs)
        for name, pairs in runs.items()
    }


def _sizes(options: argparse.Namespace) -> tuple[int, int]:
    return options.bytes, START_BYTES


def _on_the_computer(rate: str, wire: str, size: int) -> list[str]:
    burst, limit = RATES[rate]
    segments = 1 if wire == "mtu" else 65535
    numbers = map(str, (burst, limit, segments, size))
    return ["unshare", "--net", "sh", "-c", NAMESPACES, "sh", rate, *numbers]


def _in_wanlab(rate: str, wire: str, size: int) -> list[str]:
    return [sys.executable, __file__, "--one", wire, "--rate", rate, "--bytes", str(size)]


def _send(wire: Any, rate: str, size: int) -> None:
    topology = Topology(nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2"),))
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(topology, wire=wire, folder=folder) as net,
    ):
        if rate:
            burst, limit = RATES[rate]
            tbf = f"rate {rate} burst {burst} limit {limit}"
            net["h1"].run(f"tc qdisc add dev h1-eth0 root tbf {tbf}")
        net["h2"].start("iperf3 -s -1")
        net["h1"].run(f"sleep 0.1; iperf3 -c h2 -n {size}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", action="append", choices=RATES, help="'' or a rate; repeatable")
    parser.add_argument("--wire", action="append", choices=AT_MOST, help="only these wires")
    parser.add_argument("--runs", type=int, default=3, help="alternating runs of each")
    parser.add_argument("--bytes", type=int, default=4 * GIGABYTE, help="how much is sent")
    parser.add_argument("--one", choices=AT_MOST, help=argparse.SUPPRESS)
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
