"""The running part of a network: its machine, its clock, its timers, and calls to its agent.

Nodes and processes need this and nothing else of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from wanlab.errors import CommandError
from wanlab.machine import AgentFailure, Listener, Machine
from wanlab.operations import Operation
from wanlab.units import FOREVER_NS, parse_time

from .options import NetworkOptions
from .timers import Timer, Timers

if TYPE_CHECKING:
    from .recording import NetworkRecording

PartListener = Callable[[int], None]
"""Called with the number of operations that have just been performed."""
PART = 500
TimeListener = Callable[[int, int | None], None]
"""Called with the network's time in ns and, if it is known, the time at which waiting ends."""


def parts(operations: Sequence[Operation], size: int) -> Iterator[Sequence[Operation]]:
    """Yield operations in parts of `size` or somewhat more.

    A part ends where the kind of operation changes: the agent runs some programs once for many
    operations of one kind in a row.
    """
    begin = 0
    for index, (before, operation) in enumerate(pairwise(operations), 1):
        if index - begin >= size and type(before) is not type(operation):
            yield operations[begin:index]
            begin = index
    yield operations[begin:]


class Runtime:
    """A network's machine, clock and timers.

    It exists before its machine, so that nodes can be looked up before the network is started.
    """

    def __init__(self, options: NetworkOptions) -> None:
        self.options = options
        self.on_time: TimeListener | None = None
        self.epoch_ns = 0
        """When the network's clock shows 0, on the machine's clock."""
        self._machine: Machine | None = None
        self._timers = Timers()
        self._pace_speeds: dict[str, float] = {}
        self.recording: NetworkRecording | None = None
        """Records the session; None if it is not recorded."""
        self.is_replaying = False
        """Whether processes repeat output that their handlers have received before."""
        self.processes: WeakValueDictionary[int, Listener] = WeakValueDictionary()
        """By the numbers under which the agent knows them."""
        self.failed: list[Listener] = []
        """Processes that nobody had looked at when they ended with an error."""

    # -- the machine ------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self._machine is not None

    @property
    def machine(self) -> Machine:
        """The machine; CommandError if the network is not running."""
        if self._machine is None:
            raise CommandError(
                "the network is not running", "use it inside `with Network(...) as net:`"
            )
        return self._machine

    def attach(self, machine: Machine) -> None:
        """Use this machine from now on."""
        assert self._machine is None, "the network has been started already"
        self._machine = machine

    def close(self) -> None:
        """End the machine and everything in it."""
        if self._machine is not None:
            if self.recording is not None:
                self.recording.end(self._machine)
                self.recording = None
            self._machine.close()
            self._machine = None

    def note(self, what: str, value: object = None) -> None:
        """Note something in the session, if it is recorded."""
        if self.recording is not None:
            self.recording.note(what, value)

    def pace_to_real(self, wanted: bool, reason: str, speed: float = 1.0) -> None:
        """Keep virtual time from running ahead of the real clock as long as there is a reason to.

        Of several speeds (in network seconds per real second) the lowest one counts.
        """
        if wanted:
            self._pace_speeds[reason] = speed
        else:
            self._pace_speeds.pop(reason, None)
        if self._machine is not None:
            self.pace_again()

    def pace_again(self) -> None:
        """Set the machine's pace to the lowest of the requested speeds."""
        speeds = self._pace_speeds.values()
        self.machine.pace_to_real(bool(speeds), min(speeds, default=1.0))

    # -- time -------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Time on the network's clock."""
        return self.machine.now_ns - self.epoch_ns

    def run_until(self, time_ns: int) -> None:
        """Let time pass until the network's clock shows `time_ns`; return at once if it already
        does."""
        if time_ns > self.now_ns:
            self.note("step", time_ns)
            self._pass_time(time_ns + self.epoch_ns, lambda: False)

    def run_until_condition(
        self, condition: Callable[[], bool], limit_ns: int | None = None
    ) -> None:
        """Let time pass until `condition()` is true, but at most for `limit_ns`.

        `condition` is called again whenever a process has written something.
        """
        until_ns = FOREVER_NS if limit_ns is None else self.machine.now_ns + limit_ns
        self._pass_time(until_ns, condition)

    def run_to_next_event(self, limit_ns: int) -> None:
        """Let time pass until the kernel's next event has happened, but at most for `limit_ns`."""
        limit_ns += self.machine.now_ns
        self._pass_time(min(self.machine.next_event_ns, limit_ns), lambda: False)

    def after(
        self, delay: str | int, action: Callable[[], object], *, is_users: bool = False
    ) -> Timer:
        """Call `action` after `delay` of virtual time. The user's timers are set again by a rewind."""
        now_ns = self.machine.now_ns
        return self._timers.add(
            now_ns + parse_time(delay),
            action,
            created_ns=now_ns,
            fires_again=is_users and self.recording is not None,
        )

    def rewind_timers(self, time_ns: int) -> None:
        """Set the user's timers as they were at `time_ns` of the machine's clock; drop the others."""
        self._timers.rewind(time_ns)

    def _pass_time(self, until_ns: int, condition: Callable[[], bool]) -> None:
        end_ns = None if until_ns == FOREVER_NS else until_ns - self.epoch_ns

        def is_over() -> bool:
            if self.on_time is not None:
                self.on_time(self.now_ns, end_ns)
            return condition()

        self._timers.pass_time(self.machine, until_ns, is_over)
        if self.on_time is not None:
            self.on_time(self.now_ns, self.now_ns)

    # -- calls to the agent -----------------------------------------------------------------------

    def perform(
        self, operations: Sequence[Operation], on_part: PartListener = lambda count: None
    ) -> None:
        """Perform operations in order. CommandError names the one that failed and shows its
        commands.

        A long list is performed in parts; `on_part` is called after each. No virtual time passes.
        """
        for part in parts(operations, PART):
            self._perform_part(part)
            on_part(len(part))

    def _perform_part(self, operations: Sequence[Operation]) -> None:
        try:
            self.machine.agent.perform(operation.request() for operation in operations)
        except AgentFailure as failure:
            if failure.index is None:
                raise
            failed = operations[failure.index]
            raise CommandError(
                f"{failed.describe()}: {failure.what}", output="\n".join(failed.commands())
            ) from None

    def read(self, sources: Sequence[Sequence[object]]) -> list[bytes]:
        """Read counters at this instant, one part for each source; see `agent/counters.py`."""
        data = self.machine.agent.read(sources)
        parts, position = [], 0
        while position < len(data):
            length = int.from_bytes(data[position : position + 4], "little")
            parts.append(data[position + 4 : position + 4 + length])
            position += 4 + length
        return parts
