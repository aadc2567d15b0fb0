"""The browsers that are connected. A push goes to all of them, in order, to each at its own speed."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque

import msgspec

from .protocol.commands import WatchedSeries
from .protocol.messages import CommandRefusal, CommandReply, SamplesPush
from .protocol.push import Push

MAX_QUEUED_MESSAGES = 2000


class Browser:
    """A browser, with the messages that its connection has not sent yet."""

    def __init__(self, name: str, *, looks: bool = False) -> None:
        self.name = name
        self.looks = looks
        """Whether it is the teacher's, who looks at a student's laboratory and changes nothing."""
        self.series: tuple[WatchedSeries, ...] = ()
        """The quantities that the browser draws."""
        self.is_lost = False
        """Whether the browser has fallen too far behind; it may connect again."""
        self._queue: deque[bytes] = deque()
        self._is_filled = asyncio.Event()

    def send(self, message: Push | CommandReply | CommandRefusal) -> None:
        """Queue a message."""
        self.send_encoded(
            msgspec.json.encode(message), is_droppable=isinstance(message, SamplesPush)
        )

    def send_encoded(self, text: bytes, *, is_droppable: bool = False) -> None:
        """Queue an encoded message. If the queue is full, drop the message or disconnect the browser."""
        if len(self._queue) >= MAX_QUEUED_MESSAGES:
            if is_droppable:
                return
            self.is_lost = True
        self._queue.append(text)
        self._is_filled.set()

    async def next_message(self) -> bytes:
        """Wait for the next message and take it from the queue."""
        while not self._queue:
            self._is_filled.clear()
            await self._is_filled.wait()
        return self._queue.popleft()


class Broadcast:
    """Sends messages to browsers that they have not asked for."""

    def __init__(self) -> None:
        self.browsers: list[Browser] = []
        self._numbers = itertools.count(1)

    @property
    def is_looked_at(self) -> bool:
        """Whether the teacher looks."""
        return any(browser.looks for browser in self.browsers)

    def connect(self, *, looks: bool = False) -> Browser:
        """Add a browser."""
        browser = Browser(f"b{next(self._numbers)}", looks=looks)
        self.browsers.append(browser)
        return browser

    def disconnect(self, browser: Browser) -> None:
        """Remove a browser."""
        self.browsers.remove(browser)

    def push(self, message: Push) -> None:
        """Send a message to all browsers."""
        text = msgspec.json.encode(message)
        is_droppable = isinstance(message, SamplesPush)
        for browser in self.browsers:
            browser.send_encoded(text, is_droppable=is_droppable)
