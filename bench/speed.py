"""A bulk TCP flow runs at least as many virtual seconds per wall second as the budget demands.

`iperf3 -t 10` (5 s at 10 Gbit/s) sends through a switch's port with 20 ms of delay and a tbf queue of
slightly more than one bandwidth-delay product. The time is that of iperf3 from start to end, in a
network that is already up. The fastest of several runs counts, because a busy computer can only make a
run slower. `at_least` and `aim` are the design's budgets for a computer with two cores.

    rate, wire     the bottleneck, and how links carry packets
    tso            whether the sender's NIC segments super-packets (mtu wire)
    wall_s, cpu_s  real time of the fastest run, and processor time of the machine, which is what wall_s
                   would be on an idle computer, because a machine runs on one CPU
    speed          virtual seconds per wall second
    goodput_mbps   goodput at iperf3's receiver, including slow start
    of_first       with --modes: cpu_s divided by that of the first mode
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass

import _modes
from _family import cpu_s, family
from _report import Report

from wanlab import Network, iperf3, shapes
from wanlab.plan import Wire

PORT = "s1-eth2"
DELAY = "20ms"
BUFFERS = "10240 87380 152428800"


@dataclass(frozen=True)
class Case:
    rate: str
    burst_bytes: int
    limit_bytes: int
    seconds: int
    wire: Wire
    at_least: float
    aim: float
    tso: bool = True
    """On the mtu wire: whether the sender's NIC segments super-packets."""

    @property
    def name(self) -> str:
        return f"{self.rate}-{self.wire}{'' if self.tso else '-tso-off'}"


CASES = (
    Case("10mbit", 20_000, 50_000, 10, "gso", 20, 60),
    Case("100mbit", 50_000, 300_000, 10, "gso", 9, 25),
    Case("1gbit", 500_000, 2_621_440, 10, "gso", 2.7, 8),
    Case("10gbit", 5_000_000, 26_214_400, 5, "gso", 0.45, 1.5),
    Case("100mbit", 50_000, 300_000, 10, "mtu", 2, 6),
    Case("1gbit", 500_000, 2_621_440, 10, "mtu", 0.7, 2),
    Case("1gbit", 500_000, 2_621_440, 10, "mtu", 0.7, 2, tso=False),
    Case("10gbit", 5_000_000, 26_214_400, 2, "mtu", 0.1, 0.4),
    Case("10gbit", 5_000_000, 26_214_400, 2, "mtu", 0.1, 0.4, tso=False),
)

COLUMNS = (
    "rate",
    "wire",
    "tso",
    "seconds",
    "wall_s",
    "cpu_s",
    "speed",
    "at_least",
    "aim",
    "is_met",
    "goodput_mbps",
    "mode",
    "of_first",
)


def main() -> int:
    options = _arguments()
    report = Report("speed", options.kernel)
    table = report.table("speeds", COLUMNS)
    is_met = True
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        turns = [[_run(case, mode) for mode in options.modes] for _ in range(options.runs)]
        of_modes = list(zip(*turns, strict=True))
        first_s = min(used_s for _, used_s, _ in of_modes[0])
        for mode, runs in zip(options.modes, of_modes, strict=True):
            wall_s, used_s, goodput_bps = min(runs)
            speed = case.seconds / wall_s
            is_met &= speed >= case.at_least
            table.add(
                rate=case.rate,
                wire=case.wire,
                tso=case.tso,
                seconds=case.seconds,
                wall_s=wall_s,
                cpu_s=used_s,
                runs_s=[[round(run[0], 3), round(run[1], 3)] for run in runs],
                speed=speed,
                at_least=case.at_least,
                aim=case.aim,
                is_met=speed >= case.at_least,
                goodput_mbps=goodput_bps / 1e6,
                mode=mode or None,
                of_first=min(run[1] for run in runs) / first_s,
            )
    return report.finish(is_met=is_met)


def _run(case: Case, mode: str) -> tuple[float, float, float]:
    """Run a case once; return wall and processor seconds, and goodput in bit/s."""
    sysctls = {"net.ipv4.tcp_rmem": BUFFERS, "net.ipv4.tcp_wmem": BUFFERS}
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(
            shapes.single(2),
            wire=case.wire,
            nic={"tso": case.tso} if case.wire == "mtu" else {},
            sysctls=sysctls,
            folder=folder,
            traps=mode,
        ) as net,
    ):
        net.root.run(f"tc qdisc add dev {PORT} root handle 1: netem delay {DELAY} limit 1000000")
        net.root.run(
            f"tc qdisc add dev {PORT} parent 1: handle 2: "
            f"tbf rate {case.rate} burst {case.burst_bytes} limit {case.limit_bytes}"
        )
        net["h2"].start("iperf3 -s")
        net.run_for("500ms")
        net["h1"].run("ping -c 1 h2")
        machine = family(os.getpid())
        began, used_s = time.monotonic(), cpu_s(machine)
        output = net["h1"].run(f"iperf3 -c h2 -t {case.seconds} -i 5 -J").output
        wall_s = time.monotonic() - began
        used_s = cpu_s(family(os.getpid())) - used_s
        return wall_s, used_s, iperf3.parse(output).received.bits_per_second


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--kernel", default="", help="the kernel's name")
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
