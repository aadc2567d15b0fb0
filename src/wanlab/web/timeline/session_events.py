"""The events of a session, for the timeline: commands, changes, drops, markers, pauses.

An event that lasts (a running command, a series of drops) is sent again under its number when more is
known of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Literal

import msgspec

from ..protocol.messages import LivePort
from ..protocol.model import DrawnLink
from ..protocol.push import Push

EventKind = Literal["command", "link", "port", "drop", "marker", "breakpoint"]
MAX_EVENTS = 20_000
"""The events kept of a branch; later ones are left out."""
DROPS_APART_NS = 500_000_000
"""Drops of one port that are closer together are one event."""


class SessionEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at an instant of the network's clock.

    command      a line was typed at `where`; `until_ns` and `status` once it has ended, and whether
                 Ctrl-C was typed before
    link         a link was changed on the page: as drawn `before` and `after`, or `up`
    port         a port was changed in the network, by tc or ip, from `port_before` to `port_after`
    drop         `count` packets were dropped at the port `where` until `until_ns`; 0 if the count
                 is not known
    marker       the user has marked an instant
    breakpoint   time was paused at a breakpoint
    """

    number: int = 0
    at_ns: int
    kind: EventKind
    text: str = ""
    """ "" for a change that another event explains."""
    until_ns: int | None = None
    where: str = ""
    terminal: str = ""
    count: int = 0
    status: int | None = None
    is_interrupted: bool = False
    before: DrawnLink | None = None
    after: DrawnLink | None = None
    up: bool | None = None
    link: str = ""
    """The id of the link that was changed."""
    port_before: LivePort | None = None
    port_after: LivePort | None = None


class SessionEventsPush(Push, frozen=True, tag="events"):
    """Events of a branch that are new or have changed."""

    branch: str
    events: tuple[SessionEvent, ...]


class EventLog:
    """The events of one branch, in the order of their numbers. Any thread may add to it."""

    def __init__(self, events: Iterable[SessionEvent] = ()) -> None:
        self._events = {event.number: event for event in events}
        self._changed: set[int] = set()
        self._drops: dict[str, int] = {}
        """The number of the last event of each port."""
        self._running = {
            event.terminal: event.number
            for event in self._events.values()
            if event.kind == "command" and event.until_ns is None
        }
        """The number of the running command in each terminal."""
        self._next = max(self._events, default=0) + 1
        self._lock = threading.Lock()

    @property
    def next_number(self) -> int:
        """The number of the next event."""
        return self._next

    def all(self) -> tuple[SessionEvent, ...]:
        """Return all events by their instants."""
        with self._lock:
            return tuple(sorted(self._events.values(), key=lambda event: event.at_ns))

    def add(self, event: SessionEvent) -> int | None:
        """Note an event; return its number, or None if there are too many."""
        with self._lock:
            return self._add(event)

    def _add(self, event: SessionEvent) -> int | None:
        if len(self._events) >= MAX_EVENTS:
            return None
        number, self._next = self._next, self._next + 1
        self._events[number] = msgspec.structs.replace(event, number=number)
        self._changed.add(number)
        if event.kind == "command":
            self._running[event.terminal] = number
        return number

    def end_command(
        self, terminal: str, until_ns: int, status: int | None, *, is_interrupted: bool = False
    ) -> None:
        """Note that the command that runs in a terminal has ended."""
        with self._lock:
            number = self._running.pop(terminal, None)
            if number is not None:
                event = self._events[number]
                self._events[number] = msgspec.structs.replace(
                    event, until_ns=until_ns, status=status, is_interrupted=is_interrupted
                )
                self._changed.add(number)

    def add_drops(self, port: str, at_ns: int, count: int) -> None:
        """Note that a port has dropped packets up to an instant."""
        with self._lock:
            number = self._drops.get(port)
            last = self._events.get(number) if number is not None else None
            if last is None or last.until_ns is None or at_ns - last.until_ns > DROPS_APART_NS:
                event = SessionEvent(
                    at_ns=at_ns, until_ns=at_ns, kind="drop", where=port, count=count
                )
                if (new := self._add(event)) is not None:
                    self._drops[port] = new
                return
            event = msgspec.structs.replace(last, until_ns=at_ns, count=last.count + count)
            self._events[last.number] = event
            self._changed.add(last.number)

    def take_changed(self) -> tuple[SessionEvent, ...]:
        """Return the events that are new or have changed since the last call."""
        with self._lock:
            changed, self._changed = sorted(self._changed), set()
            return tuple(self._events[number] for number in changed)

    def until(self, time_ns: int) -> EventLog:
        """Return a log of the events until an instant, as they were known then."""
        return EventLog(_until(event, time_ns) for event in self.all() if event.at_ns <= time_ns)


def _until(event: SessionEvent, time_ns: int) -> SessionEvent:
    """Return an event as it was known at an instant."""
    if event.until_ns is None or event.until_ns <= time_ns:
        return event
    if event.kind == "command":
        return msgspec.structs.replace(event, until_ns=None, status=None, is_interrupted=False)
    return msgspec.structs.replace(event, until_ns=time_ns, count=0)
