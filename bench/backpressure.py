"""A wire exerts no backpressure: a switch's queue fills equally with and without netem before it.

This is the drop-tail case of Lab 18: one flow through a port with a tbf of 1 Gbit/s and a buffer of ten
bandwidth-delay products. The delay of 20 ms is either before the bottleneck (`before`: netem orphans
packets, so the queue fills even in a kernel with backpressure) or on the way back (`after`: only the
wire is between the sender and the queue). Since Linux 4.19, the second case shows 22 ms instead of about
200 ms on virtual Ethernet pairs, because TCP Small Queues counts the switch's queue as the sender's own.

    rtt_ms          median and maximum of the sender's smoothed RTT, without the first ten seconds
    ping_ms         mean of a ping through the same queue
    peak_bytes      peak of the queue; the claim: within one super-packet of its limit
    goodput_mbps    goodput at iperf3's receiver
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import Any

import numpy as np
from _report import Report

from wanlab import Flows, Network, Queues, Sampling, iperf3, link, ping
from wanlab.plan import Wire
from wanlab.record import Table
from wanlab.topology import Host, Switch, Topology

DELAY = "20ms"
LIMIT_BYTES = 26_214_400
BUFFERS = "10240 87380 52428800"
SECONDS, WARM_UP_S = 60, 10
PORT = "s2-eth2"
SUPER_PACKET_BYTES = 65_550
FULL_RTT_MS = 200.0
COLUMNS = (
    "delay",
    "wire",
    "rtt_ms",
    "rtt_most_ms",
    "ping_ms",
    "peak_bytes",
    "limit_bytes",
    "goodput_mbps",
    "is_met",
)
# The port with netem: before the bottleneck, or on the way back to the senders.
NETEM_PORTS = {"before": "s1-eth1", "after": "s2-eth1"}
WIRES: tuple[Wire, ...] = ("gso", "mtu")


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    report = Report("backpressure")
    table = report.table("queues", COLUMNS)
    met = []
    for wire in WIRES:
        for position, port in NETEM_PORTS.items():
            figures = _fill(wire, port)
            met.append(bool(figures["is_met"]))
            table.add(delay=position, wire=wire, **figures)
    return report.finish(is_met=all(met))


def _lab_18() -> Topology:
    """Return Lab 18's network, in which h1 and h2 send to h3 and h4 through s2-eth2."""
    return Topology(
        nodes=(*(Host(f"h{i}") for i in (1, 2, 3, 4)), *(Switch(f"s{i}") for i in (1, 2, 3))),
        links=(
            link("s1", "s2"),
            link("h1", "s1"),
            link("h2", "s1"),
            link("s2", "s3"),
            link("s3", "h3"),
            link("s3", "h4"),
        ),
    )


def _fill(wire: Wire, netem_port: str) -> dict[str, Any]:
    sysctls = {"net.ipv4.tcp_rmem": BUFFERS, "net.ipv4.tcp_wmem": BUFFERS}
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(_lab_18(), wire=wire, sysctls=sysctls, folder=folder) as net,
    ):
        net.root.run(f"tc qdisc add dev {netem_port} root netem delay {DELAY} limit 1000000")
        net.root.run(
            f"tc qdisc add dev {PORT} root handle 1: "
            f"tbf rate 1gbit burst 500000 limit {LIMIT_BYTES}"
        )
        net["h3"].start("iperf3 -s")
        net.run_for("500ms")
        sampling = Sampling(net, [Queues(PORT), Flows("h1")], every="10ms")
        flow = net["h1"].start(f"iperf3 -c h3 -t {SECONDS} -J")
        pings = net["h2"].start(f"ping -c {SECONDS - WARM_UP_S} -q h4")
        sampling.run([flow, pings])
        tables = sampling.tables()
        received = iperf3.parse(flow.finish().output).received
        answered = ping.parse(pings.finish().output)
    rtts_ms = _rtts_ms(tables["tcp"])
    peak_bytes = int(max(tables["qdisc"].where(handle="1:")["backlog_bytes"]))
    return {
        "rtt_ms": float(np.median(rtts_ms)),
        "rtt_most_ms": float(rtts_ms.max()),
        "ping_ms": answered.mean_ms,
        "peak_bytes": peak_bytes,
        "limit_bytes": LIMIT_BYTES,
        "goodput_mbps": received.bits_per_second / 1e6,
        "is_met": LIMIT_BYTES - SUPER_PACKET_BYTES <= peak_bytes <= LIMIT_BYTES
        and float(rtts_ms.max()) >= FULL_RTT_MS,
    }


def _rtts_ms(flows: Table) -> Any:
    """Return the RTTs of the flow that carries the data, after its warm-up."""
    sent = {name: max(flows.where(flow=name)["bytes_sent"]) for name in flows.distinct("flow")}
    data = flows.where(flow=max(sent, key=lambda name: int(sent[name])))
    warm = np.asarray(data["time_ns"]) > WARM_UP_S * 1_000_000_000
    return np.asarray(data["rtt_us"], dtype=float)[warm] / 1000


if __name__ == "__main__":
    sys.exit(main())
