"""How two Reno flows with different RTTs share a bottleneck."""

import math

import numpy as np

from wanlab import Design, Flows, Run, experiment, units
from wanlab.bottleneck import bottleneck, goodput_mbps, listen


@experiment(
    design=Design.grid({"ratio": [1, 2, 4]}, repeats=3),
    full=Design.grid({"ratio": [1, 2, 3, 4, 6], "seconds": [180]}, repeats=10),
    labels={"ratio": "long RTT / short RTT", "advantage": "goodput of the short path / long path"},
)
def rtt_unfairness(
    run: Run,
    *,
    ratio: int = 2,
    rate: str = "20Mbps",
    rtt: str = "40ms",
    buffer: str = "0.25bdp",
    overhead: str = "600us",
    seconds: int = 60,
) -> None:
    """Measure the advantage of the shorter path in the last two thirds of the time.

    `buffer` counts bandwidth-delay products of the shorter path. Each packet leaves its sender up to
    twice `overhead` late, at random and in order. The flows start within 1 s in an order and at
    instants drawn from the seed.
    """
    long_rtt = units.format_time(units.parse_time(rtt) * ratio)
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    with run.network(bottleneck(rate, [rtt, long_rtt], {"kind": "fifo", "limit": limit})) as net:
        hosts = ["h1", "h2"]
        if units.parse_time(overhead):
            late = f"delay {overhead} {overhead} rate 1gbit limit 10000"  # with a rate: in order
            for host in hosts:
                net[host].run(f"tc qdisc replace dev {host}-eth0 root netem {late}")
        listen(net, 2)
        run.random.shuffle(hosts)
        with run.sampling(Flows("h1", "h2"), every="200ms") as sampling:
            for host in hosts:
                target = host.replace("h", "r")
                net[host].start(f"wanlab-traffic bulk {target} --congestion reno --time {seconds}s")
                net.run_for(int(run.random.uniform(0, 1) * 1e9))
            net.run_until(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    short, long = (goodput_mbps(tcp, host, from_s=seconds / 3) for host in ("h1", "h2"))
    run.metric("advantage", short / long)
    if ratio > 1:
        run.metric("exponent", math.log(short / long) / math.log(ratio))
    for host, path in (("h1", "short"), ("h2", "long")):
        threshold = tcp.where(node=host).series("snd_ssthresh_packets")
        late_values = threshold.values[threshold.times_s > seconds / 3]
        run.metric(f"reductions_{path}", float(np.count_nonzero(np.diff(late_values))))
