"""Progress messages on standard error: a line that is overwritten on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
import time

DEFAULT_WIDTH = 80
REPLAY_INTERVAL_REAL_S = 0.25


class Progress:
    """Messages with the real time since this object was created."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.is_terminal = sys.stderr.isatty()
        self._is_shown = False

    def real_s(self) -> float:
        return time.monotonic() - self._start

    def say(self, line: str) -> None:
        line = f"[{self.real_s():6.1f} s] {line}"
        if not self.is_terminal:
            print(line, file=sys.stderr, flush=True)
            return
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or DEFAULT_WIDTH
        print(f"\r\x1b[K{line[: columns - 1]}", end="", file=sys.stderr, flush=True)
        self._is_shown = True

    def end(self) -> None:
        """Erase the line on the terminal."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_shown = False


class ReplayProgress:
    """Says how far a replay has got, and how long it will take."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._shown_real_s = 0.0

    def show(self, time_ns: int, end_ns: int | None) -> None:
        real_s = self._progress.real_s()
        if end_ns is None or end_ns <= 0 or time_ns >= end_ns:
            self._progress.end()
            return
        if real_s - self._shown_real_s < REPLAY_INTERVAL_REAL_S or time_ns <= 0:
            return
        self._shown_real_s = real_s
        left_s = real_s * (end_ns - time_ns) / time_ns
        self._progress.say(
            f"replay: {time_ns / 1e9:.1f} of {end_ns / 1e9:.1f} s, about {left_s:.0f} s left"
        )
