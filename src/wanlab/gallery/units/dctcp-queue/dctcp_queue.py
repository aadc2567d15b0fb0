"""The queue of two DCTCP flows and of two Reno flows at 1 Gbit/s."""

import numpy as np

from wanlab import Design, Flows, Queues, Run, experiment
from wanlab.bottleneck import FRAME_BYTES, QUEUE_PORT, bottleneck, goodput_mbps, listen, queue_bytes


@experiment(
    design=Design.grid({"algorithm": ["dctcp", "reno"]}, repeats=3),
    full=Design.grid({"algorithm": ["dctcp", "reno", "cubic"], "seconds": [10]}, repeats=10),
    labels={"algorithm": "congestion control"},
)
def dctcp_queue(
    run: Run,
    *,
    algorithm: str = "dctcp",
    rate: str = "1Gbps",
    rtt: str = "100us",
    threshold: str = "240us",
    limit_packets: int = 470,
    seconds: float = 1.5,
) -> None:
    """Measure the queue of two long flows. The first 0.5 s are not measured.

    DCTCP's switch marks packets that have waited longer than `threshold`: 240 us at 1 Gbit/s is the time
    of 20 packets. Reno's switch is drop-tail.
    """
    limit = limit_packets * FRAME_BYTES
    if algorithm == "dctcp":
        options = (("ce_threshold", threshold), ("target", "1s"), ("ecn", ""))
        queue: dict[str, object] = {"kind": "codel", "limit": limit, "options": dict(options)}
    else:
        queue = {"kind": "fifo", "limit": limit}
    with run.network(bottleneck(rate, [rtt, rtt], queue)) as net:
        for node in ("h1", "h2", "r1", "r2"):
            net[node].run(f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}")
        listen(net, 2)
        with run.sampling(Queues(QUEUE_PORT), Flows("h1", "h2"), every="1ms") as sampling:
            for host in ("h1", "h2"):
                target = host.replace("h", "r")
                net[host].start(f"wanlab-traffic bulk {target} --time {seconds}s")
                net.run_for(int(run.random.uniform(0, 0.01) * 1e9))
            net.run_for(int(seconds * 1e9) - 20_000_000)
        tables = sampling.tables()
    packets = queue_bytes(tables["qdisc"], from_s=0.5) / FRAME_BYTES
    run.metric("queue", float(np.median(packets)), "packets")
    run.metric("queue_p95", float(np.percentile(packets, 95)), "packets")
    goodput = sum(goodput_mbps(tables["tcp"], host, from_s=0.5) for host in ("h1", "h2"))
    run.metric("goodput", goodput, "Mbit/s", most=1000)
