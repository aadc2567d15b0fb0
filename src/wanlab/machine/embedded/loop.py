"""The only place that waits on virtual time: the sockets between calendar, channel and kernel.

On virtual time the kernel is either running or waiting for the calendar. While it runs, we listen.
When it waits it has said everything up to now, and we may look, speak and grant time:

    kernel   |== runs ==|waits            |== runs ==|waits
    loop      listens    speaks? grants    listens    ...

What we say to the agent is written while the kernel waits. It hears it as an event at this very
instant: it asks for the time (GET) and to be woken now (REQUEST). Only after that may time be granted.

On the real clock there is no calendar: see `machine.loop`.
"""

from __future__ import annotations

import fcntl
import selectors
import sys
import termios
import time
from collections import deque
from collections.abc import Callable

from wanlab.errors import MachineError

from ..interruption import Interruption
from ..loop import Lost, Pipes, receive
from .calendar import Calendar

# A program may talk without end while no time passes: more than this is not kept until it does.
MOST_HEARD_BYTES = 4 << 20
# No more than a socket takes in one piece: each piece wakes the kernel, which asks for the time then,
# and a RUN that comes while it asks for a second one is lost to it (`time_travel_handle_message`).
SAY_BYTES = 32768
# What a process's reading of the clock may cost (kernel/patches/0011), and how long is waited at most.
MOST_OF_A_READING_NS = 2048
MOST_UNSETTLED_NS = 1_000_000
STALL_REAL_S = 10.0
LISTEN_REAL_S = 1.0
LOOK_REAL_S = 0.01


