"""How large a buffer has to be: goodput of one flow against the buffer in bandwidth-delay products.

Reno's window w grows from W/2 to its maximum, W = BDP + B. While w is below the BDP, the line is idle at
times. While w is above it, packets wait, and a round takes w/C. With b = B/BDP, and in units of BDP and
RTT, W = 1 + b and w0 = W/2. If w0 < 1, a cycle carries

    (1 - w0^2)/2 in 1 - w0           while the line is not full (one packet more each round)
    (W^2 - 1)/2 in (W^2 - 1)/2       while the line is full

so the utilisation of the line is (W^2 - w0^2)/2 / (1 - w0 + (W^2 - 1)/2). From b = 1 on, it is 1
(Appenzeller, Keslassy, McKeown 2004). CUBIC reduces its window to 0.7 W, so b = 0.43 suffices.
"""

from __future__ import annotations

from wanlab import Host, Switch, Topology, link

from .figure import Case, Figure, near
from .flows import BUFFERS, FRAME_BYTES, MSS_BYTES, Flow, begin, carried
from .probes import network

RATE_BPS, RTT_MS = 10_000_000, 100
BDP_BYTES = RATE_BPS * RTT_MS // 8000
BUFFERS_BDP = (0.1, 0.5, 1.0, 2.0)
# The bucket holds two frames, windows are whole frames, and in recovery the line runs a little empty.
MODEL = 0.02


def utilisation(buffer_bdp: float) -> float:
    """Return the utilisation of a line by one Reno flow."""
    w_max = 1 + buffer_bdp
    w_min = w_max / 2
    if w_min >= 1:
        return 1.0
    full = (w_max**2 - 1) / 2
    return ((1 - w_min**2) / 2 + full) / (1 - w_min + full)


def goodput_mbps(congestion: str, buffer_bdp: float, window: str) -> float:
    limit = int(buffer_bdp * BDP_BYTES)
    topology = Topology(
        nodes=(Host("h1"), Switch("s1"), Host("h2")),
        links=(
            link("h1", "s1", b_to_a={"delay": f"{RTT_MS}ms"}),
            link("s1", "h2", a_to_b={"rate": RATE_BPS, "queue": {"kind": "fifo", "limit": limit}}),
        ),
    )
    flow = Flow("h1", "h2", 0, congestion)
    with network(topology, sysctls=BUFFERS) as net:
        begin(net, [flow])
        result = carried(net, [flow], settle="30s", window=window, every="10s")
    return result.goodputs_bps[0] / 1e6


def filled(congestion: str, buffer_bdp: float, theory: float, window: str = "150s") -> list[Figure]:
    return [
        near(
            f"{congestion}, buffer {buffer_bdp:g} BDP: goodput of 10 Mbit/s",
            "kernel",
            RATE_BPS / 1e6 * MSS_BYTES / FRAME_BYTES * theory,
            goodput_mbps(congestion, buffer_bdp, window),
            within=MODEL,
            unit="Mbit/s",
        )
    ]


def reno(buffer_bdp: float) -> Case:
    return Case(
        f"reno {buffer_bdp:g} BDP", lambda: filled("reno", buffer_bdp, utilisation(buffer_bdp))
    )


CASES = (
    *map(reno, BUFFERS_BDP),
    Case("cubic 0.5 BDP", lambda: filled("cubic", 0.5, 1.0)),
)
