"""The share of one BBR flow among n CUBIC flows in a deep buffer."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, flow_goodputs_mbps, goodput_mbps, listen


@experiment(
    design=Design.grid({"cubic_flows": [1, 2, 4, 8]}, repeats=3),
    full=Design.grid(
        {"cubic_flows": [1, 2, 4, 8, 16], "seconds": [240], "rate": ["50Mbps"]}, repeats=10
    ),
    labels={"cubic_flows": "number of CUBIC flows", "share": "BBR's share"},
)
def bbr_cubic(
    run: Run,
    *,
    cubic_flows: int = 4,
    rate: str = "15Mbps",
    rtt: str = "40ms",
    buffer: str = "16bdp",
    seconds: int = 120,
) -> None:
    """Measure BBR's share of the goodput in the second half of the time.

    All flows start within a second, at instants drawn from the seed.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    starts_ns = sorted(int(run.random.uniform(0, 1e9)) for _ in range(cubic_flows + 1))
    first = run.random.randrange(cubic_flows + 1)
    with run.network(bottleneck(rate, [rtt, rtt], {"kind": "fifo", "limit": limit})) as net:
        listen(net, 2)
        with run.sampling(Flows("h1", "h2"), every="500ms") as sampling:
            waited_ns = 0
            for number, start_ns in enumerate(starts_ns):
                net.run_for(start_ns - waited_ns)
                waited_ns = start_ns
                host, algorithm = ("h1", "bbr") if number == first else ("h2", "cubic")
                target = host.replace("h", "r")
                net[host].start(
                    f"wanlab-traffic bulk {target} --congestion {algorithm} --time {seconds}s"
                )
            net.run_for(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    half_s = seconds / 2
    bbr = goodput_mbps(tcp, "h1", from_s=half_s)
    cubic = sum(flow_goodputs_mbps(tcp, "h2", from_s=half_s))
    run.metric("share", bbr / (bbr + cubic), most=1)
