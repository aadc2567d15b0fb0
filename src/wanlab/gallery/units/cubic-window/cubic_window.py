"""The time between losses of one CUBIC flow, and its window, against RFC 9438."""

from itertools import pairwise

import numpy as np

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, listen

BETA, C = 0.7, 0.4
PARAMETER = "/sys/module/tcp_cubic/parameters/fast_convergence"


@experiment(
    design=Design.grid({"rtt": ["100ms", "200ms"]}, repeats=2),
    full=Design.grid({"rtt": ["60ms", "100ms", "200ms", "300ms"], "seconds": [300]}, repeats=10),
)
def cubic_window(
    run: Run,
    *,
    rtt: str = "100ms",
    rate: str = "20Mbps",
    buffer: str = "0.5bdp",
    fast_convergence: str = "on",
    seconds: int = 90,
) -> None:
    """Measure the time between reductions of the window, and its shape between two of them.

    Both are compared with W(t) = C (t - K)^3 + W_max (RFC 9438, section 4.2), with the W_max of section
    4.7: with fast convergence, a flow that loses packets at a smaller window than before gives up
    capacity. W(t) predicts the next loss for the time at which it reaches the window of that loss. The
    flow starts within a tenth of a second at an instant drawn from the seed. The first 20 s are not
    measured.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    is_fast = fast_convergence == "on"
    with run.network(bottleneck(rate, [rtt], {"kind": "fifo", "limit": limit})) as net:
        net["h1"].run(f"sh -c 'echo {int(is_fast)} > {PARAMETER}'")
        listen(net, 1)
        net.run_for(int(run.random.uniform(0, 0.1) * 1e9))
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion cubic --time {seconds}s")
        tcp = run.sample(Flows("h1"), every="20ms", until=f"{seconds}s")["tcp"].where(node="h1")
    window = tcp.series("snd_cwnd_packets")
    threshold = tcp.series("snd_ssthresh_packets").values
    again = tcp.series("total_retrans_packets")
    losses = again.times_s[np.flatnonzero(np.diff(again.values)) + 1]
    begins = [time for last, time in pairwise([-2.0, *losses]) if time > last + 1]
    ratios, ratios_to_k, errors = [], [], []
    w_max = 0.0
    for begin, end in pairwise(begins):
        first, last = np.searchsorted(window.times_s, [begin, end])
        w_lost, w_next = threshold[first] / BETA, window.values[last - 1]
        w_max = w_lost * (1 + BETA) / 2 if is_fast and w_lost < w_max else w_lost
        if begin < 20:
            continue
        k = float(np.cbrt((w_max - BETA * w_lost) / C))
        ratios.append((end - begin) / (k + float(np.cbrt((w_next - w_max) / C))))
        ratios_to_k.append((end - begin) / float(np.cbrt(w_lost * (1 - BETA) / C)))
        inside = window.times_s[first:last] - begin
        expected = C * (inside - k) ** 3 + w_max
        grows = inside > 1  # after the recovery
        if grows.any():
            error = np.abs(window.values[first:last][grows] / expected[grows] - 1)
            errors.append(float(np.median(error)))
    run.metric("ratio", float(np.mean(ratios)) if ratios else float("nan"))
    run.metric("ratio_to_k", float(np.mean(ratios_to_k)) if ratios_to_k else float("nan"))
    run.metric("deviation", float(np.mean(errors)) if errors else float("nan"))
