"""A fake kernel that speaks the time-travel protocol and records when its events happen."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from wanlab.machine.embedded.calendar import Calendar
from wanlab.machine.embedded.timetravel import MESSAGE, Op

Requests = Generator[tuple[Op, int], int, None]


@dataclass
class FakeKernel:
    """Has events at given instants; an event may schedule others a number of ns after itself."""

    events: list[int]
    follow_ups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    updates_time: bool = True
    now_ns: int = 0
    seen: list[int] = field(default_factory=list)
    times_received: list[int] = field(default_factory=list)
    _free_until_ns: int = 0
    _sequence: int = 0
    _requested_ns: int | None = None

    def start(self) -> Requests:
        yield Op.START, 0
        yield from self._wait()

    def run(self) -> Requests:
        """Act on RUN: let events happen, then wait."""
        while self.events and (
            self.events[0] <= self.now_ns or self.events[0] < self._free_until_ns
        ):
            self.now_ns = max(self.now_ns, self.events.pop(0))
            self.seen.append(self.now_ns)
            later = self.follow_ups.get(len(self.seen) - 1, ())
            self.events = sorted([*self.events, *(self.now_ns + after for after in later)])
        yield from self._wait()

    def interrupted(self) -> Requests:
        """Act on data that arrives while the kernel waits: schedule an event for now."""
        self.now_ns = yield Op.GET, 0
        self.times_received.append(self.now_ns)
        self.events = sorted([*self.events, self.now_ns])
        yield from self._request()

    def _wait(self) -> Requests:
        if self.updates_time:
            yield Op.UPDATE, self.now_ns
        self._requested_ns = None
        yield from self._request()
        yield Op.WAIT, 2**64 - 1

    def _request(self) -> Requests:
        if self.events and self.events[0] != self._requested_ns:
            self._requested_ns = self.events[0]
            yield Op.REQUEST, self.events[0]

    def receive(self, data: bytes) -> list[bytes]:
        """Receive FREE_UNTIL and RUN; return the acknowledgements."""
        acks = []
        for start in range(0, len(data), MESSAGE.size):
            op, sequence, time_ns = MESSAGE.unpack_from(data, start)
            if op == Op.FREE_UNTIL:
                self._free_until_ns = time_ns
            else:
                assert op == Op.RUN
                assert time_ns >= self.now_ns, "the kernel was sent into the past"
                self.now_ns = time_ns
            acks.append(MESSAGE.pack(Op.ACK, sequence, 0))
        return acks

    def converse(self, requests: Requests, calendar: Calendar) -> None:
        """Send requests to the calendar, each with the answer to the previous one."""
        answer = None
        while True:
            try:
                op, time_ns = next(requests) if answer is None else requests.send(answer)
            except StopIteration:
                return
            self._sequence += 1
            data = calendar.receive(MESSAGE.pack(op, self._sequence, time_ns))
            ack, sequence, answer = MESSAGE.unpack(data)
            assert (ack, sequence) == (Op.ACK, self._sequence)


def started(kernel: FakeKernel, start_of_day_ns: int = 0) -> Calendar:
    calendar = Calendar(start_of_day_ns)
    kernel.converse(kernel.start(), calendar)
    return calendar


def advance(calendar: Calendar, kernel: FakeKernel, until_ns: int) -> list[int]:
    """Let time pass; return all times that the calendar showed meanwhile."""
    shown = [calendar.now_ns]
    while messages := calendar.grant(until_ns):
        for ack in kernel.receive(messages):
            calendar.receive(ack)
        shown.append(calendar.now_ns)
        kernel.converse(kernel.run(), calendar)
        shown.append(calendar.now_ns)
    return [*shown, calendar.now_ns]
