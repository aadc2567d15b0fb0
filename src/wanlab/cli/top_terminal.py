"""`wanlab top`: takes snapshots and shows them in a terminal or, with -b, one after another."""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from wanlab.errors import RequirementError, WanlabError, did_you_mean
from wanlab.measure.here import LocalView

from .top import KEYS, ORDERS, Snapshot, View, text

QUIT_KEYS = ("q", "Q", "\x03")


def run(*, batch: bool, times: int | None, every_s: float, sort: str, idle: bool) -> int:
    """Show snapshots until a key quits, or `times` of them."""
    if every_s <= 0:
        raise WanlabError("--delay must be more than 0 s")
    if times is not None and times < 1:
        raise WanlabError("--times must be at least 1")
    view = View(sorting=sorting_key(sort), shows_idle=idle)
    with LocalView() as here:
        if batch:
            return _run_batch(SnapshotSource(here), times, every_s, view)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise RequirementError(
                "standard input or output is not a terminal",
                "for a pipe or a file: wanlab top -b -n 3",
            )
        with _alternate_screen():
            return _run_live(SnapshotSource(here), times, every_s, view)


def sorting_key(name: str) -> str:
    """Return the key of a sorting that is named by its name, "backlog", or its key, "b"."""
    keys = {sorting.name: key for key, sorting in ORDERS.items()}
    if name in ORDERS:
        return name
    if name not in keys:
        raise WanlabError(f"cannot sort by {name!r}", did_you_mean(name, keys))
    return keys[name]


class SnapshotSource:
    """Takes snapshots, on a clock that starts at 0."""

    def __init__(self, here: LocalView) -> None:
        self._here = here
        self._start_s = time.monotonic()

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._start_s

    def snapshot(self) -> Snapshot:
        return Snapshot(self.now_s, self._here.snapshot())

    def about(self, snapshot: Snapshot) -> str:
        flows = sum(len(node.flows) for node in snapshot.nodes)
        clock = self._here.about.get("clock")
        return f"{clock} clock, {len(snapshot.nodes)} nodes, {flows} sockets"


def _run_batch(source: SnapshotSource, times: int | None, every_s: float, view: View) -> int:
    before = source.snapshot()
    shown = 0
    while times is None or shown < times:
        time.sleep(every_s)
        after = source.snapshot()
        if shown:
            print()
        print("\n".join(text(before, after, view, about=source.about(after))), flush=True)
        before = after
        shown += 1
    return 0


def _run_live(source: SnapshotSource, times: int | None, every_s: float, view: View) -> int:
    before = after = source.snapshot()
    shown = 0
    key = ""
    while key not in QUIT_KEYS and (times is None or shown <= times):
        _draw(source, before, after, view)
        key = _key_within(max(0.0, after.time_s + every_s - source.now_s))
        if key:
            view = view.pressed(key)
        else:
            before, after = after, source.snapshot()
            shown += 1
    return 0


def _draw(source: SnapshotSource, before: Snapshot, after: Snapshot, view: View) -> None:
    window = shutil.get_terminal_size()
    lines = text(before, after, view, about=source.about(after), rows=window.lines - 2)
    lines += [""] * (window.lines - 2 - len(lines)) + [KEYS]
    shown = "\x1b[K\r\n".join(line[: window.columns - 1] for line in lines)
    sys.stdout.write(f"\x1b[H{shown}\x1b[K\x1b[J")
    sys.stdout.flush()


def _key_within(seconds: float) -> str:
    """Wait for a key and return it, or "" on timeout. If the terminal has gone, return "q"."""
    if not select.select([0], [], [], seconds)[0]:
        return ""
    return os.read(0, 1).decode(errors="replace") or "q"


@contextmanager
def _alternate_screen() -> Iterator[None]:
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSADRAIN, before)
