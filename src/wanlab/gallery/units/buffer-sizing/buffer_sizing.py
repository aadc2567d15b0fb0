"""The utilisation of a link that many Reno flows share, over the size of its buffer."""

import numpy as np

from wanlab import Design, Ports, Run, experiment, units
from wanlab.bottleneck import QUEUE_PORT, bottleneck, listen


@experiment(
    design=Design.grid({"buffer": [0.25, 0.5, 1.0, 2.0]}, repeats=3),
    full=Design.grid(
        {
            "flows": [100],
            "buffer": [0.25, 0.5, 1.0, 2.0, 3.0],
            "rate": ["155Mbps"],
            "seconds": [120],
        },
        repeats=4,  # with 100 flows, seeds differ little, and a run takes a minute
    ),
    labels={"buffer": "buffer in units of RTT x C / sqrt(n)"},
)
def buffer_sizing(
    run: Run,
    *,
    buffer: float = 1.0,
    flows: int = 36,
    rate: str = "30Mbps",
    seconds: int = 30,
) -> None:
    """Measure the utilisation in the second half of the time.

    The flows are Reno's, a third each with RTTs of 80, 100 and 120 ms, and start within 5 s at instants
    drawn from the seed. The buffer is `buffer` times the mean RTT times the rate over the root of the
    number of flows.
    """
    limit = round(buffer * units.parse_rate(rate) / 8 * 0.1 / np.sqrt(flows))
    rtts = ["80ms", "100ms", "120ms"]
    queue = {"kind": "fifo", "limit": limit}
    with run.network(bottleneck(rate, rtts, queue)) as net:
        listen(net, len(rtts))
        with run.sampling(Ports(QUEUE_PORT), every="100ms") as sampling:
            for number in range(flows):
                net.run_for(int(5e9 / flows * run.random.uniform(0.5, 1)))
                host = number % len(rtts) + 1
                net[f"h{host}"].start(
                    f"wanlab-traffic bulk r{host} --congestion reno --time {seconds}s"
                )
            net.run_until(f"{seconds}s")
        port = sampling.tables()["port"].where(device=QUEUE_PORT)
    sent = port.series("tx_bytes")
    inside = sent.times_s >= sent.times_s[-1] / 2
    rate_bps = 8 * float(np.ptp(sent.values[inside])) / float(np.ptp(sent.times_s[inside]))
    run.metric("utilisation", rate_bps / units.parse_rate(rate), most=1)
