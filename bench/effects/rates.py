"""Rate: one TCP flow over a link of a given rate (tbf) or a port of a given speed (line).

The flow is limited by its window and loses nothing. It is measured after slow start. Counters are read
at many instants of virtual time. A rate is the slope of the straight line through them, so it does not
matter where in a packet the first and the last instant are. The theoretical goodput is the rate without
headers: tbf counts a frame without preamble, checksum and gap, so 1448 of each 1514 bytes are payload.
On the line these count, too, so the payload is 1448 of each 1538 bytes. Beside the goodput, the JSON has

    segment        mean payload of a data segment. If it is below 1448, a small window has shortened some
                   segments, and the headers of the additional segments reduce the goodput
    queue_error    relative error of the rate at which bytes left the bottleneck's queue, which counts
                   1514 bytes of each frame
    ahead          bytes that have left the queue of a line but not arrived: a wire holds two packets;
                   all others wait in the queue, where they are counted and can be managed
    rounding       by how much tbf is too fast because it counts the time of a packet in whole ns,
                   rounded down (psched_l2t_ns in include/net/sch_generic.h): a frame of 1514 bytes
                   takes 1211.2 ns at 10 Gbit/s, counted as 1211. For super-packets, it is less
    lost           packets that the flow retransmitted, and drops of all queues: must be 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wanlab import Flows, Host, Port, Queues, Sampling, Switch, Topology, link
from wanlab.plan import Wire
from wanlab.plan.nic import COALESCE_NS
from wanlab.record import Table
from wanlab.topology import Link
from wanlab.units import parse_rate, parse_time

from .figure import Case, Figure
from .flows import FRAME_BYTES, MSS_BYTES, grown
from .probes import network

WIRES: tuple[Wire, ...] = ("gso", "mtu")
LINE_BYTES = 1538
MAX_ERROR = 1e-3
LINK_DELAY = "5ms"
# With a larger minimum, packets would wait for seconds at 1 Mbit/s, and ARP would give up before the
# reply has arrived.
MIN_WINDOW_BYTES = 1 << 15
MAX_WINDOW_BYTES = 1 << 26
# Two packets (on the mtu wire, a third arrives while the NIC waits), and other packets that passed the
# queue: ARP, and the control connection of iperf3.
MAX_AHEAD_BYTES = {"gso": 140_000, "mtu": 9_600}
SAMPLES = 200
By = Literal["tbf", "line"]


@dataclass(frozen=True)
class Limit:
    by: By
    rate: str
    settle: str
    window: str
    """The measuring time."""

    @property
    def frame_bytes(self) -> int:
        return FRAME_BYTES if self.by == "tbf" else LINE_BYTES


LIMITS = (
    Limit("tbf", "1Mbps", "30s", "200s"),
    Limit("tbf", "10Mbps", "5s", "20s"),
    Limit("tbf", "100Mbps", "3s", "5s"),
    Limit("tbf", "1Gbps", "2s", "3s"),
    Limit("tbf", "10Gbps", "1s", "1s"),
    Limit("line", "100Mbps", "3s", "5s"),
    Limit("line", "1Gbps", "2s", "3s"),
    Limit("line", "10Gbps", "500ms", "1s"),
    Limit("line", "40Gbps", "300ms", "200ms"),
)


@dataclass(frozen=True)
class Passed:
    """The measurements of a flow."""

    payload_bps: float
    segment_bytes: float
    queue_bps: float
    ahead_bytes: int
    lost_packets: int
    warnings: tuple[str, ...]


def goodput(wire: Wire, limit: Limit) -> list[Figure]:
    rate_bps = parse_rate(limit.rate)
    passed = _passed(wire, limit)
    theory_mbps = rate_bps * MSS_BYTES / limit.frame_bytes / 1e6
    exact_ns = limit.frame_bytes * 8e9 / rate_bps
    return [
        Figure(
            effect=f"goodput, {limit.by} {limit.rate}, {wire} wire",
            origin="qdisc" if limit.by == "tbf" else "model",
            theory=theory_mbps,
            measured=passed.payload_bps / 1e6,
            least=theory_mbps * (1 - MAX_ERROR),
            most=theory_mbps * (1 + MAX_ERROR),
            unit="Mbit/s",
            reason="0.1 %",
            flaws=_flaws(wire, limit, passed),
            details={
                "segment": round(passed.segment_bytes, 2),
                "queue_error": passed.queue_bps / (rate_bps * FRAME_BYTES / limit.frame_bytes) - 1,
                "ahead": passed.ahead_bytes if limit.by == "line" else None,
                "rounding": exact_ns / (exact_ns // 1) - 1 if limit.by == "tbf" else None,
                "lost": passed.lost_packets,
            },
        )
    ]


def _flaws(wire: Wire, limit: Limit, passed: Passed) -> str:
    # The receiver's NIC delivers bulk traffic once per coalescing interval.
    coalesced_bytes = parse_rate(limit.rate) * COALESCE_NS // 8_000_000_000
    max_ahead_bytes = MAX_AHEAD_BYTES[wire] + (coalesced_bytes if wire == "mtu" else 0)
    flaws = list(passed.warnings)
    if passed.lost_packets:
        flaws.append(f"{passed.lost_packets} packets lost")
    if limit.by == "line" and passed.ahead_bytes > max_ahead_bytes:
        flaws.append(f"{passed.ahead_bytes} bytes on the wire")
    return "; ".join(flaws)


def _passed(wire: Wire, limit: Limit) -> Passed:
    # Ten times the path's capacity, so that the queue never runs empty; it never overflows either.
    path_bytes = parse_rate(limit.rate) * 2 * parse_time(LINK_DELAY) // 8_000_000_000
    window_bytes = min(max(10 * path_bytes, MIN_WINDOW_BYTES), MAX_WINDOW_BYTES)
    buffers = f"4096 131072 {4 * window_bytes}"
    topology = Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1")),
        links=(link("h1", "s1"), _bottleneck(limit, 16 * window_bytes)),
    )
    with network(
        topology,
        wire=wire,
        sysctls={"net.ipv4.tcp_rmem": buffers, "net.ipv4.tcp_wmem": buffers},
        memory=(2 << 30) + 16 * window_bytes,
    ) as net:
        net["h2"].start("iperf3 -s -4")  # Flows samples IPv4
        net.run_for("500ms")
        net["h1"].start("iperf3 -c h2 -t 86400 -i 0")
        net.run_for(limit.settle)
        sampling = Sampling(net, [Queues("s1-eth2", "h1-eth0"), Flows("h1", "h2")], every="1s")
        for _ in range(SAMPLES):
            net.run_for(parse_time(limit.window) // SAMPLES)
            sampling.sample()
        tables = sampling.tables()
        warnings = tuple(net.provenance().warnings)
    receiver, queues = tables["tcp"].where(node="h2"), tables["qdisc"]
    flow = max(receiver.distinct("flow"), key=lambda name: max(_received(receiver, name)))
    receiver = receiver.where(flow=flow)
    shaper = queues.where(device="s1-eth2", kind="tbf" if limit.by == "tbf" else "bfifo")
    back = " > ".join(reversed(flow.split(" > ")))
    sender = tables["tcp"].where(node="h1", flow=back)
    return Passed(
        payload_bps=_slope_bps(receiver, "bytes_received"),
        segment_bytes=grown(receiver, "bytes_received") / grown(receiver, "data_segs_in_packets"),
        queue_bps=_slope_bps(shaper, "bytes"),
        ahead_bytes=int(max(shaper["bytes"])) - _frames_bytes(receiver),
        lost_packets=grown(sender, "total_retrans_packets") + int(max(queues["drops"])),
        warnings=warnings,
    )


def _bottleneck(limit: Limit, limit_bytes: int) -> Link:
    """Return a link from s1 to h2 that is limited by tbf or by the port itself."""
    queue = {"kind": "fifo", "limit": limit_bytes}
    if limit.by == "tbf":
        return link("s1", "h2", rate=limit.rate, delay=LINK_DELAY, queue=queue)
    port = Port("s1", speed_bps=parse_rate(limit.rate))
    return link(port, "h2", a_to_b={"queue": queue}, b_to_a={"delay": LINK_DELAY})


def _received(table: Table, flow: str) -> list[int]:
    return [int(count) for count in table.where(flow=flow)["bytes_received"]]


def _frames_bytes(receiver: Table) -> int:
    """Return the received bytes of one flow, with headers."""
    headers_bytes = int(max(receiver["data_segs_in_packets"])) * (FRAME_BYTES - MSS_BYTES)
    return int(max(receiver["bytes_received"])) + headers_bytes


def _slope_bps(table: Table, column: str) -> float:
    """Return the slope of a byte counter over time."""
    times_ns = np.asarray(table["time_ns"], dtype=float)
    counts = np.asarray(table[column], dtype=float)
    slope = np.polyfit(times_ns - times_ns.mean(), counts - counts.mean(), 1)[0]
    return float(slope) * 8e9


CASES = tuple(
    Case(f"{limit.by} {limit.rate} {wire}", lambda wire=wire, limit=limit: goodput(wire, limit))  # type: ignore[misc]
    for wire in WIRES
    for limit in LIMITS
)
