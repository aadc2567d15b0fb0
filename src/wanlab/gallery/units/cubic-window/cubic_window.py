"""The time between losses of one CUBIC flow, against RFC 9438's K."""

from itertools import pairwise

import numpy as np

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, listen

BETA, C = 0.7, 0.4


@experiment(
    design=Design.grid({"rtt": ["100ms", "200ms"]}, repeats=2),
    full=Design.grid({"rtt": ["60ms", "100ms", "200ms", "300ms"], "seconds": [300]}, repeats=10),
)
def cubic_window(
    run: Run, *, rtt: str = "100ms", rate: str = "20Mbps", buffer: str = "0.5bdp", seconds: int = 90
) -> None:
    """Measure the time between reductions of the window, and its shape between two of them.

    The flow starts within a tenth of a second at an instant drawn from the seed. The first 20 s are not
    measured.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    with run.network(bottleneck(rate, [rtt], {"kind": "fifo", "limit": limit})) as net:
        listen(net, 1)
        net.run_for(int(run.random.uniform(0, 0.1) * 1e9))
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion cubic --time {seconds}s")
        tcp = run.sample(Flows("h1"), every="20ms", until=f"{seconds}s")["tcp"].where(node="h1")
    window = tcp.series("snd_cwnd_packets")
    threshold = tcp.series("snd_ssthresh_packets").values
    changes = np.flatnonzero(np.diff(threshold)) + 1
    epochs = [index for index in changes if window.times_s[index] > 20]
    periods, ks, middles = [], [], []
    for first, last in pairwise(epochs):
        w_max = threshold[first] / BETA
        k = float(np.cbrt(w_max * (1 - BETA) / C))
        periods.append(window.times_s[last] - window.times_s[first])
        ks.append(k)
        inside = window.times_s[first:last] - window.times_s[first]
        expected = C * (inside - k) ** 3 + w_max
        grows = inside > 1  # after the recovery
        if grows.any():
            error = np.abs(window.values[first:last][grows] / expected[grows] - 1)
            middles.append(float(np.median(error)))
    run.metric("period", float(np.mean(periods)) if periods else float("nan"), "s")
    run.metric("k", float(np.mean(ks)) if ks else float("nan"), "s")
    run.metric("ratio", float(np.mean(periods) / np.mean(ks)) if ks else float("nan"))
    run.metric("deviation", float(np.mean(middles)) if middles else float("nan"))
