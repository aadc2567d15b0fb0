"""plot_iperf.sh: figures of one run of iperf3, in a folder `results`.

    results/throughput.pdf cwnd.pdf retransmits.pdf RTT.pdf RTT_Var.pdf MTU.pdf bytes.pdf
            1.dat          the plotted numbers, as CSV; of the second stream 2.dat, and so on

Every stream is a curve. What iperf3 does not tell is not drawn, and said: only the sender of a TCP
stream knows its window, its RTT and its retransmissions, and UDP has none of them. Figures of an
earlier run are replaced, or removed where this run has none.
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

FILE.json is what `iperf3 -c SERVER -J > FILE.json` leaves. The figures (PDF) and the numbers
(1.dat, CSV; a file for each stream) are written to the folder results in the current folder."""

FOLDER = "results"
HEIGHT_INCHES = 3.4


@dataclass(frozen=True)
class Drawing:
    """One file of figures: the column of iperf3's intervals that it shows."""

    file: str
    column: str
    title: str
    unit: str = ""


DRAWINGS = (
    Drawing("throughput", "bits_per_second", "Throughput", "auto"),
    Drawing("cwnd", "snd_cwnd_bytes", "Congestion window", "auto"),
    Drawing("retransmits", "retransmits", "Retransmissions"),
    Drawing("RTT", "rtt_us", "RTT"),
    Drawing("RTT_Var", "rttvar_us", "Variation of the RTT"),
    Drawing("MTU", "pmtu_bytes", "MTU of the path"),
    Drawing("bytes", "bytes", "Transfer", "auto"),
    Drawing("lost", "lost_packets", "Lost packets"),
    Drawing("jitter", "jitter_ms", "Jitter"),
)
# iperf3 tells these of UDP only: nobody misses them.
OF_UDP = ("lost", "jitter")


def main(arguments: Sequence[str]) -> int:
    name = one_file(arguments)
    measured = iperf3_file.read(name)
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    for old in [*(folder / f"{drawing.file}.pdf" for drawing in DRAWINGS), *folder.glob("*.dat")]:
        if old.suffix == ".pdf" or old.stem.isdigit():
            old.unlink(missing_ok=True)
    table = measured.table()
    record = Record(Provenance(wanlab=__version__, warnings=warnings(measured)), {"iperf3": table})
    drawn = [drawing for drawing in DRAWINGS if drawing.column in table]
    for drawing in drawn:
        save(record, drawing, folder, Path(name).name)
    files = write_numbers(table, folder)
    print(f"{folder}: {' '.join([f'{drawing.file}.pdf' for drawing in drawn] + files)}")
    for line in [*warnings(measured), *what_is_missing(measured, drawn)]:
        print(f"plot_iperf.sh: {line}")
    return 0


def save(record: Record, drawing: Drawing, folder: Path, title: str) -> None:
    panel = plot.quantity(record, "iperf3", drawing.column, title=drawing.title, unit=drawing.unit)
    figure = plot.timeline([panel], title=title, height=HEIGHT_INCHES)
    plot.save(figure, folder / f"{drawing.file}.pdf", quick=True)


def write_numbers(table: Table, folder: Path) -> list[str]:
    """The rows of each stream in files named 1.dat, 2.dat, ...; returns their names."""
    names = []
    for number, stream in enumerate(table.distinct("stream"), start=1):
        names.append(f"{number}.dat")
        csv_file.write(table.where(stream=stream), folder / names[-1], without=("stream",))
    return names


def warnings(measured: iperf3.Iperf3) -> tuple[str, ...]:
    return (f"the run ended before its time: {measured.error}",) if measured.error else ()


def what_is_missing(measured: iperf3.Iperf3, drawn: Sequence[Drawing]) -> list[str]:
    missing = [d.file for d in DRAWINGS if d not in drawn and d.file not in OF_UDP]
    if not missing:
        return []
    if measured.protocol == "UDP":
        why = "UDP has no such thing"
    elif not any(interval.sender for interval in measured.intervals):
        why = "this side received, and only the sender knows"
    else:
        why = "this iperf3 does not tell"
    return [f"not drawn: {', '.join(missing)} ({why})"]


if __name__ == "__main__":
    run("plot_iperf.sh", USAGE, main)
