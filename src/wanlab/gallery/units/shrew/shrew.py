"""The goodput of a flow that short bursts hit with the period of its retransmission timeout."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import (
    RECOVERY_OF_2000,
    bottleneck,
    goodput_mbps,
    listen,
    max_goodput_mbps,
)
from wanlab.units import parse_time

RECOVERIES = ["2000", "today"]


@experiment(
    design=Design.grid(
        {"period": ["600ms", "1100ms", "1500ms", "2000ms"], "recovery": RECOVERIES}, repeats=3
    ),
    full=Design.grid(
        {
            "period": [
                "450ms",
                "520ms",
                "600ms",
                "700ms",
                "800ms",
                "900ms",
                "1000ms",
                "1050ms",
                "1100ms",
                "1200ms",
                "1300ms",
                "1500ms",
                "1750ms",
                "2000ms",
            ],
            "recovery": RECOVERIES,
        },
        repeats=10,
    ),
    labels={"period": "period of the bursts", "recovery": "loss recovery"},
)
def shrew(
    run: Run,
    *,
    period: str = "1100ms",
    burst: str = "60ms",
    rate: str = "5Mbps",
    path_rtt: str = "20ms",
    rto_min: str = "1s",
    recovery: str = "2000",
    congestion: str = "reno",
    seconds: int = 60,
) -> None:
    """Measure the goodput of one flow beside bursts of datagrams at three times the link's rate.

    The bursts begin 2 s after the flow, or up to one period later, at an instant drawn from the seed.
    `recovery` from losses is that of `today` or that of Reno in `2000`. `share` is the flow's goodput
    from 4 s to 1 s before the end, relative to the highest goodput that TCP can have on the link.
    """
    limit = run.buffer_bytes("1bdp", rate=rate, rtt=path_rtt)
    queue = {"kind": "fifo", "limit": max(limit, 15_000)}
    period_ns, burst_ns = parse_time(period), parse_time(burst)
    bursts_ns = (seconds - 3) * 1_000_000_000 // period_ns * period_ns
    sysctls = RECOVERY_OF_2000 if recovery == "2000" else {}
    with run.network(bottleneck(rate, [path_rtt, path_rtt], queue), sysctls=sysctls) as net:
        listen(net, 2)
        net["h1"].run(f"ip route change 10.0.0.0/8 dev h1-eth0 rto_min {rto_min}")
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
