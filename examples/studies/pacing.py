"""Flow completion times with and without pacing.

Without pacing, a whole window leaves the host at line rate. A shallow buffer then overflows
although the link is not busy. The queueing discipline `fq` at the sender's port paces each flow at
the rate that TCP calculates: two windows per round trip during slow start, and 1.2 windows later
(net/ipv4/tcp_input.c, tcp_update_pacing_rate).
"""

import numpy as np
from paths import bottleneck

from wanlab import Design, Run, experiment
from wanlab.measure import traffic


@experiment(
    design=Design.grid(
        {"buffer": ["30KB", "60KB", "120KB"], "load": ["20Mbps"], "pacing": ["none", "fq"]},
        repeats=3,
    ),
    full=Design.grid(
        {
            "buffer": ["15KB", "30KB", "60KB", "120KB", "500KB"],
            "load": ["20Mbps", "50Mbps", "80Mbps"],
            "pacing": ["none", "fq"],
            "rate": ["100Mbps"],
            "seconds": [120],
        },
        repeats=10,
    ),
    plots=[
        "cdf flows.completion_ns by pacing and buffer",
        "box flows.completion_ns over buffer by pacing",
        "lines mean over buffer by pacing",
        "lines lost over buffer by pacing",
    ],
)
def pacing(
    run: Run,
    *,
    pacing: str = "none",
    buffer: str = "30KB",
    load: str = "20Mbps",
    rate: str = "50Mbps",
    rtt: str = "40ms",
    sizes: str = "pareto:1.2,10KB,3MB",
    seconds: int = 20,
) -> None:
    """Measure completion times of transfers with random start times and heavy-tailed sizes.

    `pacing` is the queueing discipline of the sender's port: fq or none. Runs with the same seed
    have the same start times and sizes.
    """
    topology = bottleneck(rate, [rtt], {"kind": "fifo", "limit": buffer})
    with run.network(topology) as net:
        if pacing != "none":
            net["h1"].run(f"tc qdisc replace dev h1-eth0 root {pacing}")
        net["r1"].run("wanlab-traffic serve -D")
        done = net["h1"].run(
            f"wanlab-traffic poisson r1 --load {load} --sizes {sizes} --time {seconds}s"
            f" --seed {run.seed} --json"
        )
        counters = net["s1"].run("tc -j -s qdisc show dev s1-eth1").output
    flows = traffic.parse(done.output)
    run.keep("flows", flows.table())
    run.keep("qdisc.json", counters)
    times_ms = np.asarray([flow.completion_ns for flow in flows.flows]) / 1e6
    run.metric("mean", float(times_ms.mean()), "ms")
    run.metric("median", float(np.median(times_ms)), "ms")
    run.metric("p99", float(np.percentile(times_ms, 99)), "ms")
    run.metric("lost", drops(counters), "packets")


def drops(counters: str) -> float:
    """Return the packets dropped by the shaper and by the queue below it."""
    import json

    return float(sum(qdisc["drops"] for qdisc in json.loads(counters) if qdisc["kind"] == "tbf"))
