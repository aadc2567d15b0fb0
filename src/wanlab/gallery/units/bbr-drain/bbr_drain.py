"""The round-trip time of a BBR and of a CUBIC flow after start-up."""

import numpy as np

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, goodput_mbps, listen, rtts_ms


@experiment(
    design=Design.grid({"algorithm": ["bbr", "cubic"], "until": [1, 2, 4, 8]}, repeats=2),
    full=Design.grid({"algorithm": ["bbr", "cubic"], "until": [1, 2, 3, 4, 6, 8]}, repeats=10),
    labels={"until": "end of the interval (s)"},
)
def bbr_drain(
    run: Run,
    *,
    algorithm: str = "bbr",
    until: int = 8,
    rate: str = "10Mbps",
    rtt: str = "40ms",
    buffer: str = "10bdp",
) -> None:
    """Measure the median RTT in the half second that ends `until` seconds after the start.

    The flow starts within a tenth of a second, at an instant drawn from the seed.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    with run.network(bottleneck(rate, [rtt], {"kind": "fifo", "limit": limit})) as net:
        listen(net, 1)
        net.run_for(int(run.random.uniform(0, 0.1) * 1e9))
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion {algorithm} --time {until}s")
        tcp = run.sample(Flows("h1"), every="10ms", until=f"{until}s")["tcp"]
    run.metric(
        "median_rtt", float(np.median(rtts_ms(tcp, "h1", from_s=until - 0.5))), "ms", least=40
    )
    run.metric("goodput", goodput_mbps(tcp, "h1", from_s=until - 0.5), "Mbit/s")
