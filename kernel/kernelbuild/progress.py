"""Show the progress of a build on one line of a terminal, or as one line per 10 % elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

_EVERY_S = 0.2
_CLEAR = "\r\x1b[K"
_STEP_CHARACTERS = 40  # a line of the terminal has no room for more


class Progress:
    """The progress of a build: its phase, and during compilation a percentage and the time left.

    The percentage compares the number of lines that `make` has printed with the number in the recipe.
    A wrong number in the recipe has no other effect than a wrong percentage.
    """

    def __init__(
        self, stream: TextIO, expected_steps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._expected_steps = max(expected_steps, 1)
        self._clock = clock
        self._started = clock()
        self._phase_started = self._started
        self._shown_at = float("-inf")
        self._next_tenth = 1
        self.steps = 0

    def expect(self, steps: int) -> None:
        """Correct the number of steps that are left."""
        self._expected_steps = max(steps, 1)

    def phase(self, what: str) -> None:
        """Begin a new phase."""
        self._phase_started = self._clock()
        self._next_tenth = 1
        if self._terminal:
            self._stream.write(f"{_CLEAR}kernel: {what}")
            self._stream.flush()
        else:
            self.note(what)

    def step(self) -> None:
        """Count one more compiled file."""
        self.steps += 1
        self.share("compiling", self.steps / self._expected_steps)

    def doing(self, what: str, step: str) -> None:
        """Count one more step of a phase with an unknown number of steps, and show it on a terminal."""
        self.steps += 1
        if self._terminal and self._clock() - self._shown_at >= _EVERY_S:
            self._shown_at = self._clock()
            spent = format_seconds(self._clock() - self._phase_started)
            self._stream.write(f"{_CLEAR}kernel: {what}, {spent} so far: {step[:_STEP_CHARACTERS]}")
            self._stream.flush()

    def share(self, what: str, fraction: float) -> None:
        """Show the completed fraction of a phase."""
        fraction = min(fraction, 0.99)
        if not self._terminal:
            if fraction * 10 >= self._next_tenth:
                self._next_tenth = int(fraction * 10) + 1
                self.note(self._text(what, fraction))
        elif self._clock() - self._shown_at >= _EVERY_S:
            self._shown_at = self._clock()
            self._stream.write(f"{_CLEAR}kernel: {self._text(what, fraction)}")
            self._stream.flush()

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._stream.write(f"{_CLEAR if self._terminal else ''}kernel: {text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Clear the terminal's line for the next output."""
        if self._terminal:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def elapsed(self) -> str:
        """Return the time since the build began, as text."""
        return format_seconds(self._clock() - self._started)

    def _text(self, what: str, fraction: float) -> str:
        spent_s = self._clock() - self._phase_started
        left_s = spent_s / fraction - spent_s if fraction else 0.0
        return (
            f"{what} {fraction:4.0%}, {format_seconds(spent_s)} so far,"
            f" about {format_seconds(left_s)} left"
        )


def format_seconds(seconds: float) -> str:
    """Format minutes and seconds: 83 -> 1:23."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
