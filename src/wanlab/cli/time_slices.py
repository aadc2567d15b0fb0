"""How long a machine runs before we look at our own streams again."""

from __future__ import annotations

SHORT_NS = 10_000_000
MAX_NS = 100_000_000_000
LONG_NS = 300_000_000
# How long we wait for input, while nothing happens in the machine, before more time passes there.
LISTEN_REAL_S = 0.001


class TimeSlices:
    """The length of the next time slice: short while something happens, then twice as long each time.

    So idle time costs nothing. With `always_short`, for clocks never faster than real time, all slices
    are short.
    """

    def __init__(self, always_short: bool) -> None:
        self.always_short = always_short
        self.short_ns = SHORT_NS
        """The length of a short slice."""
        self._length_ns = SHORT_NS

    @property
    def length_ns(self) -> int:
        return self.short_ns if self.always_short else self._length_ns

    def update(self, something_happened: bool) -> None:
        """Choose the length of the next slice by what happened in the last one."""
        if something_happened or self.always_short:
            self._length_ns = SHORT_NS
        else:
            self._length_ns = min(2 * self._length_ns, MAX_NS)

    @property
    def is_idle(self) -> bool:
        return not self.always_short and self._length_ns > SHORT_NS

    @property
    def is_long(self) -> bool:
        """Whether nothing has happened for so long that a program may be waiting for the user."""
        return not self.always_short and self._length_ns >= LONG_NS
