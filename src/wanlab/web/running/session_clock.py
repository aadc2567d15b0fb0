"""The clock of the running network: how fast its time passes, and what browsers know of it.

`pacer.Pacer` decides when time passes, in the network's thread; this is what the server's event loop
knows of it, and the commands that change it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.labs.durations import parse_duration

from ..broadcast import Broadcast
from ..protocol import commands, messages
from ..protocol.model import ClockKind
from .pacer import Clock, Tempo
from .worker import NetworkWorker

MAX_STEP_NS = 3600 * 10**9
STALLED_REAL_S = 3
MIN_SPEED, MAX_SPEED = 0.0001, 1000.0
STALLED = (
    "Virtual time has not advanced for several seconds. Either a program is in a loop without system "
    "calls (Ctrl-C in its terminal ends it), or this computer is busy with other work."
)


class SessionClock:
    """The clock of the running network; the object is reused for the next network.

    current_worker   returns the worker of the network that starts, runs or ends; None if there is none
    running_worker   returns the worker; WanlabError if the network is not running
    """

    def __init__(
        self,
        broadcast: Broadcast,
        current_worker: Callable[[], NetworkWorker | None],
        running_worker: Callable[[], NetworkWorker],
    ) -> None:
        self._broadcast = broadcast
        self._current_worker = current_worker
        self._running_worker = running_worker
        self._clock = Clock()
        self._was_stalled = False
        self.kind: ClockKind = "virtual"

    @property
    def now_ns(self) -> int:
        """The network's time, as browsers know it."""
        return self._clock.now_ns

    @property
    def tempo(self) -> Tempo:
        """The tempo, which also holds for the next network."""
        return self._clock.tempo

    def snapshot(self) -> messages.ClockPush:
        """Return the state of the clock."""
        clock, worker = self._clock, self._current_worker()
        is_stalled = worker is not None and worker.stalled_real_s > STALLED_REAL_S
        return messages.ClockPush(
            now_ns=clock.now_ns,
            speed=clock.speed,
            pace="real" if clock.tempo.is_paced else "fast",
            wanted_speed=clock.tempo.speed,
            runs_always=clock.tempo.runs_always,
            is_paused=clock.is_paused,
            is_moving=clock.is_moving,
            clock=self.kind,
            stalled=STALLED if is_stalled else "",
        )

    def push(self) -> None:
        """Send the state of the clock to all browsers."""
        self._broadcast.push(self.snapshot())

    def reset(self, *, is_paced: bool) -> None:
        """Begin at 0, for a network that starts; its time passes at the normal speed."""
        self._clock = Clock(tempo=replace(self.tempo, is_paced=is_paced, speed=1.0))

    def set(self, clock: Clock) -> None:
        """Take over the state that the network's thread reports."""
        self._clock = clock
        self.push()

    def stop(self) -> None:
        """Note that the network has ended."""
        self._clock = replace(self._clock, is_moving=False, speed=0.0)
        self.push()

    def check_stall(self) -> None:
        """Send browsers a message if time stops passing although it should, or passes again."""
        is_stalled = bool(self.snapshot().stalled)
        if is_stalled != self._was_stalled:
            self._was_stalled = is_stalled
            self.push()

    # -- commands ---------------------------------------------------------------------------------

    async def set_pace(self, command: commands.PaceCommand, by: str = "") -> None:
        """Change the pace of virtual time."""
        if not MIN_SPEED <= command.speed <= MAX_SPEED:
            hint = f"choose a speed from x{MIN_SPEED} to x{MAX_SPEED:g}"
            raise WanlabError(f"cannot run at x{command.speed}", hint)
        is_paced = command.pace == "real"
        await self._call(
            lambda worker, network: worker.set_pace(network, is_paced=is_paced, speed=command.speed)
        )

    async def let_run(self, command: commands.LetRunCommand, by: str = "") -> None:
        """Let virtual time pass always, or only while a command runs."""
        await self._call(lambda worker, network: worker.let_run(network, always=command.always))

    async def pause(self, command: commands.PauseCommand, by: str = "") -> None:
        """Pause virtual time, or resume it."""
        await self._call(lambda worker, network: worker.pause(network, is_paused=command.paused))

    async def hold(self) -> None:
        """Pause virtual time."""
        await self._call(lambda worker, network: worker.pause(network, is_paused=True))

    async def step(self, command: commands.StepCommand, by: str = "") -> None:
        """Let some virtual time pass, then pause."""
        duration_ns = parse_duration(command.duration)
        if not 0 < duration_ns <= MAX_STEP_NS:
            hint = "a step must be longer than 0 and at most an hour"
            raise WanlabError(f"cannot step {command.duration}", hint)
        await self._call(lambda worker, network: worker.step(network, duration_ns))

    async def _call(self, change: Callable[[NetworkWorker, Network], None]) -> None:
        """Perform a change in the network's thread."""
        worker = self._running_worker()
        await asyncio.wrap_future(worker.submit(lambda network: change(worker, network)))
