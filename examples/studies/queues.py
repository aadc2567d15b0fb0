"""The effect of queueing disciplines at a bottleneck on a ping and on two TCP flows.

Each queueing discipline is the child of the same shaper. Its limit is 10 bandwidth-delay products,
and all other settings are the defaults of `tc`. RED's thresholds follow from the limit
(wanlab docs fidelity).
"""

import numpy as np
from paths import bottleneck, goodput_mbps, jain, rtt_ms

from wanlab import Design, Flows, Run, experiment, ping

KINDS = ["fifo", "red", "pie", "codel", "fq_codel", "cake"]


@experiment(
    design=Design.grid({"queue": KINDS}, repeats=3),
    full=Design.grid({"queue": KINDS, "rate": ["10Mbps", "100Mbps"], "seconds": [90]}, repeats=10),
    plots=[
        "box ping.rtt_ms over queue",
        "lines srtt over queue",
        "lines utilisation over queue",
        "lines fairness over queue",
    ],
)
def queues(
    run: Run,
    *,
    queue: str = "fifo",
    rate: str = "20Mbps",
    rtt: str = "20ms",
    other_rtt: str = "60ms",
    buffer: str = "10bdp",
    seconds: int = 20,
) -> None:
    """Measure delay, utilisation and fairness of six queueing disciplines.

    Two CUBIC flows have RTTs of 20 and 60 ms. A ping runs between another pair of hosts with an
    RTT of 20 ms. The first quarter of the time is not measured.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    topology = bottleneck(rate, [rtt, other_rtt, rtt], {"kind": queue, "limit": limit})
    with run.network(topology) as net:
        for receiver in ("r1", "r2"):
            net[receiver].run("wanlab-traffic serve -D")
        with run.sampling(Flows("h1", "h2"), every="50ms") as sampling:
            for host in ("h1", "h2") if run.seed % 2 else ("h2", "h1"):
                target = host.replace("h", "r")
                net[host].start(
                    f"wanlab-traffic bulk {target} --congestion cubic --time {seconds}s"
                )
                net.run_for(int(run.random.uniform(0, 1) * 1e9))
            net.run_until(f"{seconds // 4}s")
            pinging = net["h3"].start("ping -i 0.05 r3")
            net.run_until(f"{seconds}s")
            pinging.stop()
        tcp = sampling.tables()["tcp"]
    replies = ping.parse(pinging.output)
    goodputs = [goodput_mbps(tcp, host, from_s=seconds / 4) for host in ("h1", "h2")]
    run.keep("ping", replies.table())
    run.metric("ping_median", float(np.median([reply.time_ms for reply in replies.replies])), "ms")
    run.metric("srtt", rtt_ms(tcp, "h1", from_s=seconds / 4), "ms")
    run.metric("utilisation", sum(goodputs) / max_goodput_mbps(rate))
    run.metric("fairness", jain(goodputs))


def max_goodput_mbps(rate: str) -> float:
    """Return the highest possible goodput, in Mbit/s.

    The shaper counts 1514 bytes per packet, of which 1448 are payload.
    """
    from wanlab import units

    return units.parse_rate(rate) / 1e6 * 1448 / 1514
