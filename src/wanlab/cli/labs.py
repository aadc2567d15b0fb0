"""`wanlab lab list` and `wanlab lab run`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from wanlab import labs
from wanlab.labs import table

from .topologies import one_of

RED, GREEN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"
COLOURS = {table.REPRODUCED: GREEN, table.DIFFERS: RED}


def show_list() -> None:
    for number in labs.NUMBERS:
        print(f"{number:4}  {labs.find(number).title}")


def run(number: int, *, seed: int, clock: str, results: Path, as_json: bool) -> int:
    """Runs a lab and shows the report; the exit status says whether all was reproduced."""
    lab = labs.find(number)
    one_of("clock", clock, ("virtual", "real"))
    from wanlab.labs.results import run_lab  # loads what draws figures: a second

    progress = Progress()
    try:
        progress.say(f"Lab {number}: {lab.title} (seed {seed}, {clock} clock, {lab.wire} wire)")
        folder, report = run_lab(lab, seed=seed, clock=clock, results=results, say=progress.say)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        print(_coloured(table.text(report)), end="")
        took_s = progress.real_s()
        print(f"after {took_s:.0f} s; records, figures and transcript are in {folder}")
    return 0 if report["reproduced"] == len(report["findings"]) else 1


class Progress:
    """What is being done, on standard error: one line that changes on a terminal, lines elsewhere."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._is_shown = False

    def real_s(self) -> float:
        return time.monotonic() - self._began

    def say(self, line: str) -> None:
        line = f"[{self.real_s():6.1f} s] {line}"
        if not self._is_terminal:
            print(line, file=sys.stderr, flush=True)
            return
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or table.WIDTH
        print(f"\r\x1b[K{line[: columns - 1]}", end="", file=sys.stderr, flush=True)
        self._is_shown = True

    def end(self) -> None:
        """Wipes the line that changes."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_shown = False


def _coloured(text: str) -> str:
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return "".join(_coloured_line(line) for line in text.splitlines(keepends=True))


def _coloured_line(line: str) -> str:
    body = line.rstrip("\n")
    for word, colour in COLOURS.items():
        if body.endswith(f"  {word}"):
            return f"{body.removesuffix(word)}{colour}{word}{PLAIN}\n"
    return line
