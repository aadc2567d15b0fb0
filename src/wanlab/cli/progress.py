"""Progress messages on standard error: a line that is overwritten on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
import time

from wanlab.jobs.progress import BatchProgress

DEFAULT_WIDTH = 80
RUNNING_INTERVAL_S = {True: 1.0, False: 30.0}
"""True: standard error is a terminal, where the line is overwritten. False: it is not."""
MAX_SAYING = 2
"""With more jobs than this, what they say about their progress does not fit into a line."""
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


class SeriesProgress:
    """Shows which jobs have started and ended, and now and then, what the running ones are doing."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._running: set[str] = set()
        self._last_s = 0.0
        self.real_s = self._progress.real_s

    def __enter__(self) -> SeriesProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.end()

    def __call__(self, state: BatchProgress) -> None:
        running = set(state.running)
        for title in sorted(running - self._running):
            self._say(state, f"{title} started")
        self._running = running
        if state.event:
            self._say(state, state.event)
        interval_s = RUNNING_INTERVAL_S[self._progress.is_terminal]
        if running and self.real_s() - self._last_s >= interval_s:
            said = zip(state.running, state.says, strict=True)
            words = [f"{title} {words}".strip() for title, words in said]
            self._say(state, ", ".join(words if len(words) <= MAX_SAYING else state.running))

    def _say(self, state: BatchProgress, line: str) -> None:
        self._last_s = self.real_s()
        self._progress.say(f"{state.done} of {state.total} done; {line}")


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
