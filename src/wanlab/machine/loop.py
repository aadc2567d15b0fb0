"""Waits for an agent while the real clock runs: it may send something at any time."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wanlab.units import FOREVER_NS

from .interruption import Interruption
from .patience import Patience

CHUNK_BYTES = 1 << 18
POLL_REAL_S = 0.01
MAX_WAIT_REAL_S = 3600.0
# epoll rounds up to whole milliseconds, and the kernel may end it late by a thousandth of the timeout
# (`select_estimate_accuracy`). So we wait for nearly all of the time, repeatedly, and sleep the rest.
EPOLL_GRAIN_S = 0.002
NEARLY = 0.99
SETTLE_REAL_S = 0.01


class ConnectionClosed(Exception):
    """The other end of a socket was closed: the kernel or the agent has ended."""


@dataclass
class Pipes:
    """Our ends of a machine's sockets. `calendar` is None on the real clock."""

    calendar: socket.socket | None
    to_agent: socket.socket
    from_agent: socket.socket

    def close(self) -> None:
        for end in (self.calendar, self.to_agent, self.from_agent):
            if end is not None:
                end.close()


class RealLoop:
    """Sends to and receives from an agent while the real clock runs.

    `on_data` gets the bytes that the agent sends.
    """

    def __init__(self, pipes: Pipes, on_data: Callable[[bytes], None]) -> None:
        self._pipes = pipes
        self._on_data = on_data
        self._outgoing = bytearray()
        self._selector = selectors.DefaultSelector()
        pipes.from_agent.setblocking(False)
        pipes.to_agent.setblocking(False)
        self._selector.register(pipes.from_agent, selectors.EVENT_READ)
        self._interruption = Interruption()
        self._started = time.monotonic_ns()
        self._polls_outside = False
        self.patience: Patience | None = None
        self.on_sent: Callable[[bytes], None] | None = None
        """Called with the bytes that were sent to the agent."""

    @property
    def now_ns(self) -> int:
        return time.monotonic_ns() - self._started

    @property
    def next_event_ns(self) -> int:
        return FOREVER_NS  # unknown on the real clock

    def send(self, data: bytes) -> None:
        """Queue bytes for the agent; `run` sends them."""
        self._outgoing += data

    @property
    def computed_real_s(self) -> float:
        return 0.0

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        """Call `stop` often while `wanted`: a connection outside the machine may have to be served."""
        self._polls_outside = wanted

    def settle(self) -> None:
        """Nothing to do: the real clock cannot stand still."""

    def is_settled(self) -> bool:
        """Receive for a moment longer: output of a terminal arrives later than a request."""
        deadline = time.monotonic() + SETTLE_REAL_S
        while (left_s := deadline - time.monotonic()) > 0 and self._selector.select(left_s):
            self._receive()
        return True

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Exchange data until `stop()` is true or the clock shows `until_ns`."""
        with self._interruption:
            self._run(until_ns, stop)

    def _run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        while not stop():
            self._send_outgoing()
            left_s = (until_ns - self.now_ns) / 1e9
            if self.patience is not None:
                if self.patience.is_over:
                    return
                left_s = min(left_s, self.patience.timeout_real_s(left_s))
            if left_s <= 0:
                return
            if left_s < EPOLL_GRAIN_S:
                self._interruption.allow_during(partial(time.sleep, left_s))
                return
            nearly_s = left_s * NEARLY - EPOLL_GRAIN_S / 2
            must_poll = self._outgoing or self._polls_outside
            wait_s = min(nearly_s, POLL_REAL_S if must_poll else MAX_WAIT_REAL_S)
            for _ in self._interruption.allow_during(partial(self._selector.select, wait_s)):
                self._receive()

    def _receive(self) -> None:
        data = receive(self._pipes.from_agent)
        if data:
            self._on_data(data)

    def _send_outgoing(self) -> None:
        while self._outgoing:
            data = send(self._pipes.to_agent, self._outgoing, len(self._outgoing))
            if not data:
                return
            if self.on_sent is not None:
                self.on_sent(data)

    def close(self) -> None:
        self._selector.close()
        self._pipes.close()


def send(end: socket.socket, outgoing: bytearray, max_bytes: int) -> bytes:
    """Send the beginning of `outgoing`, remove it from there, and return it.

    Return b"" if the other end must read first. ConnectionClosed if it is closed.
    """
    try:
        with memoryview(outgoing) as queued, queued[:max_bytes] as beginning:
            sent = end.send(beginning)
    except BlockingIOError:
        return b""
    except OSError:
        raise ConnectionClosed from None
    data = bytes(outgoing[:sent])
    del outgoing[:sent]
    return data


def receive(end: socket.socket) -> bytes:
    """Return the received bytes; b"" if there are none. ConnectionClosed if the other end is closed."""
    try:
        data = end.recv(CHUNK_BYTES)
    except BlockingIOError:
        return b""
    except OSError:
        raise ConnectionClosed from None
    if not data:
        raise ConnectionClosed
    return data
