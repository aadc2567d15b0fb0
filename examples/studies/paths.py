"""Functions that all studies use: a bottleneck for flows with different RTTs, and metrics of flows."""

import numpy as np

from wanlab.bottleneck import MSS_BYTES, bottleneck, jain
from wanlab.record import Table

__all__ = ["MSS_BYTES", "bottleneck", "goodput_mbps", "jain", "rtt_ms"]


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
