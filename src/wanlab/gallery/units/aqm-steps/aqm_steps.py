"""The queueing delay under CoDel and PIE before and after the rate of the link falls."""

import numpy as np

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import QUEUE_PORT, bottleneck, listen
from wanlab.measure import Sojourns

STEP_S = 10


@experiment(
    design=Design.grid({"queue": ["codel", "pie"], "rate_after": ["20Mbps", "5Mbps"]}, repeats=3),
    full=Design.grid(
        {
            "queue": ["codel", "pie", "fifo"],
            "rate_after": ["50Mbps", "20Mbps", "10Mbps", "5Mbps", "2Mbps"],
            "seconds": [60],
        },
        repeats=10,
    ),
    labels={"rate_after": "rate after the step"},
)
def aqm_steps(
    run: Run,
    *,
    queue: str = "codel",
    rate: str = "20Mbps",
    rate_after: str = "5Mbps",
    flows: int = 4,
    path_rtt: str = "100ms",
    seconds: int = 30,
) -> None:
    """Measure the median queueing delay from 5 s after the step at 10 s until the end.

    Four Reno flows start within 1 s at instants drawn from the seed.
    """
    schedule = [{"at": f"{STEP_S}s", "rate": rate_after}]
    topology = bottleneck(rate, [path_rtt], {"kind": queue}, schedule=schedule)
    with run.network(topology) as net:
        listen(net, 1)
        with run.sampling(Sojourns(QUEUE_PORT), Flows("h1"), every="100ms") as sampling:
            for _ in range(flows):
                net.run_for(int(run.random.uniform(0, 0.25) * 1e9))
                net["h1"].start(f"wanlab-traffic bulk r1 --congestion reno --time {seconds}s")
            net.run_until(f"{seconds}s")
        waits = sampling.tables()["sojourn"].where(device=QUEUE_PORT)
    times_s = np.asarray(waits["time_ns"], np.float64) / 1e9
    delays_ms = np.asarray(waits["sojourn_ns"], np.float64) / 1e6
    late = delays_ms[times_s > STEP_S + 5]
    soon = delays_ms[(times_s > STEP_S) & (times_s < STEP_S + 2)]
    run.metric("delay", float(np.median(late)), "ms")
    run.metric("delay_at_step", float(np.max(soon)), "ms")
