"""The utilisation of a link by Reno flows, with and without pacing."""

import numpy as np

from wanlab import Design, Flows, Ports, Run, experiment, units
from wanlab.bottleneck import QUEUE_PORT, bottleneck, listen


@experiment(
    design=Design.grid({"pacing": ["off", "on"]}, repeats=3),
    full=Design.grid({"pacing": ["off", "on"], "flows": [50], "rate": ["50Mbps"]}, repeats=20),
)
def pacing(
    run: Run,
    *,
    pacing: str = "on",
    flows: int = 20,
    rate: str = "20Mbps",
    path_rtt: str = "100ms",
    buffer: str = "0.25bdp",
    seconds: int = 10,
) -> None:
    """Measure the utilisation in the first seconds after flows start together.

    The flows start within 100 ms at instants drawn from the seed. Pacing is that of `fq` at the sender.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=path_rtt)
    with run.network(bottleneck(rate, [path_rtt], {"kind": "fifo", "limit": limit})) as net:
        if pacing == "on":
            net["h1"].run("tc qdisc replace dev h1-eth0 root fq")
        listen(net, 1)
        with run.sampling(Ports(QUEUE_PORT), Flows("h1"), every="100ms") as sampling:
            for _ in range(flows):
                net["h1"].start(f"wanlab-traffic bulk r1 --congestion reno --time {seconds}s")
                net.run_for(int(run.random.uniform(0, 0.1) * 1e9 / flows))
            net.run_until(f"{seconds}s")
        tables = sampling.tables()
    sent = tables["port"].where(device=QUEUE_PORT).series("tx_bytes")
    rate_bps = 8 * float(np.ptp(sent.values)) / float(np.ptp(sent.times_s))
    run.metric("utilisation", rate_bps / units.parse_rate(rate), most=1)
    again = tables["tcp"].where(node="h1")
    last = [
        again.where(flow=flow).series("total_retrans_packets").values[-1]
        for flow in again.distinct("flow")
    ]
    run.metric("lost", float(sum(last)), "packets")
