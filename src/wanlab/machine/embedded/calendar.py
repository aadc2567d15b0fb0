"""The calendar owns virtual time; nothing else moves it.

The kernel books the instant of its next event, and the user of the machine says until when time may
pass. The calendar lets the kernel run to the earlier of the two, and stands still while nobody has
asked for time to pass.

    kernel     .......#=====#.........#==|                 # an event, = work, . idle, | asks again
    calendar   |now                      |until            idle time is skipped at once

The kernel runs for one time slice of virtual time at most, so that the user can interrupt it; where a
slice ends changes nothing in the kernel. The length of the slices adapts to the speed at which time
passes, so that each takes about 30 ms of the real clock.
"""

from __future__ import annotations

from wanlab.errors import PeerError
from wanlab.units import FOREVER_NS

from .timetravel import KernelMessage, KernelState, Op, TimeTravel

MIN_TIME_SLICE_NS = 100_000
FIRST_TIME_SLICE_NS = 10_000_000
# A fast flow may begin after seconds without events: its first time slice must not take too long. Longer
# slices would gain nothing, because time without events is skipped in any case.
MAX_TIME_SLICE_NS = 200_000_000
TIME_SLICE_REAL_S = 0.03


class Calendar:
    """Decides when the kernel runs. All times are in ns since its boot."""

    def __init__(self, start_of_day_ns: int) -> None:
        self.protocol = TimeTravel()
        self.now_ns = 0
        self.time_slice_ns = FIRST_TIME_SLICE_NS
        self._start_of_day_ns = start_of_day_ns
        self._requested_ns = FOREVER_NS
        self._granted_ns = 0
        self._has_updated_time = False
        self._asked_time = False

    @property
    def is_waiting(self) -> bool:
        """The kernel stands still and has sent all that it has to send up to now."""
        return self.protocol.state is KernelState.WAITING

    @property
    def next_event_ns(self) -> int:
        """When the waiting kernel's next event is; FOREVER_NS if it has none."""
        return self._requested_ns

    def receive(self, data: bytes) -> bytes:
        """Process bytes from the kernel; return the answers to them."""
        return b"".join(self._answer(message) for message in self.protocol.receive(data))

    def _answer(self, message: KernelMessage) -> bytes:
        if message.op is Op.REQUEST:
            self._requested_ns = message.time_ns
        elif message.op is Op.UPDATE:
            self._move(message.time_ns)
            self._has_updated_time = True
        elif message.op is Op.WAIT and not self._has_updated_time:
            # It has reached the end of its grant, and has no event before that.
            self._move(min(self._granted_ns, self._requested_ns))
        elif message.op is Op.GET:
            self._asked_time = True
            return message.answer(self.now_ns)
        elif message.op is Op.GET_TOD:
            return message.answer(self._start_of_day_ns)
        return message.answer()

    def grant(self, until_ns: int) -> bytes:
        """Return the messages that let the waiting kernel run up to and including `until_ns`.

        They are empty if it has no event until then; in that case now becomes `until_ns`.
        """
        assert self.is_waiting, "time was granted to a kernel that did not wait"
        if until_ns < self.now_ns:
            raise PeerError(f"the kernel ran to {self.now_ns} ns, beyond its end at {until_ns} ns")
        if self._requested_ns > until_ns:
            self._move(until_ns)
            return b""
        self._move(self._requested_ns)
        self._requested_ns = FOREVER_NS
        self._granted_ns = min(until_ns, self.now_ns + self.time_slice_ns)
        self._has_updated_time = False
        # The kernel runs only *before* FREE_UNTIL.
        return self.protocol.run(self.now_ns, self._granted_ns + 1)

    def expect_event_now(self) -> None:
        """Note that data was sent to the waiting kernel: it will ask for the time and book an event."""
        assert self.is_waiting, "nothing may be sent to a running kernel"
        self._asked_time = False

    @property
    def is_booked_now(self) -> bool:
        """Whether the kernel has booked the data that was sent as an event of this instant."""
        return self._asked_time and self._requested_ns <= self.now_ns

    def adapt_time_slice(self, passed_real_s: float, passed_ns: int) -> None:
        """Adapt the length of time slices to how long the last one took and how far it went."""
        if passed_real_s < TIME_SLICE_REAL_S / 2 and passed_ns >= self.time_slice_ns:
            self.time_slice_ns = min(self.time_slice_ns * 2, MAX_TIME_SLICE_NS)
        elif passed_real_s > TIME_SLICE_REAL_S * 2:
            slower = int(self.time_slice_ns * TIME_SLICE_REAL_S / passed_real_s)
            self.time_slice_ns = max(slower, MIN_TIME_SLICE_NS)

    def _move(self, time_ns: int) -> None:
        if time_ns < self.now_ns:
            raise PeerError(f"the kernel would go back in time, from {self.now_ns} to {time_ns} ns")
        if time_ns > FOREVER_NS:
            raise PeerError(f"the kernel would go to {time_ns} ns, beyond the end of time")
        self.now_ns = time_ns
