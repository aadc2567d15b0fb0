"""The experiment that `sweep` repeats: one flow through a bottleneck, with random losses."""

from __future__ import annotations

from wanlab import Design, Run, experiment, shapes
from wanlab.measure import traffic


@experiment(design=Design.grid({"buffer": ["0.5bdp", "1bdp", "2bdp", "4bdp"]}, repeats=50))
def flow(
    run: Run,
    *,
    rate: str = "100Mbps",
    delay: str = "10ms",
    buffer: str = "1bdp",
    seconds: int = 10,
) -> None:
    """Goodput of one CUBIC flow over the size of the bottleneck's buffer."""
    limit = run.buffer_bytes(buffer, rate=rate, rtt="20ms")
    queue = {"kind": "fifo", "limit": limit}
    topology = shapes.dumbbell(pairs=1, rate=rate, delay=delay, loss="0.01%", queue=queue)
    with run.network(topology, wire="gso") as net:
        net["h2"].run("wanlab-traffic serve -D")
        output = net["h1"].run(f"wanlab-traffic bulk h2 --time {seconds}s --json").output
    flows = traffic.parse(output)
    assert isinstance(flows, traffic.FlowResults)
    run.metric("goodput", flows.goodput_bps / 1e6, "Mbit/s")
