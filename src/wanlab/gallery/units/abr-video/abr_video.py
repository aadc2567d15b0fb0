"""A player of adaptive video with and without a download beside it."""

from pathlib import Path

import numpy as np

from wanlab import Design, Run, experiment
from wanlab.bottleneck import bottleneck, listen

RATES_KBPS = (235, 375, 560, 750, 1050, 1400, 1750)
CHUNK_S = 4
FULL_BUFFER_S = 60
CONSERVATIVE = 0.6


@experiment(
    design=Design.grid({"download": ["no", "yes"]}, repeats=3),
    full=Design.grid({"download": ["no", "yes"], "chunks": [250]}, repeats=10),
    programs=["curl"],
)
def abr_video(
    run: Run,
    *,
    download: str = "yes",
    rate: str = "5Mbps",
    path_rtt: str = "20ms",
    buffer_packets: int = 80,
    chunks: int = 100,
) -> None:
    """Measure the mean rate that a conservative player chooses after its buffer is full.

    The player requests a chunk of 4 s when its buffer has less than 60 s, at the highest rate below 0.6
    times the throughput of the last chunk. The download starts 10 to 14 s after the first chunk. The
    last half of the chunks is measured.
    """
    queue = {"kind": "fifo", "limit": buffer_packets * 1514}
    chosen: list[int] = []
    start_s = 10 + run.random.uniform(0, 4)
    with run.network(bottleneck(rate, [path_rtt, path_rtt], queue)) as net:
        for kbps in RATES_KBPS:
            Path(run.folder, f"{kbps}.mp4").write_bytes(b"x" * (kbps * 1000 * CHUNK_S // 8))
        listen(net, 2)
        net["h1"].start("python3 -m http.server 80 --bind 0.0.0.0")
        net.run_for("1s")
        began_ns, buffered_s, throughput_kbps = net.now_ns, 0.0, 0.0
        is_downloading = False
        for _ in range(chunks):
            if download == "yes" and not is_downloading and net.now_ns - began_ns > start_s * 1e9:
                net["h2"].start("wanlab-traffic bulk r2 --congestion cubic --time 1000s")
                is_downloading = True
            if buffered_s > FULL_BUFFER_S - CHUNK_S:
                pause_s = buffered_s - (FULL_BUFFER_S - CHUNK_S)
                net.run_for(int(pause_s * 1e9))
                buffered_s -= pause_s
            affordable = [kbps for kbps in RATES_KBPS if kbps <= CONSERVATIVE * throughput_kbps]
            kbps = max(affordable, default=RATES_KBPS[0])
            load = net["r1"].run(f"curl -s -o /dev/null -w %{{time_total}} http://h1/{kbps}.mp4")
            took_s = float(load.output)
            throughput_kbps = kbps * CHUNK_S / took_s
            buffered_s = max(0.0, buffered_s - took_s) + CHUNK_S
            chosen.append(kbps)
    late = chosen[len(chosen) // 2 :]
    run.metric("video_rate", float(np.mean(late)), "kbit/s")
    run.metric("lowest", float(np.mean([kbps == RATES_KBPS[0] for kbps in late])), most=1)
