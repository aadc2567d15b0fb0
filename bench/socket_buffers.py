"""A receiver offers more than half of its socket buffer as window, but not all of it.

One flow at 10 Gbit/s and 20 ms, with the course's buffers (16 MiB) and larger ones. A receiver offers
the fraction of its buffer that payload takes (since Linux 6.6; before that, always half). A sender that
waits with select(), as iperf3 does, writes again when a third of its buffer is free, so two thirds of
the send buffer are another limit.

    rmem, wmem     maximum receive and send buffer in bytes
    offered        the window that the receiver offers, in bytes (`ss`: rcv_ssthresh)
    part           the same as a fraction of its buffer
    gbps           goodput of the third second
    limit          what limited the flow most of the time, as the sender's kernel counts it
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile

from _report import Report

from wanlab import Network, shapes
from wanlab.measure import iperf3_text
from wanlab.plan import Wire

COURSE, LARGE = 16_777_216, 52_428_800
CASES: tuple[tuple[Wire, int, int], ...] = (
    ("gso", COURSE, COURSE),
    ("gso", COURSE, LARGE),
    ("gso", LARGE, COURSE),
    ("mtu", COURSE, LARGE),
)
PORT = "s1-eth2"
COLUMNS = ("wire", "rmem", "wmem", "offered", "part", "gbps", "limit")


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    report = Report("socket_buffers")
    table = report.table("flows", COLUMNS)
    is_met = True
    for wire, rmem, wmem in CASES:
        offered, gbps, limit = _run(wire, rmem, wmem)
        table.add(
            wire=wire,
            rmem=rmem,
            wmem=wmem,
            offered=offered,
            part=offered / rmem,
            gbps=gbps,
            limit=limit,
        )
        is_met = is_met and 0.5 < offered / rmem < 1
    return report.finish(is_met=is_met)


def _run(wire: Wire, rmem: int, wmem: int) -> tuple[int, float, str]:
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(shapes.single(2), wire=wire, folder=folder) as net,
    ):
        net.root.run(f"tc qdisc add dev {PORT} root handle 1: netem delay 20ms limit 100000")
        shaper = "tbf rate 10gbit burst 5000000 limit 25000000"
        net.root.run(f"tc qdisc add dev {PORT} parent 1: handle 2: {shaper}")
        net["h1"].run(["sysctl", "-qw", f"net.ipv4.tcp_wmem=10240 87380 {wmem}"])
        net["h2"].run(["sysctl", "-qw", f"net.ipv4.tcp_rmem=10240 87380 {rmem}"])
        net["h2"].start("iperf3 -s")
        net.run_for("500ms")
        client = net["h1"].start("iperf3 -c h2 -t 3")
        net.run_for("2500ms")
        offers = re.findall(r"rcv_ssthresh:(\d+)", net["h2"].run("ss -tin sport = :5201").output)
        limits = re.findall(r"(\w+)_limited:(\d+)ms", net["h1"].run("ss -tin dport = :5201").output)
        net.run_for("1s")
        lines = iperf3_text.parse(client.output)
    third = next(line for line in lines if line.start_s == 2 and not line.role)
    longest = max(limits, key=lambda limit: int(limit[1]), default=("none", "0"))
    return max(map(int, offers)), third.bits_per_second / 1e9, longest[0]


if __name__ == "__main__":
    sys.exit(main())
