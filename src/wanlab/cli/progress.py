"""Progress messages on standard error: a line that is overwritten on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
import time

DEFAULT_WIDTH = 80


class Progress:
    """Messages with the real time since it was made."""

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
