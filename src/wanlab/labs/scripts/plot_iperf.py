"""plot_iperf.sh: draws one run of iperf3 into a folder `results`.

    results/throughput.pdf cwnd.pdf retransmits.pdf RTT.pdf RTT_Var.pdf MTU.pdf bytes.pdf
            1.dat          the plotted numbers, as CSV; of the second stream 2.dat, and so on

Every stream is a curve. The program names the figures that it could not draw: only the sender of a
TCP stream knows its window, its RTT and its retransmissions, and UDP has none of these. Figures of
an earlier run are replaced, or removed if this run has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab import Record, __version__, iperf3, plot
from wanlab.record import Provenance

from . import csv_file, iperf3_file, one_file, run

if TYPE_CHECKING:
    from wanlab.record import Table

USAGE = """usage: plot_iperf.sh FILE.json

FILE.json is written by `iperf3 -c SERVER -J > FILE.json`. The figures (PDF) and the numbers
(1.dat, CSV; a file for each stream) are written to the folder results in the current folder."""

FOLDER = "results"
HEIGHT_INCHES = 3.4


@dataclass(frozen=True)
class IntervalPlot:
    """One figure: its file, and the column of iperf3's intervals that it shows."""

    file: str
    column: str
    title: str
    unit: str = ""


PLOTS = (
    IntervalPlot("throughput", "bits_per_second", "Throughput", "auto"),
    IntervalPlot("cwnd", "snd_cwnd_bytes", "Congestion window", "auto"),
    IntervalPlot("retransmits", "retransmits", "Retransmissions"),
    IntervalPlot("RTT", "rtt_us", "RTT"),
    IntervalPlot("RTT_Var", "rttvar_us", "Variation of the RTT"),
    IntervalPlot("MTU", "pmtu_bytes", "MTU of the path"),
    IntervalPlot("bytes", "bytes", "Transfer", "auto"),
    IntervalPlot("lost", "lost_packets", "Lost packets"),
    IntervalPlot("jitter", "jitter_ms", "Jitter"),
)
# iperf3 reports these for UDP only, so their absence needs no message.
OF_UDP = ("lost", "jitter")


def main(arguments: Sequence[str]) -> int:
    name = one_file(arguments)
    measured = iperf3_file.read(name)
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    for old in [*(folder / f"{drawing.file}.pdf" for drawing in PLOTS), *folder.glob("*.dat")]:
        if old.suffix == ".pdf" or old.stem.isdigit():
            old.unlink(missing_ok=True)
    table = measured.table()
    record = Record(Provenance(wanlab=__version__, warnings=warnings(measured)), {"iperf3": table})
    drawn = [drawing for drawing in PLOTS if drawing.column in table]
    for drawing in drawn:
        save(record, drawing, folder, Path(name).name)
    files = write_numbers(table, folder)
    print(f"{folder}: {' '.join([f'{drawing.file}.pdf' for drawing in drawn] + files)}")
    for line in [*warnings(measured), *missing_figures(measured, drawn)]:
        print(f"plot_iperf.sh: {line}")
    return 0


def save(record: Record, drawing: IntervalPlot, folder: Path, title: str) -> None:
    panel = plot.quantity(record, "iperf3", drawing.column, title=drawing.title, unit=drawing.unit)
    figure = plot.timeline([panel], title=title, height=HEIGHT_INCHES)
    plot.save(figure, folder / f"{drawing.file}.pdf", quick=True)


def write_numbers(table: Table, folder: Path) -> list[str]:
    """Write the rows of each stream to 1.dat, 2.dat, ...; return the names."""
    names = []
    for number, stream in enumerate(table.distinct("stream"), start=1):
        names.append(f"{number}.dat")
        csv_file.write(table.where(stream=stream), folder / names[-1], without=("stream",))
    return names


def warnings(measured: iperf3.Iperf3) -> tuple[str, ...]:
    return (f"the run ended before its time: {measured.error}",) if measured.error else ()


def missing_figures(measured: iperf3.Iperf3, drawn: Sequence[IntervalPlot]) -> list[str]:
    missing = [d.file for d in PLOTS if d not in drawn and d.file not in OF_UDP]
    if not missing:
        return []
    if measured.protocol == "UDP":
        why = "UDP does not have them"
    elif not any(interval.sender for interval in measured.intervals):
        why = "only the sender knows them, and this side received"
    else:
        why = "this iperf3 does not report them"
    return [f"not drawn: {', '.join(missing)} ({why})"]


if __name__ == "__main__":
    run("plot_iperf.sh", USAGE, main)
