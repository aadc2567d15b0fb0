"""A bottleneck whose flows have different RTTs, and metrics of flows. All studies use them."""

from collections.abc import Sequence

import numpy as np

from wanlab import Host, Switch, Topology, link, units
from wanlab.record import Table

MSS_BYTES = 1448
"""Payload of a 1500-byte packet, without the headers and TCP's timestamp option."""


def bottleneck(rate: str, rtts: Sequence[str], queue: object, *, loss: str = "0%") -> Topology:
    """Return a network in which sender hN reaches receiver rN over a shared link.

    Their RTT is rtts[N-1]. The receiver's link delays each direction by half of it.

    h1 ---+                       +--- r1
          s1 === rate, queue === s2
    h2 ---+                       +--- r2
    """
    hosts = [(f"h{number}", f"r{number}") for number in range(1, len(rtts) + 1)]
    links = [link("s1", "s2", a_to_b={"rate": rate, "queue": queue, "loss": loss})]
    for (sender, receiver), rtt in zip(hosts, rtts, strict=True):
        half = units.format_time(units.parse_time(rtt) // 2)
        links.append(link(sender, "s1"))
        links.append(link("s2", receiver, delay=half))
    nodes = [*(Host(name) for pair in hosts for name in pair), Switch("s1"), Switch("s2")]
    return Topology(nodes=tuple(nodes), links=tuple(links))


def goodput_mbps(tcp: Table, node: str, *, from_s: float) -> float:
    """Return the rate of acknowledged data of a sender, after `from_s` seconds, in Mbit/s."""
    rows = tcp.where(node=node)
    total, began_s, ended_s = 0.0, 0.0, 0.0
    for flow in rows.distinct("flow"):
        acked = rows.where(flow=flow).series("bytes_acked")
        later = acked.times_s >= from_s
        if np.count_nonzero(later) > 1:
            values, times = acked.values[later], acked.times_s[later]
            total += float(values[-1] - values[0])
            began_s, ended_s = float(times[0]), max(ended_s, float(times[-1]))
    return total * 8 / 1e6 / (ended_s - began_s) if ended_s > began_s else float("nan")


def rtt_ms(tcp: Table, node: str, *, from_s: float) -> float:
    """Return the mean of a sender's smoothed RTT after `from_s` seconds, in ms."""
    rows = tcp.where(node=node)
    late = np.asarray(rows["time_ns"]) >= from_s * 1e9
    known = np.asarray(rows["rtt_us"], np.float64)[late]
    return float(known[known > 0].mean()) / 1000


def jain(values: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all values are equal, 1/n if all but one are zero.

    Source: RFC 5166, section 2.3.1.
    """
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))
