"""How congestion windows move: slow start, Reno, CUBIC, BBR, Vegas.

    slow start   twice as many packets each round trip
    Reno         one packet more each round trip
    CUBIC        W(t) = C (t - K)^3 + W_max, t since the end of recovery, W_max the window before the
                 loss, K = cbrt((W_max - W_0)/C), C = 0.4 (RFC 9438); 410/1024 in net/ipv4/tcp_cubic.c
    BBR          paces at 1.25, 0.75 and six times 1 of its bandwidth, about a round trip each; every
                 10 s it goes down to 4 packets for 200 ms to see the path's RTT (net/ipv4/tcp_bbr.c)
    Vegas        keeps alpha = 2 to beta = 4 packets in the queue. It counts whole packets, rounded
                 down, without the packet that is being sent, whose time is part of the minimum RTT
                 (net/ipv4/tcp_vegas.c)

Reno and CUBIC run on a path with a delay and without a limit. When the window is large enough, the path
loses everything for a moment and nothing afterwards, so the round trip is constant. Their windows are
read at every acknowledgement (tcp_probe). The flows are paced: if a whole window arrived in one burst,
CUBIC, which evaluates its curve once per tick, would be ahead of the curve by a round trip. BBR and
Vegas run through a bottleneck with a large buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wanlab import Flows, Host, Network, Queues, Sampling, Switch, Topology, link, shapes
from wanlab.measure import Acks
from wanlab.record import Table

from .figure import Case, Figure, near
from .flows import BUFFERS, Flow, begin, of_data
from .probes import network

Floats = npt.NDArray[np.float64]

RTT_MS = 100
DELAY_LINE = f"tc qdisc %s dev s1-eth2 root netem delay {RTT_MS}ms limit 1000000"
CUBIC_C, CUBIC_BETA = 410 / 1024, 717 / 1024
# This pace never limits a flow. It spreads a window over the round trip instead of sending one burst.
PACED = "--fq-rate 10G"
RATE_BPS, BOTTLENECK_RTT_MS = 10_000_000, 40


@dataclass(frozen=True)
class Epoch:
    """The window after a loss."""

    before: float
    """The window before the loss, in packets."""
    after: float
    """The window at the end of recovery."""
    times_s: Floats
    """Times since then, for every acknowledgement."""
    windows: Floats


def after_a_loss(congestion: str, least_window: int, seconds: int) -> Epoch:
    flow = Flow("h1", "h2", 0, congestion)
    with network(shapes.single(2), sysctls=BUFFERS) as net:
        net.root.run(DELAY_LINE % "add")
        begin(net, [flow], PACED)
        with Sampling(net, [Flows("h1"), Acks("h1")], every="10ms") as sampling:
            while _window(net, flow) < least_window:
                net.run_for("10ms")
            _lose(net)
            net.run_for(f"{seconds}s")
        tables = sampling.tables()
    states = of_data(tables["tcp"], flow, "h1")
    recovering = [state != "open" for state in states["congestion_state"]]
    lost = recovering.index(True)
    again = recovering.index(False, lost)
    assert not any(recovering[again:]), "there was a second loss"
    acks = tables["ack"].where(flow=states["flow"][0])
    # The state became open between two samples, so acknowledgements from the second on are after it.
    since = np.asarray(acks["time_ns"]) >= states["time_ns"][again]
    times_s = np.asarray(acks["time_ns"], dtype=float)[since] / 1e9
    windows = np.asarray(acks["snd_cwnd_packets"], dtype=float)[since]
    return Epoch(
        before=float(max(states["snd_cwnd_packets"][:lost])),
        after=float(windows[0]),
        times_s=times_s - times_s[0],
        windows=windows,
    )


def _window(net: Network, flow: Flow) -> int:
    """Return the flow's current window in packets; 0 if there is none yet."""
    sampling = Sampling(net, [Flows(flow.sender)])
    sampling.sample()
    tables = sampling.tables()
    return int(max(of_data(tables["tcp"], flow, flow.sender)["snd_cwnd_packets"])) if tables else 0


def _lose(net: Network) -> None:
    """Lose all packets of one millisecond, the first in which packets arrive."""
    change = DELAY_LINE % "change"
    sampling = Sampling(net, [Queues("s1-eth2")])
    net.root.run(f"{change} loss 100%")
    while not any(_drops(sampling)):
        net.run_for("1ms")
        sampling.sample()
    net.root.run(change)


def _drops(sampling: Sampling) -> list[int]:
    tables = sampling.tables()
    return [int(drops) for drops in tables["qdisc"]["drops"]] if tables else []


def slow_start() -> list[Figure]:
    """Measure the growth of the window per round trip: bursts of acknowledgements are far apart."""
    flow = Flow("h1", "h2", 0)
    with network(shapes.single(2), sysctls=BUFFERS) as net:
        net.root.run(DELAY_LINE % "add")
        with Sampling(net, [Flows("h1"), Acks("h1")], every="100ms") as sampling:
            begin(net, [flow])
            net.run_for("1300ms")
        tables = sampling.tables()
    acks = tables["ack"].where(flow=of_data(tables["tcp"], flow, "h1")["flow"][0])
    times_s = np.asarray(acks["time_ns"], dtype=float) / 1e9
    first_of_burst = np.flatnonzero(np.diff(times_s) > RTT_MS / 2e3) + 1
    rounds = np.asarray(acks["snd_cwnd_packets"], dtype=float)[first_of_burst][1:]
    return [
        near(
            f"slow start, {rounds[0]:g} to {rounds[-1]:g} packets: growth each RTT",
            "kernel",
            2.0,
            float(np.mean(rounds[1:] / rounds[:-1])),
            within=0.02,
        )
    ]


