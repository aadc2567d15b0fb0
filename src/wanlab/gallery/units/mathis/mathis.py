"""Goodput of a Reno flow whose packets are lost at random, against Mathis' and Padhye's formulas."""

from wanlab import Design, Flows, Run, experiment
from wanlab.bottleneck import bottleneck, goodput_mbps, listen

LOSSES = ["0.02%", "0.05%", "0.1%", "0.3%", "1%", "3%"]


@experiment(
    design=Design.grid({"loss": LOSSES}, repeats=3),
    full=Design.grid({"loss": LOSSES, "seconds": [600]}, repeats=10),
    labels={"loss": "loss of packets"},
)
def mathis(
    run: Run, *, loss: str = "0.1%", rtt: str = "50ms", rate: str = "200Mbps", seconds: int = 120
) -> None:
    """Measure the goodput of Reno under random loss. The first tenth of the time is left out."""
    topology = bottleneck(rate, [rtt], {"kind": "fifo", "limit": "2MB"}, loss=loss)
    with run.network(topology) as net:
        listen(net, 1)
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion reno --time {seconds}s")
        tcp = run.sample(Flows("h1"), every="200ms", until=f"{seconds}s")["tcp"]
    run.metric("goodput", goodput_mbps(tcp, "h1", from_s=seconds / 10), "Mbit/s")
    last = tcp.where(node="h1").series("total_retrans_packets").values[-1]
    run.metric("retransmitted", float(last), "packets")
