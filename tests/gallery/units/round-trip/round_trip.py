"""Ping over a link: the smallest possible unit of the gallery."""

from wanlab import Design, Run, experiment, ping, shapes


@experiment(
    design=Design.grid({"delay": ["5ms", "10ms"]}, repeats=2),
    full=Design.grid({"delay": ["5ms", "10ms", "20ms"]}, repeats=2),
)
def round_trip(run: Run, *, delay: str = "5ms") -> None:
    """Measure the RTT of one ping."""
    with run.network(shapes.minimal(delay=delay)) as net:
        net["h1"].run("ping -c 1 h2")  # the first ping resolves addresses
        replies = ping.parse(net["h1"].run("ping -c 1 h2").output).replies
    run.metric("rtt", float(replies[0].time_ms or 0), "ms")
