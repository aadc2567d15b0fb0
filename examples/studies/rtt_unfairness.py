"""How two flows with the same congestion control and different RTTs share a bottleneck.

A window that grows once per round trip grows more slowly on the longer path. Reno's shares are
proportional to 1/RTT to a power between 1 (random losses) and 2 (simultaneous losses). CUBIC's
window grows with time and not with round trips, as long as it is large (RFC 9438, section 1). BBR
gives more to the flow with the longer path, which may have more data in flight (Hock et al., ICNP
2017).
"""

from paths import bottleneck, goodput_mbps

from wanlab import Design, Flows, Run, experiment, units

ALGORITHMS = ["reno", "cubic", "bbr"]


@experiment(
    design=Design.grid({"ratio": [1, 2, 4], "algorithm": ALGORITHMS}, repeats=3),
    full=Design.grid(
        {
            "ratio": [1, 2, 3, 4, 6, 8],
            "algorithm": ALGORITHMS,
            "rate": ["100Mbps"],
            "seconds": [180],
        },
        repeats=10,
    ),
    plots=[
        "lines advantage over ratio by algorithm",
        "heat advantage over ratio and algorithm",
    ],
)
def rtt_unfairness(
    run: Run,
    *,
    ratio: int = 2,
    algorithm: str = "cubic",
    rate: str = "20Mbps",
    rtt: str = "20ms",
    buffer: str = "1bdp",
    seconds: int = 30,
) -> None:
    """Measure the advantage of the flow with the shorter RTT.

    `ratio` is the longer RTT divided by the shorter one. A `buffer` of 1bdp is the product of the
    rate and the longer RTT. The flow with the shorter RTT starts first if the seed is odd. The
    other flow starts first if it is even. The first third of the time is not measured.
    """
    long_rtt = units.format_time(units.parse_time(rtt) * ratio)
    limit = run.buffer_bytes(buffer, rate=rate, rtt=long_rtt)
    topology = bottleneck(rate, [rtt, long_rtt], {"kind": "fifo", "limit": limit})
    with run.network(topology) as net:
        for receiver in ("r1", "r2"):
            net[receiver].run("wanlab-traffic serve -D")
        with run.sampling(Flows("h1", "h2"), every="50ms") as sampling:
            for host in ("h1", "h2") if run.seed % 2 else ("h2", "h1"):
                target = host.replace("h", "r")
                net[host].start(
                    f"wanlab-traffic bulk {target} --congestion {algorithm} --time {seconds}s"
                )
                net.run_for(int(run.random.uniform(0, 1) * 1e9))
            net.run_until(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    short, long = (goodput_mbps(tcp, host, from_s=seconds / 3) for host in ("h1", "h2"))
    run.metric("short_way", short, "Mbit/s")
    run.metric("long_way", long, "Mbit/s")
    run.metric("advantage", short / long)
