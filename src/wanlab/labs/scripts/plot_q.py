"""plot_q.sh: shows the queue of a port live; the key s ends it and writes a figure and the data.

The queue is what waits in shapers and AQMs, but not in a delay line (netem). On virtual time, reading
takes no time and does not disturb the network.

    queue_s1-eth2.pdf     backlog and drops over time
    queue_s1-eth2.dat     time_s,backlog_bytes,backlog_packets,drops

Earlier files are kept: a second run writes queue_s1-eth2_2.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import FrameType
from typing import NoReturn

from wanlab import Record, __version__
from wanlab.errors import WanlabError
from wanlab.measure.here import LocalView
from wanlab.record import Provenance, Table

from . import Usage, chart, csv_file, run

USAGE = """usage: plot_q.sh PORT [-i SECONDS] [-t SECONDS]

Shows the queue of a port (s1-eth2) while it changes. The key s, or Ctrl-C, stops; then a figure and
the numbers are written to the current folder.

  -i SECONDS  interval between readings (default: 0.1)
  -t SECONDS  stop after this time"""

EVERY_S = 0.1
REDRAW_S = 0.1
STOP_KEYS = b"sSqQ\x03"
NO_QUEUE = "no queue"
ONLY_A_DELAY_LINE = "no queue, only a delay line (netem)"


@dataclass
class QueueLog:
    """The readings of a queue so far."""

    times_s: list[float] = field(default_factory=list)
    backlog_bytes: list[int] = field(default_factory=list)
    backlog_packets: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)

    def table(self) -> Table:
        first = self.drops[0] if self.drops else 0
        return Table.of(
            {
                "time_s": self.times_s,
                "backlog_bytes": self.backlog_bytes,
                "backlog_packets": self.backlog_packets,
                # From the start of this program. The counter of a replaced queue begins at 0 again.
                "drops": [max(0, drops - first) for drops in self.drops],
            }
        )


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    # Also while the figure is written: Ctrl-C after the key s must not lose the readings.
    with _noted_signals() as signals:
        with LocalView() as here:
            port = options.port
            node = here.node_of(port)
            with _screen(port, signals) as (show, is_stopped):
                readings, description = watch(here, node, port, options, show, is_stopped)
        if not readings.times_s:
            raise WanlabError(f"there are no readings of {port}")
        files = write(readings.table(), port, Path.cwd())
    print(summary(readings, port, description))
    print(f"written: {' '.join(files)}")
    return 0


class UsageParser(argparse.ArgumentParser):
    """Reports wrong arguments as the other programs of this package do."""

    def error(self, message: str) -> NoReturn:
        raise Usage(message)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = UsageParser(add_help=False)
    parser.add_argument("port", metavar="PORT")
    parser.add_argument("-i", type=float, default=EVERY_S, dest="every_s")
    parser.add_argument("-t", type=float, default=None, dest="duration_s")
    options = parser.parse_args(arguments)
    if options.every_s <= 0:
        raise Usage("-i must be more than 0")
    return options


def watch(
    here: LocalView,
    node: str,
    port: str,
    options: argparse.Namespace,
    show: Callable[[QueueLog, str], None],
    is_stopped: Callable[[float], bool],
) -> tuple[QueueLog, str]:
    """Read the queue until stopped; return the readings, and a description of the queue."""
    readings = QueueLog()
    description = ""
    start_s = time.monotonic()
    shown_s = -REDRAW_S
    while True:
        now_s = time.monotonic() - start_s
        queue = here.node_snapshot(node).queues.get(port)
        if queue is None:
            return readings, f"{port} has gone"
        description = " + ".join(queue.kinds) or (ONLY_A_DELAY_LINE if queue.delays else NO_QUEUE)
        readings.times_s.append(round(now_s, 6))
        readings.backlog_bytes.append(queue.backlog_bytes)
        readings.backlog_packets.append(queue.backlog_packets)
        readings.drops.append(queue.drops)
        if now_s - shown_s >= REDRAW_S:
            show(readings, description)
            shown_s = now_s
        if options.duration_s is not None and now_s >= options.duration_s:
            return readings, description
        next_s = start_s + len(readings.times_s) * options.every_s
        if is_stopped(max(0.0, next_s - time.monotonic())):
            return readings, description


def summary(readings: QueueLog, port: str, description: str) -> str:
    peak = max(readings.backlog_bytes)
    mean = sum(readings.backlog_bytes) / len(readings.backlog_bytes)
    return (
        f"{port} ({description}): {len(readings.times_s)} readings in {readings.times_s[-1]:.1f} s, "
        f"peak {peak} B, mean {mean:.0f} B, {max(readings.drops) - readings.drops[0]} drops"
    )


# -- the terminal -----------------------------------------------------------------------------------


@contextlib.contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Yield the signals that arrive; none of them ends the program."""
    signals: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _screen(
    port: str, signals: list[int]
) -> Iterator[tuple[Callable[[QueueLog, str], None], Callable[[float], bool]]]:
    """Yield a function that shows the queue, and one that waits for the key that stops the program.

    Without a terminal, nothing is shown, and only signals stop the program.
    """
    keys = Keys()
    try:
        with _full_screen() if sys.stdout.isatty() else contextlib.nullcontext():

            def show(readings: QueueLog, description: str) -> None:
                if sys.stdout.isatty():
                    _draw(port, readings, description)

            yield show, lambda seconds: keys.stop_within(seconds, signals)
    finally:
        keys.close()


