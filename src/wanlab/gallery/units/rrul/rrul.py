"""RRUL, the test of Flent, with a drop-tail queue, FQ_CoDel and CAKE."""

from wanlab import Design, Run, experiment
from wanlab.standard_tests import flent
from wanlab.standard_tests.experiment import standard_test

QUEUES = ["fifo", "fq_codel", "cake"]
GENERATOR = "wanlab"
"""Not Flent where it is installed: results do not depend on what a computer happens to have."""


@experiment(
    design=Design.grid({"queue": QUEUES, "generator": [GENERATOR]}, repeats=2),
    full=Design.grid(
        {"queue": [*QUEUES, "codel", "pie"], "generator": [GENERATOR], "seconds": [60]}, repeats=10
    ),
    programs=flent.PROGRAMS,
)
def rrul(
    run: Run,
    *,
    queue: str = "fifo",
    rate: str = "10Mbps",
    delay: str = "25ms",
    buffer: str = "",
    seconds: int = 20,
    generator: str = "wanlab",
) -> None:
    """Measure pings beside 4 flows up and 4 down on a path of 50 ms, with default limits.

    `generator` is `wanlab` or `flent`, which needs Flent and the programs that it starts.
    """
    if generator == "flent":
        flent.rrul_be(run, seconds=seconds)
        return
    standard_test(
        run, test="rrul_be", queue=queue, rate=rate, delay=delay, buffer=buffer, seconds=seconds
    )
