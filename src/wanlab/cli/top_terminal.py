"""`wanlab top` at work: looks again and again, and shows, in a terminal or line by line (-b)."""

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

from .top import KEYS, ORDERS, Look, View, text

QUIT_KEYS = ("q", "Q", "\x03")


def run(*, batch: bool, times: int | None, every_s: float, sort: str, idle: bool) -> int:
    """Shows until a key quits, or so many times."""
    if every_s <= 0:
        raise WanlabError("--delay must be more than 0 s")
    if times is not None and times < 1:
        raise WanlabError("-n must be at least 1")
    view = View(sorting=sorting_key(sort), shows_idle=idle)
    with LocalView() as here:
        if batch:
            return _run_batch(Looker(here), times, every_s, view)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise RequirementError(
                "this is no terminal", "for a pipe or a file: wanlab top -b -n 3"
            )
        with _own_screen():
            return _run_live(Looker(here), times, every_s, view)


def sorting_key(name: str) -> str:
    """By its name, "backlog", or by its key, "b"."""
    keys = {sorting.name: key for key, sorting in ORDERS.items()}
    if name in ORDERS:
        return name
    if name not in keys:
        raise WanlabError(f"there is no sorting by {name!r}", did_you_mean(name, keys))
    return keys[name]


class Looker:
    """Looks, on a clock that begins with the first look."""

    def __init__(self, here: LocalView) -> None:
        self._here = here
        self._start_s = time.monotonic()

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._start_s

    def look(self) -> Look:
        return Look(self.now_s, self._here.snapshot())

    def about(self, look: Look) -> str:
        flows = sum(len(node.flows) for node in look.nodes)
        clock = self._here.about.get("clock")
        return f"{clock} clock, {len(look.nodes)} nodes, {flows} sockets"


def _run_batch(looker: Looker, times: int | None, every_s: float, view: View) -> int:
    before = looker.look()
    shown = 0
    while times is None or shown < times:
        time.sleep(every_s)
        after = looker.look()
        if shown:
            print()
        print("\n".join(text(before, after, view, about=looker.about(after))), flush=True)
        before = after
        shown += 1
    return 0


def _run_live(looker: Looker, times: int | None, every_s: float, view: View) -> int:
    before = after = looker.look()
    shown = 0
    key = ""
    while key not in QUIT_KEYS and (times is None or shown <= times):
        _draw(looker, before, after, view)
        key = _key_within(max(0.0, after.time_s + every_s - looker.now_s))
        if key:
            view = view.pressed(key)
        else:
            before, after = after, looker.look()
            shown += 1
    return 0


def _draw(looker: Looker, before: Look, after: Look, view: View) -> None:
    window = shutil.get_terminal_size()
    lines = text(before, after, view, about=looker.about(after), rows=window.lines - 2)
    lines += [""] * (window.lines - 2 - len(lines)) + [KEYS]
    shown = "\x1b[K\r\n".join(line[: window.columns - 1] for line in lines)
    sys.stdout.write(f"\x1b[H{shown}\x1b[K\x1b[J")
    sys.stdout.flush()


def _key_within(seconds: float) -> str:
    """A key, or "" if none came. That the terminal has gone quits."""
    if not select.select([0], [], [], seconds)[0]:
        return ""
    return os.read(0, 1).decode(errors="replace") or "q"


@contextmanager
def _own_screen() -> Iterator[None]:
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSADRAIN, before)
