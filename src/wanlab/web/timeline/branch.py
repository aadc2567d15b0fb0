"""One branch of the session: everything that was recorded from its start to its last instant.

A branch is live while its network runs. One that is not live can be looked at as before, and its
session can be replayed to go on from any of its instants.
"""

from __future__ import annotations

import bisect
import itertools
import threading
import zlib
from dataclasses import dataclass, field

from ..protocol.branches import BranchInfo
from ..protocol.model import DrawnLink
from ..running.run_plan import RunPlan
from .curve_memory import CurveMemory
from .session_events import EventLog, SessionEvent
from .transcripts import TerminalRecord

MAX_CHANGED = 3
"""The number of a branch's changes that are named."""


class CostCurve:
    """How long computing the session has taken so far, by instants."""

    def __init__(self, boot_real_s: float = 0.0) -> None:
        self.boot_real_s = boot_real_s
        """The time that the start of a machine takes."""
        self._points: list[tuple[int, float]] = [(0, 0.0)]
        self._lock = threading.Lock()

    def note(self, now_ns: int, computed_real_s: float) -> None:
        """Note how long computing has taken up to an instant; called often."""
        with self._lock:
            if now_ns > self._points[-1][0]:
                self._points.append((now_ns, computed_real_s))

    def at(self, time_ns: int) -> float:
        """Return how long computing the session up to an instant took, without the machine's start."""
        with self._lock:
            row = bisect.bisect_right(self._points, time_ns, key=lambda point: point[0])
            before_ns, before_s = self._points[row - 1]
            if row == len(self._points):
                return before_s
            after_ns, after_s = self._points[row]
        return before_s + (after_s - before_s) * (time_ns - before_ns) / (after_ns - before_ns)

    def of_replay(self, time_ns: int) -> float:
        """Return how long a replay up to an instant is expected to take in a new machine."""
        return self.boot_real_s + self.at(time_ns)

    def until(self, time_ns: int) -> CostCurve:
        """Return the costs up to an instant."""
        earlier = CostCurve(self.boot_real_s)
        with self._lock:
            earlier._points = [point for point in self._points if point[0] <= time_ns]
        return earlier


@dataclass
class Branch:
    """A branch of the session.

    plan       as the network was started or, since then, changed
    left_ns    when it has left its parent
    end_ns     its last instant, once it is not live any more
    folder     the copy of the working folder that it works in; "" if that is the working folder
    """

    id: str
    name: str
    plan: RunPlan
    parent: str | None = None
    left_ns: int = 0
    end_ns: int = 0
    folder: str = ""
    events: EventLog = field(default_factory=EventLog)
    terminals: dict[str, TerminalRecord] = field(default_factory=dict)
    memory: CurveMemory = field(default_factory=CurveMemory)
    costs: CostCurve = field(default_factory=CostCurve)
    first_number: int = 1
    """The number of the first event that is not its parent's."""
    _packed_session: bytes = b""

    def keep_session(self, content: bytes) -> None:
        """Keep the session file of the branch's network, which ends."""
        self._packed_session = zlib.compress(content, 1)

    def session_content(self) -> bytes:
        """Return the session file; b"" if none was recorded, or while the branch is live."""
        return zlib.decompress(self._packed_session) if self._packed_session else b""

    def info(self) -> BranchInfo:
        """Return the branch as browsers receive it."""
        return BranchInfo(
            id=self.id,
            name=self.name,
            parent=self.parent,
            left_ns=self.left_ns,
            end_ns=self.end_ns,
            changed=self._changed(),
            folder=self.folder,
        )

    def _changed(self) -> str:
        """Name the first change since the branch left its parent."""
        if self.parent is None:
            return ""
        done = [
            event
            for event in self.events.all()
            if event.number >= self.first_number
            and event.text
            and event.kind in ("command", "link", "port")
        ]
        words = [_words(event) for event in itertools.islice(done, MAX_CHANGED)]
        return "; ".join([*words, "…"] if len(done) > MAX_CHANGED else words)

    def until(self, time_ns: int, id_: str, name: str) -> Branch:
        """Return the branch that leaves this one at an instant."""
        events = self.events.until(time_ns)
        return Branch(
            id_,
            name,
            self.plan_at(time_ns),
            parent=self.id,
            left_ns=time_ns,
            end_ns=time_ns,
            events=events,
            terminals={
                name: record.until(time_ns)
                for name, record in self.terminals.items()
                if record.is_open_at(time_ns)
            },
            memory=self.memory.until(time_ns / 1e9),
            costs=self.costs.until(time_ns),
            first_number=events.next_number,
        )

    def plan_at(self, time_ns: int) -> RunPlan:
        """Return the plan with all links as they were at an instant."""
        plan = self.plan
        later: dict[str, DrawnLink] = {}
        for event in self.events.all():
            if event.at_ns > time_ns and event.before is not None:
                later.setdefault(event.before.id, event.before)
        for link in later.values():
            plan = plan.with_link(link)
        return plan

    def links_down_at(self, time_ns: int) -> tuple[str, ...]:
        """Return the ids of the links that were unplugged at an instant."""
        down: set[str] = set()
        for event in self.events.all():
            if event.at_ns <= time_ns and event.up is not None:
                (down.discard if event.up else down.add)(event.link)
        return tuple(sorted(down))


def _words(event: SessionEvent) -> str:
    return f"{event.where}: {event.text}" if event.kind == "command" else event.text
