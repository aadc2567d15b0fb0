"""How far time passes in a machine before we look at our own side again."""

from __future__ import annotations

SHORT_NS = 10_000_000
LONG_NS = 100_000_000_000
# How long a machine in which nothing happens waits for input before more time passes in it.
LISTEN_REAL_S = 0.001


class Strides:
    """Short while something happens; longer and longer while nothing does, so that idle time costs
    nothing. On a clock that is never faster than the real one they are always short."""

    def __init__(self, always_short: bool) -> None:
        self.always_short = always_short
        self._length_ns = SHORT_NS

    @property
    def length_ns(self) -> int:
        return SHORT_NS if self.always_short else self._length_ns

    def tell(self, something_happened: bool) -> None:
        if something_happened or self.always_short:
            self._length_ns = SHORT_NS
        else:
            self._length_ns = min(2 * self._length_ns, LONG_NS)

    @property
    def is_idle(self) -> bool:
        return self.length_ns > SHORT_NS
