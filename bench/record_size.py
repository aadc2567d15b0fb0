"""The record of 90 s at 1 Gbit/s, with flows, queues and ports every 10 ms, is smaller than 20 MB.

One flow and a ping go through a bottleneck of 1 Gbit/s and 20 ms, as in the course's Lab 14.

    megabytes   size of each part of the record's folder
    rows        rows of each table
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from _report import Report

from wanlab import Flows, Network, Ports, Queues, Record, Sampling, iperf3, ping, record, shapes

SECONDS = 90
EVERY = "10ms"
MAX_MEGABYTES = 20
PORT = "s1-eth3"


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    report = Report("record_size")
    table = report.table("parts", ("part", "rows", "megabytes"))
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder))
        target = Path(folder) / "record"
        record.write(measured, target)
        total = 0
        for path in sorted(path for path in target.rglob("*") if path.is_file()):
            size = path.stat().st_size
            total += size
            rows = len(measured[path.stem]) if path.suffix == ".parquet" else 0
            table.add(part=str(path.relative_to(target)), rows=rows, megabytes=size / 1e6)
    table.add(part="all", rows=0, megabytes=total / 1e6)
    return report.finish(is_met=total < MAX_MEGABYTES * 1e6)


def measure(folder: Path) -> Record:
    """Run the network once and return its record."""
    topology = shapes.dumbbell(pairs=2, rate="1Gbps", delay="20ms")
    with Network(topology, seed=1, wire="gso", folder=folder) as net:
        net["h3"].start("iperf3 -s -1")
        net.run_for("1s")
        samplers = (Flows("h1", "h3"), Queues(PORT), Ports(PORT, "h1-eth0"))
        sampling = Sampling(net, samplers, every=EVERY)
        flow = net["h1"].start(f"iperf3 -c h3 -t {SECONDS} -J")
        pings = net["h2"].start(f"ping -c {SECONDS} h4")
        sampling.run([flow, pings])
        tables = {
            **sampling.tables(),
            "iperf3": iperf3.parse(flow.output).table(),
            "ping": ping.parse(pings.output).table(),
        }
        raw = {"out.json": flow.output_bytes, "ping.txt": pings.output_bytes}
        return Record(net.provenance(), tables, raw)


if __name__ == "__main__":
    sys.exit(main())
