"""Delay: ping over links of a given delay, one and several.

The figure compares the worst of ten replies, for each of five delays, with twice the sum of the links'
delays. ping prints whole microseconds, so a reported error of 0 is an error below 1 us. A packet of 98
bytes takes 24 ns on each wire, and ping reads the clock itself.
"""

from __future__ import annotations

from wanlab import Host, Topology, link, ping, shapes
from wanlab.plan import Wire
from wanlab.units import parse_time

from .figure import Case, Figure
from .probes import network

WIRES: tuple[Wire, ...] = ("gso", "mtu")
DELAYS = ("1ms", "5ms", "20ms", "100ms", "250ms")
HOPS = (1, 2, 5)
MAX_ERROR_US = 10.0


def worst_round_trip(wire: Wire, hops: int) -> list[Figure]:
    """Return the figure of the worst delay; the errors of the others are in its details."""
    expected = {delay: 2 * hops * parse_time(delay) / 1e6 for delay in DELAYS}
    worst_rtts_ms = {
        delay: max(_round_trips_ms(wire, hops, delay), key=lambda rtt_ms: abs(rtt_ms - expected_ms))
        for delay, expected_ms in expected.items()
    }
    errors_us = {
        delay: round(1000 * (worst_rtts_ms[delay] - expected[delay]), 3) for delay in DELAYS
    }
    worst = max(DELAYS, key=lambda delay: abs(errors_us[delay]))
    links = "1 link" if hops == 1 else f"{hops} links"
    return [
        Figure(
            effect=f"RTT, {links}, {wire} wire; largest error for delays of 1 to 250 ms, at {worst}",
            origin="qdisc",
            theory=expected[worst],
            measured=worst_rtts_ms[worst],
            least=expected[worst] - MAX_ERROR_US / 1e3,
            most=expected[worst] + MAX_ERROR_US / 1e3,
            unit="ms",
            reason="10 us",
            details={"errors_us": errors_us},
        )
    ]


def _round_trips_ms(wire: Wire, hops: int, delay: str) -> tuple[float, float]:
    """Return the minimum and maximum of ten RTTs, after ARP has been answered."""
    last = f"h{hops - 1}" if hops > 2 else "h2"
    with network(_chain(hops, delay), wire=wire) as net:
        net["h1"].run(f"ping -c 1 -W 60 {last}")
        found = ping.parse(net["h1"].run(f"ping -q -c 10 -i 0.2 {last}").output)
    assert found.received == 10, "a ping was lost"
    assert found.min_ms is not None
    assert found.max_ms is not None
    return found.min_ms, found.max_ms


def _chain(hops: int, delay: str) -> Topology:
    """Return h1 and another host with this many links between them."""
    if hops == 1:
        hosts = (Host("h1"), Host("h2"))
        return Topology(nodes=hosts, links=(link("h1", "h2", delay=delay),))
    return shapes.linear(hops - 1, delay=delay) if hops > 2 else shapes.single(2, delay=delay)


CASES = tuple(
    Case(f"{wire} {hops}", lambda wire=wire, hops=hops: worst_round_trip(wire, hops))  # type: ignore[misc]
    for wire in WIRES
    for hops in HOPS
)
