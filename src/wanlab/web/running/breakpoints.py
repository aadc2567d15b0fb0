"""Breakpoints pause virtual time: "queue > 1 MB", "first loss", "10 s".

A time is reached exactly. Queues and losses are checked every millisecond of virtual time, and time
pauses at the first check that finds the condition true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from wanlab.errors import WanlabError
from wanlab.measure.queue_lengths import QueueReading
from wanlab.units import format_size, parse_size, parse_time

LOOK_NS = 1_000_000
MAX_BREAKPOINTS = 20
EXAMPLES = '"queue > 1 MB", "queue of s1-eth2 > 100 KB", "first loss", "loss at s1-eth2" or "10 s"'

_QUEUE = re.compile(r"queue(?:\s+(?:of|at)\s+(?P<port>\S+))?\s*>=?\s*(?P<size>\S.*)", re.IGNORECASE)
_LOSS = re.compile(r"(?:first\s+)?(?:loss|drop)(?:\s+(?:of|at)\s+(?P<port>\S+))?", re.IGNORECASE)


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint at a time, above a queue length, or at a loss; `port` is "" for any port."""

    text: str
    time_ns: int | None = None
    queue_bytes: int | None = None
    port: str = ""

    @property
    def reads_queues(self) -> bool:
        """Whether queues must be read to check the breakpoint."""
        return self.time_ns is None


def parse_breakpoint(text: str) -> Breakpoint:
    """Parse a breakpoint that a user has typed; WanlabError if the text is not a breakpoint."""
    words = " ".join(text.split())
    if match := _QUEUE.fullmatch(words):
        size = parse_size(match["size"].replace(" ", ""))
        return Breakpoint(words, queue_bytes=size, port=match["port"] or "")
    if match := _LOSS.fullmatch(words):
        return Breakpoint(words, port=match["port"] or "")
    try:
        time_ns = parse_time(words.lower().removeprefix("at ").replace(" ", ""))
    except WanlabError:
        raise WanlabError(
            f'"{text}" is not a condition for a breakpoint', f"write for example {EXAMPLES}"
        ) from None
    return Breakpoint(words, time_ns=time_ns)


class Breakpoints:
    """The breakpoints that are set. Losses count from the instant at which one is set."""

    def __init__(self) -> None:
        self._set: dict[str, Breakpoint] = {}
        self._drops: dict[str, dict[str, int]] = {}
        """The drops of each port when a breakpoint was set, by the breakpoint's text."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the breakpoints."""
        return tuple(self._set)

    def add(self, breakpoint_: Breakpoint, queues: Mapping[str, QueueReading]) -> None:
        """Set a breakpoint; `queues` is the state of the queues at this instant."""
        if len(self._set) >= MAX_BREAKPOINTS and breakpoint_.text not in self._set:
            raise WanlabError(
                f"there are already {MAX_BREAKPOINTS} breakpoints", "remove one first"
            )
        self._set[breakpoint_.text] = breakpoint_
        self._drops[breakpoint_.text] = {name: it.drops for name, it in queues.items()}

    def remove(self, text: str) -> None:
        """Remove a breakpoint, if it is set."""
        self._set.pop(" ".join(text.split()), None)

    @property
    def reads_queues(self) -> bool:
        """Whether queues must be read to check any breakpoint."""
        return any(one.reads_queues for one in self._set.values())

    def limit_ns(self, now_ns: int) -> int | None:
        """Return how long time may pass until the next check; None if nothing limits it."""
        limits = [
            one.time_ns - now_ns
            for one in self._set.values()
            if one.time_ns is not None and one.time_ns > now_ns
        ]
        if self.reads_queues:
            limits.append(LOOK_NS)
        return min(limits, default=None)

    def reached(self, before_ns: int, now_ns: int, queues: Mapping[str, QueueReading]) -> str:
        """Return why time is to be paused now, or "". A breakpoint that was reached is removed."""
        for one in list(self._set.values()):
            if why := self._why(one, before_ns, now_ns, queues):
                self.remove(one.text)
                return why
        return ""

    def _why(
        self, one: Breakpoint, before_ns: int, now_ns: int, queues: Mapping[str, QueueReading]
    ) -> str:
        if one.time_ns is not None:
            return one.text if before_ns < one.time_ns <= now_ns else ""
        watched = {name: it for name, it in queues.items() if one.port in ("", name)}
        if one.queue_bytes is not None:
            for name, queue in watched.items():
                if queue.backlog_bytes > one.queue_bytes:
                    return (
                        f"{one.text}: the queue of {name} holds {format_size(queue.backlog_bytes)}"
                    )
            return ""
        known = self._drops[one.text]
        for name, queue in watched.items():
            if queue.drops > known.get(name, 0):
                count = queue.drops - known.get(name, 0)
                return f"{one.text}: {name} has dropped {count} packet{'s' if count > 1 else ''}"
        return ""
