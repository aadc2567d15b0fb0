"""Terminals of the running network: what their programs say is kept here, for all browsers that look.

A program says no more than WINDOW_BYTES beyond what some browser has shown; then it waits, as it would
before a slow terminal. So one that talks without end neither fills our memory nor keeps others from
being heard. Nobody looks: it talks on, and the last of it is kept.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator

from wanlab import Network, Process
from wanlab.errors import WanlabError, did_you_mean

from . import protocol
from .worker import NetworkWorker

WINDOW_BYTES = 64 << 10
SCROLLBACK_BYTES = 512 << 10
ROOM_PIECE_BYTES = 16 << 10
MOST_BEHIND_BYTES = 4 << 20
MOST_TERMINALS = 100
CLIENT, PROMPT = "client", "prompt"
HANG_UP = 1
SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")


class Viewer:
    """A browser's view of one terminal: what it has not been sent yet."""

    def __init__(self, beginning: bytes) -> None:
        self.is_behind = False
        self.acknowledged_bytes = 0
        self._waiting = bytearray(beginning)
        self._has_some = asyncio.Event()
        self._has_ended = False

    def tell(self, data: bytes) -> None:
        if len(self._waiting) + len(data) > MOST_BEHIND_BYTES:
            self.is_behind = True
            self._waiting.clear()
        else:
            self._waiting += data
        self._has_some.set()

    def end(self) -> None:
        self._has_ended = True
        self._has_some.set()

    async def next(self, most: int) -> bytes:
        """What comes next; b"" if there will be nothing more."""
        while not self._waiting and not self._has_ended and not self.is_behind:
            self._has_some.clear()
            await self._has_some.wait()
        piece = bytes(self._waiting[:most])
        del self._waiting[:most]
        return piece


class Terminal:
    """One of them. `begin` and `hear` are called in the network's thread, the rest in the loop."""

    def __init__(self, name: str, node: str, title: str, changed: Callable[[], None]) -> None:
        self.name = name
        self.node = node
        self.title = title
        self.process: Process | None = None
        self.status: int | None = None
        self.is_busy = False
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._heard = bytearray()
        self._scrollback = bytearray()
        self._viewers: list[Viewer] = []
        self._received = 0
        self._room_given = 0
        self._has_shown: Callable[[int], None] | None = None

    def told(self) -> protocol.TerminalInfo:
        return protocol.TerminalInfo(self.name, self.node, self.title, self.status, self.is_busy)

    # -- in the network's thread ------------------------------------------------------------------

    def begin(
        self,
        worker: NetworkWorker,
        start: Callable[..., Process],
        command: list[str],
        *,
        size: tuple[int, int],
        folder: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        """Starts its program. Browsers hear of the terminal when there is one to type to."""

        def hear(data: bytes) -> None:
            worker.note_output(data)
            self.hear(data)

        process = start(
            command,
            terminal=size,
            folder=folder,
            environment={"PS1": f"{self.title}:\\W\\$ ", **(environment or {})},
            on_output=hear,
            room=WINDOW_BYTES,
        )

        def give_room(network: Network, more: int) -> None:
            if process.is_running:
                process.give_room(more)

        def has_shown(more: int) -> None:
            worker.submit(lambda network: give_room(network, more))

        self.process = process
        self._has_shown = has_shown
        worker.follow(process)
        self._loop.call_soon_threadsafe(self._changed)

    def hear(self, data: bytes) -> None:
        with self._lock:
            is_first = not self._heard
            self._heard += data
        if is_first:
            self._loop.call_soon_threadsafe(self._take)

    # -- in the loop ------------------------------------------------------------------------------

    def _take(self) -> None:
        with self._lock:
            data, self._heard = bytes(self._heard), bytearray()
        self._received += len(data)
        self._scrollback += data
        if len(self._scrollback) > SCROLLBACK_BYTES:
            cut = len(self._scrollback) - SCROLLBACK_BYTES // 2
            line = self._scrollback.find(b"\n", cut)
            del self._scrollback[: line + 1 if line >= 0 else cut]
        for viewer in self._viewers:
            viewer.tell(data)
        self._look_for_room()

    def look(self) -> Viewer:
        """Somebody looks from now on; first at what there was."""
        viewer = Viewer(bytes(self._scrollback))
        # What it is sent first has been paid for.
        viewer.acknowledged_bytes = self._received - len(self._scrollback)
        self._viewers.append(viewer)
        if self.status is not None:
            viewer.end()
        return viewer

    def leave(self, viewer: Viewer) -> None:
        self._viewers.remove(viewer)
        self._look_for_room()

    def acknowledge(self, viewer: Viewer, shown: int) -> None:
        """So many bytes more have been shown there."""
        shown = min(max(shown, 0), WINDOW_BYTES + SCROLLBACK_BYTES)
        viewer.acknowledged_bytes = min(viewer.acknowledged_bytes + shown, self._received)
        self._look_for_room()

    def _look_for_room(self) -> None:
        """The program may go on as far as the fastest viewer."""
        views = [it.acknowledged_bytes for it in self._viewers if not it.is_behind]
        shown = max(views, default=self._received)
        more = shown - self._room_given
        if more >= ROOM_PIECE_BYTES and self.status is None and self._has_shown is not None:
            self._room_given = shown
            self._has_shown(more)

    def end(self, status: int | None) -> None:
        """Its program has ended."""
        if self.status is not None:
            return
        self._take()
        self.status = status if status is not None else -HANG_UP
        self.is_busy = False
        for viewer in self._viewers:
            viewer.end()
        self._changed()


class TerminalList:
    """All that are open. They end with the network."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: dict[str, Terminal] = {}
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Terminal]:
        return iter(list(self._open.values()))

    def __getitem__(self, name: str) -> Terminal:
        try:
            return self._open[name]
        except KeyError:
            hint = did_you_mean(name, self._open)
            raise WanlabError(f"there is no terminal {name}", hint) from None

    def told(self) -> protocol.TerminalsPush:
        begun = [one for one in self if one.process is not None]
        return protocol.TerminalsPush(terminals=tuple(one.told() for one in begun))

    def new(self, node: str, title: str) -> Terminal:
        if len(self._open) >= MOST_TERMINALS:
            raise WanlabError(f"{MOST_TERMINALS} terminals are open", "close some of them")
        terminal = Terminal(f"t{next(self._numbers)}", node, title, self._changed)
        self._open[terminal.name] = terminal
        return terminal

    def close(self, name: str) -> Process | None:
        """Takes it away; its program, if that still runs."""
        terminal = self[name]
        del self._open[name]
        process = terminal.process if terminal.status is None else None
        terminal.end(None)
        self._changed()
        return process

    def end_all(self) -> None:
        """Their network has gone. What they showed can still be read until they are closed."""
        for terminal in self:
            terminal.end(None)
