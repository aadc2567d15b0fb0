"""The calendar: it owns virtual time, and only it moves it.

The kernel books the instant of its next event; whoever uses the machine books instants at which it
wants to look or to speak. The calendar lets the kernel go on to the earlier of the two, and stands
still as long as nobody has asked for time to pass.

    kernel     .......#=====#.........#==|                 # an event, = work, . idle, | asks again
    calendar   |now                      |until            time between is skipped at once

The kernel is asked back after every STRIDE of virtual time at the latest, so that the user can
interrupt; where it is asked back changes nothing in the kernel. The stride adapts to the speed at
which time passes, to be about 30 ms of the real clock.
"""

from __future__ import annotations

from wanlab.errors import PeerError

from .timetravel import Heard, Kernel, Op, TimeTravel

STRIDE_LEAST_NS = 100_000
STRIDE_FIRST_NS = 10_000_000
# Work may begin at any time: after quiet seconds the first stride of a fast flow must not take long.
# Time without events is skipped in any case.
STRIDE_MOST_NS = 200_000_000
STRIDE_REAL_S = 0.03
FOREVER_NS = (1 << 63) - 1


class Calendar:
    """Decides when a kernel runs. All times in ns since its boot."""

    def __init__(self, start_of_day_ns: int) -> None:
        self.protocol = TimeTravel()
        self.now_ns = 0
        self.stride_ns = STRIDE_FIRST_NS
        self._start_of_day_ns = start_of_day_ns
        self._requested_ns = FOREVER_NS
        self._granted_ns = 0
        self._was_told_time = False
        self._asked_time = False

    @property
    def is_waiting(self) -> bool:
        """The kernel stands still and has said all it has to say about the time up to now."""
        return self.protocol.state is Kernel.WAITING

    @property
    def next_event_ns(self) -> int:
        """When the waiting kernel next has something to do; FOREVER_NS if never."""
        return self._requested_ns

    def hear(self, data: bytes) -> bytes:
        """Takes what the kernel said; returns the answers."""
        return b"".join(self._answer(heard) for heard in self.protocol.receive(data))

    def _answer(self, heard: Heard) -> bytes:
        if heard.op is Op.REQUEST:
            self._requested_ns = heard.time_ns
        elif heard.op is Op.UPDATE:
            self._move(heard.time_ns)
            self._was_told_time = True
        elif heard.op is Op.WAIT and not self._was_told_time:
            # It came to the end of what it was granted, and has nothing to do before.
            self._move(min(self._granted_ns, self._requested_ns))
        elif heard.op is Op.GET:
            self._asked_time = True
            return heard.answer(self.now_ns)
        elif heard.op is Op.GET_TOD:
            return heard.answer(self._start_of_day_ns)
        return heard.answer()

    def grant(self, until_ns: int) -> bytes:
        """Lets the waiting kernel do what it has to do up to and including `until_ns`.

        Empty when there is nothing to do until then; now is `until_ns` in that case.
        """
        assert self.is_waiting, "time was granted to a kernel that did not wait"
        assert until_ns >= self.now_ns, f"granted {self.now_ns - until_ns} ns into the past"
        if self._requested_ns > until_ns:
            self._move(until_ns)
            return b""
        self._move(self._requested_ns)
        self._requested_ns = FOREVER_NS
        self._granted_ns = min(until_ns, self.now_ns + self.stride_ns)
        self._was_told_time = False
        # The kernel runs by itself *before* FREE_UNTIL only.
        return self.protocol.run(self.now_ns, self._granted_ns + 1)

    def expect_event_now(self) -> None:
        """Something has been written for the waiting kernel: it will ask for the time, and book it."""
        assert self.is_waiting, "a running kernel must not be spoken to"
        self._asked_time = False

    @property
    def is_booked_now(self) -> bool:
        """The kernel has noted what was written as an event of this instant."""
        return self._asked_time and self._requested_ns <= self.now_ns

    def adapt_stride(self, passed_real_s: float, passed_ns: int) -> None:
        """How long the last stride took on the real clock, and how far it went."""
        if passed_real_s < STRIDE_REAL_S / 2 and passed_ns >= self.stride_ns:
            self.stride_ns = min(self.stride_ns * 2, STRIDE_MOST_NS)
        elif passed_real_s > STRIDE_REAL_S * 2:
            slower = int(self.stride_ns * STRIDE_REAL_S / passed_real_s)
            self.stride_ns = max(slower, STRIDE_LEAST_NS)

    def _move(self, time_ns: int) -> None:
        if time_ns < self.now_ns:
            raise PeerError(f"the kernel wants to go back in time, from {self.now_ns} to {time_ns}")
        self.now_ns = time_ns
