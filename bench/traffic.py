"""Our generator takes less than half of the time that iperf3 takes to send the same.

Both send from h1 to h2 through a port with 20 ms of delay, a rate and a queue of some bandwidth-delay
products. The network and the receiver are up before; the time is that of the whole run of the sender,
its start included. Of several runs the one that took least processor time counts: a machine runs on
one CPU, so that this is the wall time on an idle computer.

    start_s    of what a run took, the start of the program: a transfer of one byte
    cpu_s      processor seconds of a run
    goodput    what the receiver had counted when the time was over; iperf3's receiver begins to count
               when it is connected, ours when the sender begins to connect
    gain       iperf3's processor seconds for each of ours
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass

from _family import cpu_s, family
from _report import Report

from wanlab import Network, iperf3, shapes
from wanlab.plan import Wire

BUFFERS = "10240 87380 152428800"
CLOSE_ENOUGH = 0.005
"""Of goodput: what the different ends of the two make of it."""


@dataclass(frozen=True)
class Case:
    rate: str
    limit_bytes: int
    flows: int
    seconds: int
    wire: Wire
    least_gain: float

    @property
    def name(self) -> str:
        return f"{self.rate}-{self.flows}-{self.wire}"


CASES = (
    Case("10Mbps", 100_000, 1, 60, "mtu", 2),
    Case("10Mbps", 100_000, 1, 60, "gso", 2),
    Case("1Gbps", 5_000_000, 1, 10, "mtu", 2),
    Case("1Gbps", 5_000_000, 1, 10, "gso", 2),
    Case("100Mbps", 500_000, 100, 10, "mtu", 2),
    Case("100Mbps", 500_000, 100, 10, "gso", 2),
)
COLUMNS = ("case", "program", "wall_s", "cpu_s", "start_s", "goodput_mbps", "gain", "is_met")


@dataclass(frozen=True)
class Took:
    cpu_s: float
    wall_s: float
    goodput_bps: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="of which the fastest counts")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES])
    options = parser.parse_args()
    report = Report("traffic")
    table = report.table("generators", COLUMNS)
    is_met = True
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        theirs, theirs_start_s = _measure(case, "iperf3", options.runs)
        ours, ours_start_s = _measure(case, "wanlab-traffic", options.runs)
        gain = theirs.cpu_s / ours.cpu_s
        is_same = abs(ours.goodput_bps / theirs.goodput_bps - 1) <= CLOSE_ENOUGH
        is_good = gain >= case.least_gain and is_same
        is_met &= is_good
        for program, took, start_s in (
            ("iperf3", theirs, theirs_start_s),
            ("wanlab-traffic", ours, ours_start_s),
        ):
            is_ours = program != "iperf3"
            table.add(
                case=case.name,
                program=program,
                wall_s=took.wall_s,
                cpu_s=took.cpu_s,
                start_s=start_s,
                goodput_mbps=took.goodput_bps / 1e6,
                gain=gain if is_ours else None,
                is_met=is_good if is_ours else None,
            )
    return report.finish(is_met=is_met)


def _measure(case: Case, program: str, runs: int) -> tuple[Took, float]:
    """The run that took least, and what a start of the program takes."""
    found = [_run(case, program) for _ in range(runs)]
    return min((run[0] for run in found), key=lambda took: took.cpu_s), min(run[1] for run in found)


def _run(case: Case, program: str) -> tuple[Took, float]:
    sysctls = {"net.ipv4.tcp_rmem": BUFFERS, "net.ipv4.tcp_wmem": BUFFERS}
    queue = {"kind": "fifo", "limit": f"{case.limit_bytes}B"}
    topology = shapes.minimal()
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(topology, wire=case.wire, sysctls=sysctls, folder=folder) as net,
    ):
        net.set_port("s1-eth2", rate=case.rate, delay="20ms", queue=queue)
        net["h1"].run("ping -c 1 h2")
        if program == "iperf3":
            net["h2"].start("iperf3 -s")
            net.run_for("500ms")
            start, _ = _timed(net, "iperf3 -c h2 -n 1 -J")
            took, said = _timed(net, f"iperf3 -c h2 -t {case.seconds} -P {case.flows} -i 0 -J")
            goodput_bps = iperf3.parse(said).received.bits_per_second
        else:
            net["h2"].run("wanlab-traffic serve -D")
            start, _ = _timed(net, "wanlab-traffic bulk h2 --bytes 1B --json")
            words = f"--time {case.seconds}s --flows {case.flows}"
            took, said = _timed(net, f"wanlab-traffic bulk h2 {words} --json")
            goodput_bps = json.loads(said)["goodput_bps"]
        return Took(took[0], took[1], goodput_bps), start[0]


def _timed(net: Network, command: str) -> tuple[tuple[float, float], str]:
    """Processor and wall seconds, and what it said."""
    began_s, used_s = time.monotonic(), cpu_s(family(os.getpid()))
    said = net["h1"].run(command).output
    used_s = cpu_s(family(os.getpid())) - used_s
    return (used_s, time.monotonic() - began_s), said


if __name__ == "__main__":
    sys.exit(main())
