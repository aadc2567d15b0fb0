"""A download beside a ping and a web page, with a short and with a long buffer."""

from pathlib import Path

import numpy as np

from wanlab import Design, Flows, Queues, Run, experiment, ping
from wanlab.bottleneck import FRAME_BYTES, QUEUE_PORT, bottleneck, listen

PAGE_BYTES = 100_000


@experiment(
    design=Design.grid({"packets": [10, 20, 50, 100]}, repeats=3),
    full=Design.grid({"packets": [5, 10, 20, 50, 100, 200], "seconds": [200]}, repeats=10),
    labels={"packets": "buffer", "rtt_max": "longest RTT of the ping"},
    programs=["curl"],
)
def bufferbloat(
    run: Run,
    *,
    packets: int = 20,
    rate: str = "1.5Mbps",
    rtt: str = "20ms",
    congestion: str = "reno",
    seconds: int = 60,
) -> None:
    """Measure round-trip times and page-load times beside a download at home.

    The buffer holds `packets` full packets. A page of 100 KB is loaded from a web server every few
    seconds, at an instant drawn from the seed. The first 10 s are not measured.
    """
    queue = {"kind": "fifo", "limit": packets * FRAME_BYTES}
    with run.network(bottleneck(rate, [rtt], queue)) as net:
        Path(run.folder, "index.html").write_bytes(b"x" * PAGE_BYTES)
        listen(net, 1)
        net["h1"].start("python3 -m http.server 80 --bind 0.0.0.0")
        net.run_for("1s")
        with run.sampling(Queues(QUEUE_PORT), Flows("h1"), every="100ms"):
            net["h1"].start(
                f"wanlab-traffic bulk r1 --congestion {congestion} --time {seconds + 10}s"
            )
            net.run_for("10s")
            pinging = net["r1"].start(f"ping -i 0.1 -c {seconds * 10} h1")
            loads_s = []
            while pinging.is_running:
                net.run_for(int(run.random.uniform(1, 3) * 1e9))
                load = net["r1"].run("curl -s -o /dev/null -w %{time_total} http://h1/index.html")
                loads_s.append(float(load.output))
    replies = ping.parse(pinging.output)
    run.keep("ping", replies.table())
    times_ms = [float(reply.time_ms or 0) for reply in replies.replies]
    run.metric("mean_rtt", float(np.mean(times_ms)), "ms")
    run.metric("rtt_max", float(np.max(times_ms)), "ms")
    run.metric("page", float(np.mean(loads_s)), "s")
