"""Define the experiment of these tests: it is short and depends on the seed."""

from wanlab import Design, Run, experiment, ping, shapes


@experiment(
    design=Design.grid({"loss": ["0%", "20%"]}, repeats=3),
    plots=["lines lost over loss"],
)
def losses(run: Run, *, loss: str = "10%", delay: str = "5ms", count: int = 20) -> None:
    """Measure how many pings are lost."""
    topology = shapes.dumbbell(pairs=1, rate="10Mbps", delay=delay, loss=loss)
    with run.network(topology) as net:
        done = net["h1"].run(f"ping -c {count} -i 0.03 h2", check=False)
    replies = ping.parse(done.output)
    print(f"{replies.received} of {replies.sent} came back")
    if loss == "100%":
        raise ValueError("nothing came back")
    run.metric("lost", 100 * replies.loss_fraction, "%")
    run.metric("rtt", replies.mean_ms or float("nan"), "ms")
    run.keep("ping", replies.table())
