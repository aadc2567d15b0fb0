"""Delays and rates are those that were configured: RTT within 10 us, goodput within 0.1 %.

Delay: ping over links of a given delay, one link and several; the worst of ten replies against twice the
sum of the delays. ping prints whole microseconds, so an error of 0 is one below 1 us.

Rate: one TCP flow that is limited by its window and loses nothing, after slow start, over a link of a
given rate (tbf) or a port of a given speed (line). Counters are read at many instants of virtual time;
a rate is the slope of the straight line through them, so that it does not matter where in a packet
the first and the last instant fall.

    error          what arrived in order at the receiver, against what headers allow: tbf counts a frame
                   without preamble, checksum and gap, so of each 1514 bytes 1448 are payload; on the
                   line these count too, and it is 1448 of 1538
    segment        mean payload of a data segment; below 1448, a small window has cut some short, and the
                   goodput is as much lower as the headers of the additional segments take
    queue_error    what left the bottleneck's queue, against 1514 of 1514 or of 1538 bytes
    ahead          bytes that have left the queue of a line but not arrived: a wire holds two packets,
                   and what waits for it waits in the queue, where it is counted and can be managed
    rounding       by how much tbf is too fast because it counts the time of a packet in whole ns,
                   rounded down (psched_l2t_ns in include/net/sch_generic.h): a frame of 1514 bytes
                   takes 1211.2 ns at 10 Gbit/s, counted as 1211. Of super-packets it is less
    lost           packets that the flow sent again meanwhile, and drops of all queues: must be 0

Nothing here depends on how fast or busy the computer is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from _report import Report

from wanlab import (
    Flows,
    Host,
    Link,
    Network,
    Port,
    Queues,
    Sampling,
    Switch,
    Table,
    Topology,
    link,
    ping,
    shapes,
)
from wanlab.plan import Wire
from wanlab.units import parse_rate, parse_time

WIRES: tuple[Wire, ...] = ("gso", "mtu")
PAYLOAD_BYTES, FRAME_BYTES, LINE_BYTES = 1448, 1514, 1538
RTT_LEAST_US, RTT_AIM_US = 10.0, 1.0
GOODPUT_LEAST, GOODPUT_AIM = 1e-3, 1e-4
LINK_DELAY = "5ms"
# More would queue for seconds at 1 Mbit/s: then ARP gives a neighbour up before its answer is through.
LEAST_WINDOW_BYTES = 1 << 15
MOST_WINDOW_BYTES = 1 << 26
# Two packets (on the mtu wire a third arrives while the port collects), and what else passed the queue:
# ARP, the connection by which iperf3 agrees on the test.
MOST_AHEAD_BYTES = {"gso": 140_000, "mtu": 9_600}
# On the mtu wire a receiver's port collects what arrives within 20 us, twice at most.
MODERATION_NS = 40_000
SAMPLES = 200

DELAYS = ("1ms", "5ms", "20ms", "100ms", "250ms")
HOPS = (1, 2, 5)
RATE_COLUMNS = (
    "wire",
    "by",
    "rate",
    "goodput_mbps",
    "error",
    "segment",
    "queue_error",
    "ahead",
    "rounding",
    "lost",
    "is_met",
)


@dataclass(frozen=True)
class RateCase:
    rate: str
    settle: str
    window: str
    """How long is measured."""


TBF = (
    RateCase("1Mbps", "30s", "200s"),
    RateCase("10Mbps", "5s", "20s"),
    RateCase("100Mbps", "3s", "5s"),
    RateCase("1Gbps", "2s", "3s"),
    RateCase("10Gbps", "1s", "1s"),
)
LINE = (
    RateCase("100Mbps", "3s", "5s"),
    RateCase("1Gbps", "2s", "3s"),
    RateCase("10Gbps", "500ms", "1s"),
    RateCase("40Gbps", "300ms", "200ms"),
)


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    report = Report("fidelity")
    met = [_delays(report), _rates(report)]
    return report.finish(is_met=all(met))


# -- delay --------------------------------------------------------------------------------------------


def _delays(report: Report) -> bool:
    table = report.table("delays", ("wire", "links", "delay", "rtt_ms", "error_us", "is_met"))
    met = []
    for wire in WIRES:
        for hops in HOPS:
            for delay in DELAYS:
                expected_ms = 2 * hops * parse_time(delay) / 1e6
                rtts_ms = _round_trips_ms(wire, hops, delay)
                worst_ms = max(rtts_ms, key=lambda rtt_ms: abs(rtt_ms - expected_ms))
                error_us = round((worst_ms - expected_ms) * 1000, 3)
                met.append(abs(error_us) <= RTT_LEAST_US)
                table.add(
                    wire=wire,
                    links=hops,
                    delay=delay,
                    rtt_ms=f"{worst_ms:.3f}",
                    error_us=error_us,
                    is_met=met[-1],
                    is_aim_met=abs(error_us) <= RTT_AIM_US,
                )
    return all(met)


def _round_trips_ms(wire: Wire, hops: int, delay: str) -> tuple[float, float]:
    """Least and most of ten, after ARP has been answered."""
    first, last = "h1", f"h{hops - 1}" if hops > 2 else "h2"
    topology = _chain(hops, delay)
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(topology, wire=wire, folder=folder) as net,
    ):
        net[first].run(f"ping -c 1 -W 60 {last}")
        found = ping.parse(net[first].run(f"ping -q -c 10 -i 0.2 {last}").output)
    assert found.received == 10, "a ping was lost"
    assert found.min_ms is not None
    assert found.max_ms is not None
    return found.min_ms, found.max_ms


def _chain(hops: int, delay: str) -> Topology:
    """h1 and another host with this many links between them."""
    if hops == 1:
        hosts = (Host("h1"), Host("h2"))
        return Topology(nodes=hosts, links=(link("h1", "h2", delay=delay),))
    return shapes.linear(hops - 1, delay=delay) if hops > 2 else shapes.single(2, delay=delay)


# -- rate ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Carried:
    """What a flow got through."""

    payload_bps: float
    segment_bytes: float
    queue_bps: float
    ahead_bytes: int
    lost_packets: int
    warnings: tuple[str, ...]


def _rates(report: Report) -> bool:
    table = report.table("rates", RATE_COLUMNS)
    met = []
    for wire in WIRES:
        for by, cases in (("tbf", TBF), ("line", LINE)):
            for case in cases:
                figures = _rate(wire, by, case)
                met.append(bool(figures["is_met"]))
                table.add(wire=wire, by=by, rate=case.rate, **figures)
    return all(met)


def _rate(wire: Wire, by: str, case: RateCase) -> dict[str, Any]:
    rate_bps = parse_rate(case.rate)
    carried = _carried(wire, by, case)
    counted_bytes = FRAME_BYTES if by == "tbf" else LINE_BYTES
    moderated_bytes = rate_bps * MODERATION_NS // 8_000_000_000 if wire == "mtu" else 0
    is_held = by == "tbf" or carried.ahead_bytes <= MOST_AHEAD_BYTES[wire] + moderated_bytes
    error = carried.payload_bps / (rate_bps * PAYLOAD_BYTES / counted_bytes) - 1
    exact_ns = counted_bytes * 8e9 / rate_bps
    return {
        "goodput_mbps": carried.payload_bps / 1e6,
        "error": error,
        "segment": round(carried.segment_bytes, 2),
        "queue_error": carried.queue_bps / (rate_bps * FRAME_BYTES / counted_bytes) - 1,
        "ahead": carried.ahead_bytes if by == "line" else None,
        "rounding": exact_ns / (exact_ns // 1) - 1 if wire == "mtu" and by == "tbf" else None,
        "lost": carried.lost_packets,
        "is_met": abs(error) <= GOODPUT_LEAST and carried.lost_packets == 0 and is_held,
        "is_aim_met": abs(error) <= GOODPUT_AIM,
        "warnings": carried.warnings,
    }


def _carried(wire: Wire, by: str, case: RateCase) -> Carried:
    # Ten times what the path holds, so that the queue never runs empty; it never overflows either.
    path_bytes = parse_rate(case.rate) * 2 * parse_time(LINK_DELAY) // 8_000_000_000
    window_bytes = min(max(10 * path_bytes, LEAST_WINDOW_BYTES), MOST_WINDOW_BYTES)
    buffers = f"4096 131072 {4 * window_bytes}"
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(
            Topology(
                nodes=(Host("h1"), Host("h2"), Switch("s1")),
                links=(link("h1", "s1"), _bottleneck(by, case.rate, 16 * window_bytes)),
            ),
            wire=wire,
            folder=folder,
            sysctls={"net.ipv4.tcp_rmem": buffers, "net.ipv4.tcp_wmem": buffers},
            memory=(2 << 30) + 16 * window_bytes,
        ) as net,
    ):
        net["h2"].start("iperf3 -s -4")  # Flows looks at IPv4
        net.run_for("500ms")
        net["h1"].start("iperf3 -c h2 -t 86400 -i 0")
        net.run_for(case.settle)
        sampling = Sampling(net, [Queues("s1-eth2", "h1-eth0"), Flows("h1", "h2")], every="1s")
        for _ in range(SAMPLES):
            net.run_for(parse_time(case.window) // SAMPLES)
            sampling.sample()
        tables = sampling.tables()
        warnings = tuple(net.provenance().warnings)
    receiver, queues = tables["tcp"].where(node="h2"), tables["qdisc"]
    flow = max(receiver.distinct("flow"), key=lambda name: max(_received(receiver, name)))
    receiver = receiver.where(flow=flow)
    shaper = queues.where(device="s1-eth2", kind="tbf" if by == "tbf" else "bfifo")
    back = " > ".join(reversed(flow.split(" > ")))
    sender = tables["tcp"].where(node="h1", flow=back)
    return Carried(
        payload_bps=_slope_bps(receiver, "bytes_received"),
        segment_bytes=_grown(receiver, "bytes_received") / _grown(receiver, "data_segs_in_packets"),
        queue_bps=_slope_bps(shaper, "bytes"),
        ahead_bytes=int(max(shaper["bytes"])) - _frames_bytes(receiver),
        lost_packets=_grown(sender, "total_retrans_packets") + int(max(queues["drops"])),
        warnings=warnings,
    )


def _bottleneck(by: str, rate: str, limit_bytes: int) -> Link:
    """s1 to h2, limited by tbf or by the port itself."""
    queue = {"kind": "fifo", "limit": limit_bytes}
    if by == "tbf":
        return link("s1", "h2", rate=rate, delay=LINK_DELAY, queue=queue)
    port = Port("s1", speed_bps=parse_rate(rate))
    return link(port, "h2", a_to_b={"queue": queue}, b_to_a={"delay": LINK_DELAY})


def _received(table: Table, flow: str) -> list[int]:
    return [int(count) for count in table.where(flow=flow)["bytes_received"]]


def _frames_bytes(receiver: Table) -> int:
    """What came in of one flow, with the headers."""
    headers_bytes = int(max(receiver["data_segs_in_packets"])) * (FRAME_BYTES - PAYLOAD_BYTES)
    return int(max(receiver["bytes_received"])) + headers_bytes


def _grown(table: Table, column: str) -> int:
    """How much a counter has counted meanwhile."""
    return int(max(table[column])) - int(min(table[column]))


def _slope_bps(table: Table, column: str) -> float:
    """Of a counter of bytes over time."""
    times_ns = np.asarray(table["time_ns"], dtype=float)
    counts = np.asarray(table[column], dtype=float)
    slope = np.polyfit(times_ns - times_ns.mean(), counts - counts.mean(), 1)[0]
    return float(slope) * 8e9


if __name__ == "__main__":
    sys.exit(main())
