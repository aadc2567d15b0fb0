"""Sampling TCP, queues and ports every 10 ms makes a run take at most 1.3 times as long.

One iperf3 flow of `--seconds` goes through a switch's port with 20 ms of delay and 1 Gbit/s, as in
`speed`. The cases alternate and run `--runs` times each; the fastest run counts. The time of a run is
that of iperf3 from start to end, and of making the tables. With `--all` the other samplers are measured
too, without a claim.

    samplers       the samplers of the run; "none" for the run to compare with
    wall_s         real time of the fastest run; cpu_s: processor time of the machine's processes
    ratio          wall_s divided by that without samplers
    identical      whether iperf3 printed the same output, byte for byte (docs/reference/measurement.md)
    rows           rows of all tables; file_mb: size of the captures
    record_90s_mb  estimated size of a record of 90 s, from the size of this one
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from _family import cpu_s, family
from _report import Report

from wanlab import Capture, Flows, Network, Ports, Queues, Record, Sampling, record, shapes
from wanlab.measure import Acks, Cpu, Sampler, Sojourns
from wanlab.measure.captures import WHOLE_PACKET
from wanlab.plan import Wire
from wanlab.record import Table

PORT = "s1-eth2"
BUFFERS = "10240 87380 152428800"
MAX_RATIO = 1.3
MAX_RECORD_MB = 20
RECORD_SECONDS = 90

Make = Callable[[str], Sequence[Sampler]]


def claimed_samplers(folder: str) -> list[Sampler]:
    return [Queues(PORT), Flows("h1"), Ports(PORT)]


@dataclass(frozen=True)
class Case:
    samplers: str
    every: str
    make: Make
    is_claimed: bool = False


CASES = (
    Case("none", "", lambda folder: []),
    Case("tcp, queues, ports", "10ms", claimed_samplers, is_claimed=True),
    Case("tcp, queues, ports, cpu", "1ms", lambda folder: [*claimed_samplers(folder), Cpu()]),
    Case("acks", "10ms", lambda folder: [Acks("h1")]),
    Case("sojourns", "10ms", lambda folder: [Sojourns(PORT)]),
    Case("capture, 96 bytes", "10ms", lambda folder: [_capture(folder, 96)]),
    Case("capture, all bytes", "10ms", lambda folder: [_capture(folder, WHOLE_PACKET)]),
)
COLUMNS = (
    "wire",
    "samplers",
    "every",
    "wall_s",
    "cpu_s",
    "ratio",
    "identical",
    "rows",
    "file_mb",
    "record_90s_mb",
)


@dataclass
class SampledRun:
    wall_s: float
    cpu_s: float
    output: str
    tables: dict[str, Table]
    file_bytes: int
    record_bytes: int


def main() -> int:
    options = _arguments()
    report = Report("sampling")
    table = report.table("costs", COLUMNS)
    is_met = True
    for wire in options.wire or ("gso", "mtu"):
        cases = [case for case in CASES if options.all or case.is_claimed or not case.every]
        runs: dict[str, list[SampledRun]] = {}
        for _ in range(options.runs):
            for case in cases:
                key = f"{case.samplers} {case.every}"
                runs.setdefault(key, []).append(_run(case, wire, options.seconds))
        best = [min(found, key=lambda run: run.wall_s) for found in runs.values()]
        for case, run in zip(cases, best, strict=True):
            ratio = run.wall_s / best[0].wall_s
            megabytes = run.record_bytes / 1e6 * RECORD_SECONDS / options.seconds
            if case.is_claimed:
                is_met &= ratio <= MAX_RATIO and megabytes < MAX_RECORD_MB
            table.add(
                wire=wire,
                samplers=case.samplers,
                every=case.every,
                wall_s=run.wall_s,
                cpu_s=run.cpu_s,
                ratio=ratio,
                identical=run.output == best[0].output,
                rows=sum(len(rows) for rows in run.tables.values()),
                file_mb=run.file_bytes / 1e6,
                record_90s_mb=megabytes,
            )
    return report.finish(is_met=is_met)


def _run(case: Case, wire: Wire, seconds: int) -> SampledRun:
    sysctls = {"net.ipv4.tcp_rmem": BUFFERS, "net.ipv4.tcp_wmem": BUFFERS}
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(shapes.single(2), wire=wire, sysctls=sysctls, folder=folder) as net,
    ):
        net.root.run(f"tc qdisc add dev {PORT} root handle 1: netem delay 20ms limit 1000000")
        net.root.run(
            f"tc qdisc add dev {PORT} parent 1: handle 2: tbf rate 1gbit burst 500000 limit 2621440"
        )
        net["h2"].start("iperf3 -s")
        net.run_for("500ms")
        net["h1"].run("ping -c 1 h2")
        flow = net["h1"].start(f"iperf3 -c h2 -t {seconds} -i 5 -J")
        machine = family(os.getpid())
        began, used_s = time.monotonic(), cpu_s(machine)
        tables: dict[str, Table] = {}
        if case.every:
            sampling = Sampling(net, case.make(folder), every=case.every)
            sampling.run(flow)
            tables = sampling.tables()
        output = flow.finish().output
        wall_s = time.monotonic() - began
        used_s = cpu_s(family(os.getpid())) - used_s
        file_bytes = sum(path.stat().st_size for path in Path(folder).glob("*.pcapng"))
        target = Path(folder) / "record"
        record.write(Record(net.provenance(), tables), target)
        record_bytes = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        return SampledRun(wall_s, used_s, output, tables, file_bytes, record_bytes)


def _capture(folder: str, snaplen: int) -> Capture:
    return Capture(PORT, file=Path(folder) / "capture.pcapng", snaplen=snaplen, max_bytes="4GB")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    parser.add_argument("--seconds", type=int, default=10, help="length of each flow")
    parser.add_argument("--wire", action="append", choices=("gso", "mtu"))
    parser.add_argument("--all", action="store_true", help="also measure samplers without a claim")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
