"""The running part of a network: its machine, its clock, its timers, and calls to its agent.

Nodes and processes need this and nothing else of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wanlab.errors import CommandError
from wanlab.machine import AgentFailure, Machine
from wanlab.operations import Operation
from wanlab.units import FOREVER_NS, parse_time

from .options import NetworkOptions
from .timers import Timer, Timers

TimeListener = Callable[[int, int | None], None]
"""Called with the network's time in ns and, if it is known, the time at which waiting ends."""


class Runtime:
    """Exists before the machine does, so that nodes can be looked up before a network is
    started."""

    def __init__(self, options: NetworkOptions) -> None:
        self.options = options
        self.on_time: TimeListener | None = None
        self.epoch_ns = 0
        """When the network's clock shows 0, on the machine's clock."""
        self._machine: Machine | None = None
        self._timers = Timers()
        self._pace_speeds: dict[str, float] = {}

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
            self._machine.close()
            self._machine = None

    def pace_to_real(self, wanted: bool, reason: str, speed: float = 1.0) -> None:
        """Keep virtual time from running ahead of the real clock as long as there is a reason to.

        Of several speeds (in network seconds per real second) the lowest one counts.
        """
        if wanted:
            self._pace_speeds[reason] = speed
        else:
            self._pace_speeds.pop(reason, None)
        if self._machine is not None:
            speeds = self._pace_speeds.values()
            self._machine.pace_to_real(bool(speeds), min(speeds, default=1.0))

    # -- time -------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Time on the network's clock."""
        return self.machine.now_ns - self.epoch_ns

    def run_until(self, time_ns: int) -> None:
        """Let time pass until the network's clock shows `time_ns`; return at once if it already
        does."""
        if time_ns > self.now_ns:
            self._pass_time(time_ns + self.epoch_ns, lambda: False)

    def run_until_condition(
        self, condition: Callable[[], bool], limit_ns: int | None = None
    ) -> None:
        """Let time pass until `condition()` is true, but at most for `limit_ns`.

        `condition` is called again whenever a process has written something.
        """
        until_ns = FOREVER_NS if limit_ns is None else self.machine.now_ns + limit_ns
        self._pass_time(until_ns, condition)

    def after(self, delay: str | int, action: Callable[[], object]) -> Timer:
        """Call `action` after `delay` of network time."""
        return self._timers.add(self.machine.now_ns + parse_time(delay), action)

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

    def perform(self, operations: Sequence[Operation]) -> None:
        """Perform operations in order. CommandError names the one that failed and shows its
        commands."""
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
