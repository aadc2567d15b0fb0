"""plot_concurrent.sh: the throughput of senders that ran at the same time, and their fairness.

The course's concurrent_* scripts run it at their end, when each sender has written a file of iperf3. It
shows the figure on the user's desktop, if there is one, and prints Jain's index.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wanlab import Record, __version__, plot
from wanlab.record import Provenance

from . import Usage, iperf3_file, plot_iperf, run, xdg_open
from .fairness import as_bc, index, rates_of

USAGE = """usage: plot_concurrent.sh FILE.json...

Draws the throughput of each sender (h1 of h1.json) into concurrent.pdf, and prints Jain's index."""

FILE = "concurrent.pdf"
UNIT = "Mbit/s"
HEIGHT_INCHES = 3.4


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        raise Usage("which files?")
    rates = [rate for name in arguments for rate in rates_of(name)]
    runs = {}
    for name in arguments:
        measured = iperf3_file.read(name)
        origin = Provenance(wanlab=__version__, warnings=plot_iperf.warnings(measured))
        record = Record(origin, {"iperf3": measured.table()})
        runs[Path(name).stem] = [plot.throughput(record, unit=UNIT)]
    figure = plot.timeline(plot.overlay(runs), title="Concurrent senders", height=HEIGHT_INCHES)
    plot.save(figure, Path(FILE), quick=True)
    xdg_open.show(Path(FILE))
    print(as_bc(index(rates)))
    return 0


if __name__ == "__main__":
    run("plot_concurrent.sh", USAGE, main)