class Keys:
    """Waits for a time or a key; without a terminal, for input of any kind."""

    def __init__(self) -> None:
        self._is_open = True
        self._before = None
        if sys.stdin.isatty():
            self._before = termios.tcgetattr(0)
            tty.setcbreak(0)

    def close(self) -> None:
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def stop_within(self, seconds: float, signals: list[int]) -> bool:
        """Return whether a key that stops the program, or a signal, came within the time."""
        if signals:
            return True
        ready = select.select([0] if self._is_open else [], [], [], seconds)[0]
        if ready:
            typed = os.read(0, 64)
            if not typed:
                self._is_open = False
                return self.stop_within(seconds, signals)
            if set(typed) & set(STOP_KEYS):
                return True
        return bool(signals)


@contextlib.contextmanager
def _full_screen() -> Iterator[None]:
    sys.stdout.write("\x1b[?1049h\x1b[?25l")  # the alternate screen, without a cursor
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def _draw(port: str, readings: QueueLog, description: str) -> None:
    size = shutil.get_terminal_size()
    now = chart.readable(readings.backlog_bytes[-1], "B")
    drops = max(0, readings.drops[-1] - readings.drops[0])
    lines = [
        f"queue of {port} ({description}): {now}, {readings.backlog_packets[-1]} packets, {drops} drops",
        "",
        *chart.draw(
            readings.backlog_bytes,
            seconds=readings.times_s[-1],
            width=size.columns,
            height=max(3, min(16, size.lines - 5)),
        ),
        "",
        "s stops",
    ]
    text = "\r\n".join(line[: size.columns - 1] + "\x1b[K" for line in lines[: size.lines - 1])
    sys.stdout.write(f"\x1b[H{text}\x1b[J")
    sys.stdout.flush()


# -- files ------------------------------------------------------------------------------------------


def write(table: Table, port: str, folder: Path) -> list[str]:
    """Write the data and a figure; return the names of the files.

    The data come first: on a busy computer, the figure takes so long that Ctrl-C ends the process,
    which computes without a pause (cli.terminal).
    """
    name = free_name(folder, f"queue_{port}")
    csv_file.write(table, folder / f"{name}.dat")
    from wanlab import plot  # loading it takes a second, which must not delay the readings

    record = Record(Provenance(wanlab=__version__), {"queue": table})
    panels = [
        plot.quantity(record, "queue", "backlog_bytes", title="Queue", unit="auto"),
        plot.quantity(record, "queue", "drops", title="Drops"),
    ]
    plot.save(
        plot.timeline(panels, title=f"Queue of {port}", height=2.4),
        folder / f"{name}.pdf",
        quick=True,
    )
    return [f"{name}.pdf", f"{name}.dat"]


def free_name(folder: Path, name: str) -> str:
    """Return a free file name: with a number appended if the name is taken."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(
        n for n in names if not any((folder / f"{n}{s}").exists() for s in (".pdf", ".dat"))
    )


if __name__ == "__main__":
    run("plot_q.sh", USAGE, main)
