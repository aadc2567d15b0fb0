"""Goodput of BBR and of CUBIC on a path that loses packets at random."""

from wanlab import Design, Flows, Run, experiment, units
from wanlab.bottleneck import bottleneck, goodput_mbps

LOSSES = ["0.001%", "0.1%", "1%", "5%", "15%", "30%"]
MORE_LOSSES = ["0.01%", "0.3%", "3%", "10%", "20%"]
ALGORITHMS = ["bbr", "cubic"]


@experiment(
    design=Design.grid({"loss": LOSSES, "algorithm": ALGORITHMS}, repeats=2),
    full=Design.grid(
        {"loss": [*LOSSES, *MORE_LOSSES], "algorithm": ALGORITHMS},
        repeats=10,
    ),
    labels={"loss": "loss of packets"},
)
def bbr_loss(
    run: Run,
    *,
    loss: str = "1%",
    algorithm: str = "bbr",
    rate: str = "100Mbps",
    rtt: str = "100ms",
    seconds: int = 60,
    socket_memory: str = "64MB",
) -> None:
    """Measure the goodput of one flow for a minute, slow start included, as the paper does.

    `socket_memory` is the largest size of a socket's buffers; "default" leaves the kernel's limits.
    """
    limit = run.buffer_bytes("1bdp", rate=rate, rtt=rtt)
    topology = bottleneck(rate, [rtt], {"kind": "fifo", "limit": limit}, loss=loss)
    sysctls = {}
    if socket_memory != "default":
        most_bytes = units.parse_size(socket_memory)
        sysctls = {f"net.ipv4.tcp_{name}mem": f"4096 131072 {most_bytes}" for name in "rw"}
    with run.network(topology, sysctls=sysctls) as net:
        net["r1"].run("wanlab-traffic serve -D")
        net["h1"].run("ping -c 1 -w 60 r1")  # learns addresses, whatever is lost
        net["h1"].start(f"wanlab-traffic bulk r1 --congestion {algorithm} --time {seconds}s")
        tcp = run.sample(Flows("h1"), every="500ms", until=f"{seconds}s")["tcp"]
    most = units.parse_rate(rate) / 1e6
    run.metric("goodput", goodput_mbps(tcp, "h1", from_s=0), "Mbit/s", most=most)
