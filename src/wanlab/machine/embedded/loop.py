"""Waits on virtual time: moves data between the sockets of calendar, agent and kernel.

On virtual time the kernel either runs or waits for the calendar. While it runs, the loop receives. When
it waits it has sent everything up to now, and the loop may deliver data, send, and grant time:

    kernel   |==== runs ====|waits             |==== runs ====|waits
    loop      receives       sends? grants      receives       ...

Data for the agent is sent while the kernel waits. The kernel books it as an event of this very instant:
it asks for the time (GET) and to be woken now (REQUEST). Only after that may time be granted.

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

from ..interruption import Interruption
from ..loop import ConnectionClosed, Pipes, receive, send
from ..patience import Patience
from .calendar import Calendar

# A program may print without end while no time passes. More than this is delivered before it does.
MAX_UNDELIVERED_BYTES = 4 << 20
# No more than a socket takes in one piece. Each piece wakes the kernel, which asks for the time; a RUN
# that arrives while it asks for a second one would be lost (`time_travel_handle_message`).
MAX_SEND_BYTES = 32768
# The virtual time that a spinning process is charged at once (kernel/patches/0026), and how long to wait
# for it to stop spinning.
MAX_CHARGE_NS = 2048
MAX_UNSETTLED_NS = 1_000_000
STALL_REAL_S = 10.0
RECEIVE_REAL_S = 1.0
# How often a kernel that has sent nothing is asked whether a process computes without system calls,
# and how often once one has: the kernel then gives it slices of 10 ms (kernel/patches/0027).
CHECK_REAL_S = 0.25
SLICE_REAL_S = 0.01
POLL_REAL_S = 0.01


class VirtualLoop:
    """Lets virtual time pass, as the calendar decides.

    `on_data` gets the bytes that the agent sends. `on_stall` is called with the real seconds for which
    virtual time has not passed. `check_computing` is called repeatedly while nothing comes from the
    kernel, and returns whether a process has been found that computes without system calls.
    `is_stepping` says that a request waits for the kernel to be settled, so that the kernel has to
    return control after each event.
    """

    def __init__(
        self,
        pipes: Pipes,
        calendar: Calendar,
        *,
        on_data: Callable[[bytes], None],
        on_stall: Callable[[float], None],
        check_computing: Callable[[], bool] = lambda: False,
        is_stepping: Callable[[], bool] = lambda: False,
    ) -> None:
        assert pipes.calendar is not None
        self._calendar_socket = pipes.calendar
        self._pipes = pipes
        self._calendar = calendar
        self._on_data = on_data
        self._on_stall = on_stall
        self._check_computing = check_computing
        self._check_real_s = CHECK_REAL_S
        self._is_stepping = is_stepping
        self._outgoing = bytearray()
        self._awaits_booking = False
        self._undelivered: deque[bytes] = deque()
        self._undelivered_bytes = 0
        self._selector = selectors.DefaultSelector()
        for end in (self._calendar_socket, pipes.from_agent):
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ)
        pipes.to_agent.setblocking(False)
        self._interruption = Interruption()
        self._unsettled_since_ns = 0
        self._is_paced, self._speed = False, 1.0
        self._paced_from = (0.0, 0)
        self.computed_real_s = 0.0
        """Real time that the kernel has computed, without waits for the real clock."""
        self.patience: Patience | None = None
        """If the kernel still runs when this is over, it counts as lost."""
        self.on_sent: Callable[[bytes], None] | None = None
        """Called with the bytes that were sent to the agent at this instant."""

    @property
    def now_ns(self) -> int:
        return self._calendar.now_ns

    @property
    def next_event_ns(self) -> int:
        return self._calendar.next_event_ns

    def send(self, data: bytes) -> None:
        """Queue bytes for the agent; they are sent when the kernel waits."""
        self._outgoing += data

    def settle(self) -> None:
        """Let the kernel finish its work of this instant. No time passes."""
        self._receive_until_waiting()

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Let virtual time pass until `stop()` is true or now is `until_ns`."""
        with self._interruption:
            self._run(until_ns, stop)

    def _run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        self._receive_until_waiting()
        until_ns = max(until_ns, self.now_ns)  # a kernel that was left busy may have got further
        self._paced_from = (time.monotonic(), self.now_ns)
        while not stop():
            self._interruption.allow()
            self._send_outgoing()
            if self._is_paced and not self._is_due(until_ns):
                continue
            before_ns, before = self.now_ns, time.monotonic()
            messages = self._calendar.grant(self._end_of_grant(until_ns))
            if not messages:
                return
            self._send_to_calendar(messages)
            self._receive_until_waiting()
            computed_real_s = time.monotonic() - before
            self.computed_real_s += computed_real_s
            self._calendar.adapt_time_slice(computed_real_s, self.now_ns - before_ns)

    def _end_of_grant(self, until_ns: int) -> int:
        """Return the instant at which the kernel has to return control.

        If there is data to send or the machine has to settle, that is after the next event. The instant
        at which the kernel receives the data must not depend on the time slice, which depends on this
        computer.
        """
        if not self._outgoing and not self._is_stepping():
            return until_ns
        return min(until_ns, max(self.now_ns, self._calendar.next_event_ns))

    def is_settled(self) -> bool:
        """Whether all work of this instant is done.

        That is so if the kernel's next event is further away than one charge of a spinning process. If
        called repeatedly, this returns True after MAX_UNSETTLED_NS in any case, because a process may
        spin for ever.
        """
        if self._calendar.next_event_ns - self.now_ns <= MAX_CHARGE_NS:
            self._unsettled_since_ns = self._unsettled_since_ns or self.now_ns
            if self.now_ns - self._unsettled_since_ns < MAX_UNSETTLED_NS:
                return False
        self._unsettled_since_ns = 0
        return True

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        """Keep virtual time from passing faster than `speed` times the real clock, or stop doing
        so."""
        self._is_paced, self._speed = wanted, speed
        self._paced_from = (time.monotonic(), self.now_ns)

    def _is_due(self, until_ns: int) -> bool:
        """Whether the next event is due on the real clock. If not, sleep for some of the time until
        then, but not so long that something outside the machine would have to wait."""
        real_s, ns = self._paced_from
        due_ns = min(self._calendar.next_event_ns, until_ns)
        ahead_s = (due_ns - ns) / 1e9 / self._speed - (time.monotonic() - real_s)
        if ahead_s > 0:
            time.sleep(min(ahead_s, POLL_REAL_S))
        return ahead_s <= POLL_REAL_S

    def _receive_until_waiting(self) -> None:
        """Receive until the kernel waits, and then deliver what the agent has sent: only then is it
        known at which instant that was."""
        try:
            if self._awaits_booking:  # the wait for it was interrupted
                self._await_booking()
            self._receive_while_running()
        except ConnectionClosed:
            self._deliver()  # what was sent before the end
            raise
        self._deliver()

    def _deliver(self) -> None:
        """Pass on the received frames. If a listener raises, the rest is kept for the next call."""
        while self._undelivered:
            data = self._undelivered.popleft()
            self._undelivered_bytes -= len(data)
            self._on_data(data)

    def _receive_while_running(self) -> None:
        began = quiet_since = time.monotonic()
        while not self._calendar.is_waiting:
            if time.monotonic() - began > RECEIVE_REAL_S:
                self._interruption.allow()
            ready = self._selector.select(self._timeout_real_s(self._check_real_s))
            self._check_patience()
            if ready:
                quiet_since = time.monotonic()
            elif self._check_computing():
                self._check_real_s = SLICE_REAL_S
            if time.monotonic() - quiet_since > STALL_REAL_S:
                self._on_stall(time.monotonic() - quiet_since)
                quiet_since = time.monotonic()
            for key, _ in ready:
                if key.fileobj is self._calendar_socket:
                    self._receive_from_calendar()
                else:
                    self._receive_from_agent()
            if self._undelivered_bytes > MAX_UNDELIVERED_BYTES:
                self._deliver()
        while self._receive_from_agent():
            pass

    def _timeout_real_s(self, max_s: float) -> float:
        return max_s if self.patience is None else self.patience.timeout_real_s(max_s)

    def _check_patience(self) -> None:
        if self.patience is not None and self.patience.is_over:
            raise ConnectionClosed

    def _receive_from_calendar(self) -> None:
        data = receive(self._calendar_socket)
        if data:
            self._send_to_calendar(self._calendar.receive(data))

    def _receive_from_agent(self) -> bool:
        data = receive(self._pipes.from_agent)
        if data:
            self._undelivered.append(data)
            self._undelivered_bytes += len(data)
        return bool(data)

    def _send_outgoing(self) -> None:
        """Send queued data, and wait until the kernel has booked it as an event of now.

        Nothing is sent while the kernel has other events at this instant. It may have noted input
        already. Then the loop cannot see whether it will ask for more than the time, and a RUN that
        crosses a request is lost.
        """
        if not self._outgoing:
            return
        if self._calendar.next_event_ns <= self.now_ns or self._has_unread_data():
            return
        data = send(self._pipes.to_agent, self._outgoing, MAX_SEND_BYTES)
        if not data:
            return  # the kernel reads first; the rest is sent when it next waits
        if self.on_sent is not None:
            self.on_sent(data)
        self._calendar.expect_event_now()
        self._awaits_booking = True
        self._await_booking()

    def _await_booking(self) -> None:
        began = quiet_since = time.monotonic()
        while not self._calendar.is_booked_now:
            ready = self._selector.select(self._timeout_real_s(RECEIVE_REAL_S))
            self._check_patience()
            if ready:
                quiet_since = time.monotonic()
                self._receive_from_calendar()
            if time.monotonic() - began > RECEIVE_REAL_S:
                self._interruption.allow()
            if not ready and time.monotonic() - quiet_since >= STALL_REAL_S:
                # The kernel may be suspended, and continue hours later.
                self._on_stall(time.monotonic() - quiet_since)
                quiet_since = time.monotonic()
        self._awaits_booking = False

    def _has_unread_data(self) -> bool:
        """Whether the agent has not yet read the data that was sent before.

        The kernel may have noted this input without having woken the agent: more data would not be a new
        event.
        """
        unread = fcntl.ioctl(self._pipes.to_agent, termios.TIOCOUTQ, b"\0" * 4)
        return int.from_bytes(unread, sys.byteorder) > 0

    def _send_to_calendar(self, data: bytes) -> None:
        try:
            # A message has 16 bytes: never more than a socket takes at once.
            self._calendar_socket.sendall(data)
        except OSError:
            raise ConnectionClosed from None

    def close(self) -> None:
        self._selector.close()
        self._pipes.close()