def reno() -> list[Figure]:
    epoch = after_a_loss("reno", 150, 15)
    slope = np.polyfit(epoch.times_s, epoch.windows, 1)[0]
    return [
        near(
            "Reno: growth each RTT",
            "kernel",
            1.0,
            float(slope) * RTT_MS / 1e3,
            within=0.01,
            unit="packets",
        ),
        near(
            "Reno: window after a loss / before it",
            "kernel",
            0.5,
            epoch.after / epoch.before,
            within=0.02,
        ),
    ]


def cubic() -> list[Figure]:
    epoch = after_a_loss("cubic", 200, 14)
    k_s = float(np.cbrt((epoch.before - epoch.after) / CUBIC_C))
    cubes = (epoch.times_s - k_s) ** 3
    theory = CUBIC_C * cubes + epoch.before
    error = float(np.sqrt(np.mean((epoch.windows - theory) ** 2)) / epoch.before)
    found_c = float(np.polyfit(cubes, epoch.windows, 1)[0])
    return [
        near(
            "CUBIC: window after a loss / before it",
            "kernel",
            CUBIC_BETA,
            epoch.after / epoch.before,
            within=0.02,
        ),
        near(
            f"CUBIC: C of C(t - K)^3 + W_max, K = {k_s:.2f} s",
            "kernel",
            CUBIC_C,
            found_c,
            within=0.02,
        ),
        Figure(
            effect="CUBIC: W(t) against C(t - K)^3 + W_max, rms / W_max",
            origin="kernel",
            theory=0.0,
            measured=error,
            least=0.0,
            most=0.005,
            reason="whole packets",
        ),
    ]


def _bottleneck() -> Topology:
    return Topology(
        nodes=(Host("h1"), Switch("s1"), Host("h2")),
        links=(
            link("h1", "s1", b_to_a={"delay": f"{BOTTLENECK_RTT_MS}ms"}),
            link(
                "s1", "h2", a_to_b={"rate": RATE_BPS, "queue": {"kind": "fifo", "limit": 500_000}}
            ),
        ),
    )


def bbr() -> list[Figure]:
    flow = Flow("h1", "h2", 0, "bbr")
    with network(_bottleneck(), sysctls=BUFFERS) as net:
        begin(net, [flow])
        net.run_for("5s")
        sampling = Sampling(net, [Flows("h1")], every="5ms")
        sampling.run("40s")
        tables = sampling.tables()
    data = of_data(tables["tcp"], flow, "h1")
    state = tables["tcp_bbr"].where(flow=data["flow"][0])
    is_probing = np.asarray(data["snd_cwnd_packets"]) <= 4
    starts, ends = _begun(data, is_probing), _begun(data, ~is_probing)
    ends = ends[ends > starts[0]]
    times_s = np.asarray(state["time_ns"], dtype=float) / 1e9
    # Between two probes, after BBR has returned to its pace.
    quiet = (times_s >= starts[0] + 2) & (times_s < starts[1] - 0.5)
    gains = np.asarray(state["pacing_gain"], dtype=float)
    ups = _begun(state, quiet & (gains > 1.1))
    rtt_s = BOTTLENECK_RTT_MS / 1e3
    return [
        near("BBR: highest pacing gain", "kernel", 1.25, float(gains[quiet].max()), within=0),
        near("BBR: lowest pacing gain", "kernel", 0.75, float(gains[quiet].min()), within=0.004),
        Figure(
            effect="BBR: from one cycle of gains to the next (8 RTT)",
            origin="kernel",
            theory=8 * rtt_s * 1e3,
            measured=float(np.diff(ups).mean()) * 1e3,
            least=8 * rtt_s * 1e3,
            most=10 * rtt_s * 1e3,
            unit="ms",
            reason="8 rounds, and up to 2 until the packets in flight adapt",
        ),
        near(
            "BBR: from one probe of the RTT to the next",
            "kernel",
            10 + 0.2 + rtt_s,
            float(np.diff(starts).mean()),
            within=0.02,
            unit="s",
        ),
        Figure(
            effect="BBR: length of such a probe",
            origin="kernel",
            theory=200 + rtt_s * 1e3,
            measured=float((ends - starts[: len(ends)]).mean()) * 1e3,
            least=200,
            most=200 + 2 * rtt_s * 1e3,
            unit="ms",
            reason="200 ms and up to two rounds",
        ),
    ]


def _begun(table: Table, which: npt.NDArray[np.bool_]) -> Floats:
    """Return the times at which a condition became true."""
    times_s = np.asarray(table["time_ns"], dtype=float) / 1e9
    return times_s[1:][which[1:] & ~which[:-1]]


def vegas() -> list[Figure]:
    flow = Flow("h1", "h2", 0, "vegas")
    with network(_bottleneck(), sysctls=BUFFERS) as net:
        begin(net, [flow])
        net.run_for("20s")
        sampling = Sampling(net, [Queues("s1-eth2")], every="7ms")
        sampling.run("30s")
        queue = sampling.tables()["qdisc"].where(device="s1-eth2", kind="tbf")
    return [
        Figure(
            effect="Vegas: packets in the queue (alpha 2, beta 4)",
            origin="kernel",
            theory=3.0,
            measured=float(np.mean(np.asarray(queue["backlog_packets"]))),
            least=2.0,
            most=6.0,
            unit="packets",
            reason="alpha to beta, up to one packet of rounding, and the packet being sent",
        )
    ]


CASES = (
    Case("slow start", slow_start),
    Case("reno", reno),
    Case("cubic", cubic),
    Case("bbr", bbr),
    Case("vegas", vegas),
)
