"""The goodput of a flow that short bursts hit with the period of its retransmission timeout."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, goodput_mbps, listen, max_goodput_mbps
from wanlab.units import parse_time


@experiment(
    design=Design.grid({"period": ["350ms", "550ms", "1000ms", "2000ms"]}, repeats=2),
    full=Design.grid(
        {
            "period": [
                *("200ms", "250ms", "300ms", "350ms", "400ms", "450ms", "550ms", "700ms"),
                *("1000ms", "1500ms", "2000ms"),
            ],
            "seconds": [60],
        },
        repeats=10,
    ),
    labels={"period": "period of the bursts"},
)
def shrew(
    run: Run,
    *,
    period: str = "550ms",
    burst: str = "120ms",
    rate: str = "5Mbps",
    path_rtt: str = "20ms",
    congestion: str = "reno",
    seconds: int = 20,
) -> None:
    """Measure the goodput of one flow beside bursts of datagrams at three times the link's rate.

    The bursts begin 2 s after the flow and up to one period later, at an instant drawn from the seed.
    """
    limit = run.buffer_bytes("1bdp", rate=rate, rtt=path_rtt)
    queue = {"kind": "fifo", "limit": max(limit, 15_000)}
    period_ns, burst_ns = parse_time(period), parse_time(burst)
    bursts_ns = (seconds - 3) * 1_000_000_000 // period_ns * period_ns
    with run.network(bottleneck(rate, [path_rtt, path_rtt], queue)) as net:
        listen(net, 2)
        with run.sampling(Flows("h1"), every="50ms") as sampling:
            net["h1"].start(f"wanlab-traffic bulk r1 --congestion {congestion} --time {seconds}s")
            net.run_for(2_000_000_000 + int(run.random.uniform(0, period_ns)))
            net["h2"].start(
                f"wanlab-traffic udp r2 --rate 15Mbps --time {bursts_ns}ns"
                f" --on {burst_ns}ns --off {period_ns - burst_ns}ns"
            )
            net.run_for(bursts_ns)
        tcp = sampling.tables()["tcp"]
    goodput = goodput_mbps(tcp, "h1", from_s=4, to_s=seconds - 1)
    run.metric("share", goodput / max_goodput_mbps(rate), most=1)
    last = tcp.where(node="h1").series("total_retrans_packets").values[-1]
    run.metric("retransmitted", float(last), "packets")
