"""Reno's goodput under random loss, against theory.

Reno's window grows by one packet per round trip and is halved at each loss. If losses are rare and
independent, the goodput is

    MSS / RTT * sqrt(3 / 2p)            Mathis et al., CCR 27(3), 1997 (no delayed acknowledgements)

Linux counts acknowledged packets, not acknowledgements (net/ipv4/tcp_cong.c, tcp_cong_avoid_ai), so
delayed acknowledgements do not slow down the window's growth. If losses are frequent, timeouts
matter:

    MSS / (RTT sqrt(2p/3) + T0 min(1, 3 sqrt(3p/8)) p (1 + 32 p^2))     Padhye et al., SIGCOMM 1998

`wire="gso"` shows the effect of super-packets of up to 64 KB. netem drops each of them as a whole.
A loss still halves the window, but there are fewer losses per byte.
"""

import math

from paths import MSS_BYTES, bottleneck, goodput_mbps

from wanlab import Design, Flows, Run, experiment, units

LOSSES = ["0.01%", "0.03%", "0.1%", "0.3%", "1%", "3%"]
MIN_RTO_S = 0.2


@experiment(
    design=Design.grid({"loss": LOSSES[1:], "wire": ["mtu", "gso"]}, repeats=3),
    full=Design.grid({"loss": LOSSES, "wire": ["mtu", "gso"], "seconds": [300]}, repeats=10),
    plots=[
        "lines goodput,padhye over loss by wire",
        "lines of_theory over loss by wire",
    ],
)
def reno_theory(
    run: Run,
    *,
    loss: str = "0.1%",
    rtt: str = "30ms",
    rate: str = "200Mbps",
    seconds: int = 30,
    wire: str = "mtu",
) -> None:
    """Compare the goodput of a Reno flow under random loss with the formulas of Mathis and Padhye.

    The first fifth of the time is not measured.
    """
    topology = bottleneck(rate, [rtt], {"kind": "fifo", "limit": "2MB"}, loss=loss)
    with run.network(topology, wire=wire) as net:
        net["r1"].run("wanlab-traffic serve -D")
        with run.sampling(Flows("h1"), every="100ms") as sampling:
            net["h1"].start(f"wanlab-traffic bulk r1 --congestion reno --time {seconds}s")
            net.run_for(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    p, rtt_s = units.parse_fraction(loss), units.parse_time(rtt) / 1e9
    goodput = goodput_mbps(tcp, "h1", from_s=seconds / 5)
    run.metric("goodput", goodput, "Mbit/s")
    run.metric("mathis", mathis_mbps(p, rtt_s), "Mbit/s")
    run.metric("padhye", padhye_mbps(p, rtt_s), "Mbit/s")
    run.metric("of_theory", goodput / padhye_mbps(p, rtt_s))


def mathis_mbps(p: float, rtt_s: float) -> float:
    return MSS_BYTES * 8 / 1e6 / rtt_s * math.sqrt(3 / (2 * p))


def padhye_mbps(p: float, rtt_s: float) -> float:
    timeout_s = MIN_RTO_S + rtt_s  # Linux adds at least MIN_RTO_S to the smoothed RTT
    timeouts = timeout_s * min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p**2)
    return MSS_BYTES * 8 / 1e6 / (rtt_s * math.sqrt(2 * p / 3) + timeouts)
