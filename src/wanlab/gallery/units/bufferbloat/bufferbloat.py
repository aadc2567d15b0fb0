"""A download beside a ping and a web page, with a short and with a long buffer."""

from pathlib import Path

import numpy as np

from wanlab import Design, Flows, Queues, Run, experiment, ping
from wanlab.bottleneck import QUEUE_PORT, RECOVERY_OF_2000, bottleneck, listen

PAGE_BYTES = 177_669
"""The page of the assignment's starter code."""
RENO_OF_2000 = {"net.ipv4.tcp_congestion_control": "reno", **RECOVERY_OF_2000}


@experiment(
    design=Design.grid({"packets": [10, 20, 50, 100]}, repeats=3),
    full=Design.grid({"packets": [5, 10, 20, 50, 100, 200]}, repeats=10),
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
    page_bytes: int = PAGE_BYTES,
    recovery: str = "today",
) -> None:
    """Measure round-trip times and page-load times beside a download at home, in 200 s.

    The buffer holds `packets` packets. The page is loaded three times, 50, 100 and 150 s after the
    download's start, up to 5 s earlier or later at an instant drawn from the seed. The first 10 s of the
    ping are not measured. `recovery` from losses is that of `today` or that of Reno in `2000`.
    """
    queue = {"kind": "fifo", "packets": packets}
    sysctls = RENO_OF_2000 if recovery == "2000" else {}
    with run.network(bottleneck(rate, [rtt], queue), sysctls=sysctls) as net:
        Path(run.folder, "index.html").write_bytes(b"x" * page_bytes)
        listen(net, 1)
        net["h1"].start("python3 -m http.server 80 --bind 0.0.0.0")
        net.run_for("1s")
        with run.sampling(Queues(QUEUE_PORT), Flows("h1"), every="200ms"):
            began_ns = net.now_ns
            net["h1"].start(f"wanlab-traffic bulk r1 --congestion {congestion} --time 205s")
            net.run_for("10s")
            pinging = net["r1"].start("ping -i 0.1 -c 1900 h1")
            loads_s = []
            for at_s in (50, 100, 150):
                at_ns = began_ns + int((at_s + run.random.uniform(-5, 5)) * 1e9)
                net.run_for(at_ns - net.now_ns)
                load = net["r1"].run("curl -s -o /dev/null -w %{time_total} http://h1/index.html")
                loads_s.append(float(load.output))
            while pinging.is_running:
                net.run_for("1s")
    replies = ping.parse(pinging.output)
    run.keep("ping", replies.table())
    times_ms = [float(reply.time_ms or 0) for reply in replies.replies]
    run.metric("mean_rtt", float(np.mean(times_ms)), "ms")
    run.metric("rtt_max", float(np.max(times_ms)), "ms")
    run.metric("page", float(np.mean(loads_s)), "s")
