"""Waiting for an agent while the real clock runs by itself: anything may be said at any time."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .interruption import Interruption

CHUNK = 1 << 18
LOOK_REAL_S = 0.01
FOREVER_REAL_S = 3600.0
# epoll rounds up to whole milliseconds, and the kernel lets it be late by a thousandth of its time
# (`select_estimate_accuracy`): so it waits for nearly all of it, again and again, and sleeps the rest.
GRAIN_S = 0.002
MOMENT_REAL_S = 0.01
NEARLY = 0.99


class Lost(Exception):
    """One of the kernel's ends was closed: it has ended."""


@dataclass
class Pipes:
    """Our ends. `calendar` is None on the real clock."""

    calendar: socket.socket | None
    to_agent: socket.socket
    from_agent: socket.socket

    def close(self) -> None:
        for end in (self.calendar, self.to_agent, self.from_agent):
            if end is not None:
                end.close()


class RealLoop:
    """Listens while the real clock runs by itself."""

    def __init__(self, pipes: Pipes, hear_agent: Callable[[bytes], None]) -> None:
        self._pipes = pipes
        self._hear_agent = hear_agent
        self._to_say = bytearray()
        self._selector = selectors.DefaultSelector()
        pipes.from_agent.setblocking(False)
        pipes.to_agent.setblocking(False)
        self._selector.register(pipes.from_agent, selectors.EVENT_READ)
        self._interruption = Interruption()
        self._started = time.monotonic_ns()
        self.looks_often = False
        """Somebody outside may have something to say."""
        self.give_up_at_real_s: float | None = None

    @property
    def now_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def say(self, data: bytes) -> None:
        self._to_say += data

    def settle(self) -> None:
        """Time passes by itself here."""

    def is_settled(self) -> bool:
        """Listens a moment longer: what a program wrote to its terminal takes longer than its words."""
        give_up = time.monotonic() + MOMENT_REAL_S
        while (left_s := give_up - time.monotonic()) > 0 and self._selector.select(left_s):
            data = receive(self._pipes.from_agent)
            if data:
                self._hear_agent(data)
        return True

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        with self._interruption:
            self._run(until_ns, stop)

    def _run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        while not stop():
            self._speak()
            left_s = (until_ns - self.now_ns) / 1e9
            if self.give_up_at_real_s is not None:
                left_s = min(left_s, self.give_up_at_real_s - time.monotonic())
            if left_s <= 0:
                return
            if left_s < GRAIN_S:
                self._interruption.may_end(partial(time.sleep, left_s))
                return
            nearly_s = left_s * NEARLY - GRAIN_S / 2
            is_short = self._to_say or self.looks_often
            wait_s = min(nearly_s, LOOK_REAL_S if is_short else FOREVER_REAL_S)
            for _ in self._interruption.may_end(partial(self._selector.select, wait_s)):
                data = receive(self._pipes.from_agent)
                if data:
                    self._hear_agent(data)

    def _speak(self) -> None:
        while self._to_say:
            try:
                del self._to_say[: self._pipes.to_agent.send(self._to_say)]
            except BlockingIOError:
                return
            except OSError:
                raise Lost from None

    def close(self) -> None:
        self._selector.close()
        self._pipes.close()


def receive(end: socket.socket) -> bytes:
    """What has arrived; nothing is b"". Lost if the other end is closed."""
    try:
        data = end.recv(CHUNK)
    except BlockingIOError:
        return b""
    except OSError:
        raise Lost from None
    if not data:
        raise Lost
    return data
