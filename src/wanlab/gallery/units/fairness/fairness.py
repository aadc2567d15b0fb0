"""Jain's index of n equal flows."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, flow_goodputs_mbps, jain, listen


@experiment(
    design=Design.grid({"algorithm": ["reno", "cubic", "bbr"], "flows": [2, 8]}, repeats=2),
    full=Design.grid(
        {"algorithm": ["reno", "cubic", "bbr"], "flows": [2, 4, 8, 16, 32], "seconds": [240]},
        repeats=10,
    ),
    labels={"flows": "number of flows"},
)
def fairness(
    run: Run,
    *,
    algorithm: str = "cubic",
    flows: int = 4,
    rate: str = "16Mbps",
    path_rtt: str = "40ms",
    seconds: int = 60,
) -> None:
    """Measure the fairness of the goodputs in the second half of the time.

    The flows start within 2 s at instants drawn from the seed. The buffer is one
    bandwidth-delay product.
    """
    limit = run.buffer_bytes("1bdp", rate=rate, rtt=path_rtt)
    with run.network(bottleneck(rate, [path_rtt], {"kind": "fifo", "limit": limit})) as net:
        listen(net, 1)
        with run.sampling(Flows("h1"), every="500ms") as sampling:
            for _ in range(flows):
                net["h1"].start(
                    f"wanlab-traffic bulk r1 --congestion {algorithm} --time {seconds}s"
                )
                net.run_for(int(run.random.uniform(0, 2e9 / flows)))
            net.run_until(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    run.metric("index", jain(flow_goodputs_mbps(tcp, "h1", from_s=seconds / 2)), most=1)
