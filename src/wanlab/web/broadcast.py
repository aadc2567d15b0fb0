"""The browsers that look on: what is pushed goes to all of them, in order, to each at its own speed."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque

import msgspec

from .commands import WatchedSeries
from .protocol import CommandRefusal, CommandReply, Push, SamplesPush

MOST_WAITING = 2000


class Browser:
    """One of them. Its messages wait here until its connection takes them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.series: tuple[WatchedSeries, ...] = ()
        """What it watches."""
        self.interval_ms = 100
        self.is_lost = False
        """It has not kept up; it may come again."""
        self._waiting: deque[bytes] = deque()
        self._has_some = asyncio.Event()

    def tell(self, message: Push | CommandReply | CommandRefusal) -> None:
        self.tell_text(msgspec.json.encode(message), may_be_lost=isinstance(message, SamplesPush))

    def tell_text(self, text: bytes, *, may_be_lost: bool = False) -> None:
        if len(self._waiting) >= MOST_WAITING:
            if may_be_lost:
                return
            self.is_lost = True
        self._waiting.append(text)
        self._has_some.set()

    async def next(self) -> bytes:
        """The next message for it; waits until there is one."""
        while not self._waiting:
            self._has_some.clear()
            await self._has_some.wait()
        return self._waiting.popleft()


class Broadcast:
    """All of them."""

    def __init__(self) -> None:
        self.browsers: list[Browser] = []
        self._numbers = itertools.count(1)

    def welcome(self) -> Browser:
        browser = Browser(f"b{next(self._numbers)}")
        self.browsers.append(browser)
        return browser

    def leave(self, browser: Browser) -> None:
        self.browsers.remove(browser)

    def tell(self, message: Push) -> None:
        text = msgspec.json.encode(message)
        may_be_lost = isinstance(message, SamplesPush)
        for browser in self.browsers:
            browser.tell_text(text, may_be_lost=may_be_lost)
