"""wanlab-traffic takes less than half of the processor time that iperf3 takes for the same traffic.

Both send from h1 to h2 through a port with 20 ms of delay, a rate, and a queue of a few bandwidth-delay
products. The network and the receiver are already up; the time is that of the sender's whole run,
including its start. Of several runs the one with the least processor time counts: a machine runs on one
CPU, so that is the wall time on an idle computer.

    start_s    the part of the run that is the program's start, measured by a transfer of one byte
    cpu_s      processor seconds of a run
    goodput    what the receiver counted until the time was over; iperf3's receiver begins to count when
               it is connected, ours when the sender begins to connect
    gain       iperf3's processor seconds divided by ours
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
GOODPUT_TOLERANCE = 0.005
"""The two programs end their measurement at slightly different times."""


@dataclass(frozen=True)
class Case:
    rate: str
    limit_bytes: int
    flows: int
    seconds: int
    wire: Wire
    min_gain: float

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
class Cost:
    cpu_s: float
    wall_s: float
    goodput_bps: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
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
        is_same = abs(ours.goodput_bps / theirs.goodput_bps - 1) <= GOODPUT_TOLERANCE
        is_good = gain >= case.min_gain and is_same
        is_met &= is_good
        for program, cost, start_s in (
            ("iperf3", theirs, theirs_start_s),
            ("wanlab-traffic", ours, ours_start_s),
        ):
            is_ours = program != "iperf3"
            table.add(
                case=case.name,
                program=program,
                wall_s=cost.wall_s,
                cpu_s=cost.cpu_s,
                start_s=start_s,
                goodput_mbps=cost.goodput_bps / 1e6,
                gain=gain if is_ours else None,
                is_met=is_good if is_ours else None,
            )
    return report.finish(is_met=is_met)


def _measure(case: Case, program: str, runs: int) -> tuple[Cost, float]:
    """Return the cheapest run, and the cost of the program's start."""
    measured = [_run(case, program) for _ in range(runs)]
    cheapest = min((run[0] for run in measured), key=lambda cost: cost.cpu_s)
    return cheapest, min(run[1] for run in measured)


def _run(case: Case, program: str) -> tuple[Cost, float]:
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
            cost, output = _timed(net, f"iperf3 -c h2 -t {case.seconds} -P {case.flows} -i 0 -J")
            goodput_bps = iperf3.parse(output).received.bits_per_second
        else:
            net["h2"].run("wanlab-traffic serve -D")
            start, _ = _timed(net, "wanlab-traffic bulk h2 --bytes 1B --json")
            flow_options = f"--time {case.seconds}s --flows {case.flows}"
            cost, output = _timed(net, f"wanlab-traffic bulk h2 {flow_options} --json")
            goodput_bps = json.loads(output)["goodput_bps"]
        return Cost(cost[0], cost[1], goodput_bps), start[0]


def _timed(net: Network, command: str) -> tuple[tuple[float, float], str]:
    """Run a command; return processor and wall seconds, and its output."""
    began_s, used_s = time.monotonic(), cpu_s(family(os.getpid()))
    output = net["h1"].run(command).output
    used_s = cpu_s(family(os.getpid())) - used_s
    return (used_s, time.monotonic() - began_s), output


if __name__ == "__main__":
    sys.exit(main())