class VirtualLoop:
    """Turns the calendar."""

    def __init__(
        self,
        pipes: Pipes,
        calendar: Calendar,
        hear_agent: Callable[[bytes], None],
        stalled: Callable[[float], None],
    ) -> None:
        assert pipes.calendar is not None
        self._calendar_socket = pipes.calendar
        self._pipes = pipes
        self._calendar = calendar
        self._hear_agent = hear_agent
        self._stalled = stalled
        self._to_say = bytearray()
        self._heard: deque[bytes] = deque()
        self._heard_bytes = 0
        self._selector = selectors.DefaultSelector()
        for end in (self._calendar_socket, pipes.from_agent):
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ)
        pipes.to_agent.setblocking(False)
        self._interruption = Interruption()
        self._unsettled_from_ns = 0
        self.goes_step_by_step: Callable[[], bool] = lambda: False
        """Whether something waits for the kernel to be settled."""
        self._is_paced = False
        self._paced_from = (0.0, 0)
        self.give_up_at_real_s: float | None = None
        """On the real clock: from then on a kernel that still runs counts as lost."""

    @property
    def now_ns(self) -> int:
        return self._calendar.now_ns

    def say(self, data: bytes) -> None:
        """For the agent, when the kernel waits."""
        self._to_say += data

    def settle(self) -> None:
        """Lets the kernel do what it has to do at this instant. No time passes."""
        self._listen()

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Lets virtual time pass until `stop` is true or now is `until_ns`."""
        with self._interruption:
            self._run(until_ns, stop)

    def _run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        self._listen()
        until_ns = max(until_ns, self.now_ns)  # later than it seemed, if we had left a busy kernel
        self._paced_from = (time.monotonic(), self.now_ns)
        while not stop():
            self._interruption.may_come()
            self._speak()
            if self._is_paced and not self._is_due(until_ns):
                continue
            before_ns, before = self.now_ns, time.monotonic()
            words = self._calendar.grant(self._end_of_grant(until_ns))
            if not words:
                return
            self._send_calendar(words)
            self._listen()
            self._calendar.adapt_stride(time.monotonic() - before, self.now_ns - before_ns)

    def _end_of_grant(self, until_ns: int) -> int:
        """While there is more to say or to settle, the kernel is asked back after each event: when it
        hears the rest must not depend on the stride, which depends on this computer."""
        if not self._to_say and not self.goes_step_by_step():
            return until_ns
        return min(until_ns, max(self.now_ns, self._calendar.next_event_ns))

    def is_settled(self) -> bool:
        """The kernel has nothing to do for longer than a process needs to read the clock: all that was
        under way at this instant is done. Asked again and again, it is true after a moment in any
        case: somebody may read the clock without end."""
        if self._calendar.next_event_ns - self.now_ns <= MOST_OF_A_READING_NS:
            self._unsettled_from_ns = self._unsettled_from_ns or self.now_ns
            if self.now_ns - self._unsettled_from_ns < MOST_UNSETTLED_NS:
                return False
        self._unsettled_from_ns = 0
        return True

    def pace_to_real(self, wanted: bool) -> None:
        """From now on never faster than the real clock, or as fast as it can be computed."""
        self._is_paced = wanted
        self._paced_from = (time.monotonic(), self.now_ns)

    def _is_due(self, until_ns: int) -> bool:
        """Whether the next event is due on the real clock, too. If not, some of the time until then has
        passed now, no more of it than somebody may have to wait who has something to say meanwhile."""
        real_s, ns = self._paced_from
        due_ns = min(self._calendar.next_event_ns, until_ns)
        ahead_s = (due_ns - ns) / 1e9 - (time.monotonic() - real_s)
        if ahead_s > 0:
            time.sleep(min(ahead_s, LOOK_REAL_S))
        return ahead_s <= LOOK_REAL_S

    def _listen(self) -> None:
        """Hears calendar and agent until the kernel waits. Only then, when it is known at which instant,
        is passed on what the agent has said."""
        try:
            self._hear_until_waiting()
        except Lost:
            self._pass_on()  # its last words
            raise
        self._pass_on()

    def _pass_on(self) -> None:
        """A listener may raise: what has not been passed on by then stays for the next time."""
        while self._heard:
            data = self._heard.popleft()
            self._heard_bytes -= len(data)
            self._hear_agent(data)

    def _hear_until_waiting(self) -> None:
        began = quiet_since = time.monotonic()
        while not self._calendar.is_waiting:
            if time.monotonic() - began > LISTEN_REAL_S:
                self._interruption.may_come()
            ready = self._selector.select(self._patience_real_s(LISTEN_REAL_S))
            if self.give_up_at_real_s and time.monotonic() > self.give_up_at_real_s:
                raise Lost
            if ready:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > STALL_REAL_S:
                self._stalled(time.monotonic() - quiet_since)
                quiet_since = time.monotonic()
            for key, _ in ready:
                if key.fileobj is self._calendar_socket:
                    self._hear_calendar()
                else:
                    self._hear_channel()
            if self._heard_bytes > MOST_HEARD_BYTES:
                self._pass_on()
        while self._hear_channel():
            pass

    def _patience_real_s(self, most_s: float) -> float:
        if self.give_up_at_real_s is None:
            return most_s
        return min(most_s, max(0.0, self.give_up_at_real_s - time.monotonic()))

    def _hear_calendar(self) -> None:
        data = receive(self._calendar_socket)
        if data:
            self._send_calendar(self._calendar.hear(data))

    def _hear_channel(self) -> bool:
        data = receive(self._pipes.from_agent)
        if data:
            self._heard.append(data)
            self._heard_bytes += len(data)
        return bool(data)

    def _speak(self) -> None:
        """Writes what is to be said, and waits until the kernel has noted it as an event of now.

        Not while it has other events now: it may have noted that there is input already, and then
        nothing tells us whether it asks for more than the time. A RUN that meets a request is lost.
        """
        if not self._to_say:
            return
        if self._calendar.next_event_ns <= self.now_ns or self._is_unread():
            return
        try:
            sent = self._pipes.to_agent.send(self._to_say[:SAY_BYTES])
        except BlockingIOError:
            return  # it reads first; the rest is said when it next waits
        except OSError:
            raise Lost from None
        del self._to_say[:sent]
        self._calendar.expect_event_now()
        while not self._calendar.is_booked_now:
            if not self._selector.select(self._patience_real_s(STALL_REAL_S)):
                raise MachineError("the kernel did not notice what was said to its agent")
            self._hear_calendar()

    def _is_unread(self) -> bool:
        """The agent has not come to reading what was said before. The kernel may have noted that there
        is input, and wait before it tells the agent: more would be no new event."""
        answer = fcntl.ioctl(self._pipes.to_agent, termios.TIOCOUTQ, b"\0" * 4)
        return int.from_bytes(answer, sys.byteorder) > 0

    def _send_calendar(self, data: bytes) -> None:
        try:
            # 16 bytes a message: never more than a socket takes at once.
            self._calendar_socket.sendall(data)
        except OSError:
            raise Lost from None

    def close(self) -> None:
        self._selector.close()
        self._pipes.close()
