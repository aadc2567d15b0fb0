"""Losses of CUBIC's slow start with and without HyStart."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, goodput_mbps, listen


@experiment(
    design=Design.grid({"hystart": ["off", "on"]}, repeats=3),
    full=Design.grid({"hystart": ["off", "on"], "seconds": [20]}, repeats=20),
)
def hystart(
    run: Run,
    *,
    hystart: str = "on",
    rate: str = "50Mbps",
    path_rtt: str = "100ms",
    buffer: str = "0.5bdp",
    seconds: int = 5,
) -> None:
    """Count the packets that one flow sends again in its first 5 s.

    The RTT of each run is drawn from the seed, within 10 % of `path_rtt`.
    """
    rtt = f"{round(float(path_rtt.removesuffix('ms')) * run.random.uniform(900, 1100))}us"
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    with run.network(bottleneck(rate, [rtt], {"kind": "fifo", "limit": limit})) as net:
        value = {"on": 1, "off": 0}[hystart]
        net["h1"].run(f"echo {value} > /sys/module/tcp_cubic/parameters/hystart")
        listen(net, 1)
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion cubic --time {seconds}s")
        tcp = run.sample(Flows("h1"), every="50ms", until=f"{seconds}s")["tcp"].where(node="h1")
    again = tcp.series("total_retrans_packets").values
    run.metric("lost", float(again[-1]), "packets")
    run.metric("goodput", goodput_mbps(tcp, "h1", from_s=0), "Mbit/s")
