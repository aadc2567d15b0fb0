"""The running network: start and stop, clock, and changes of its links.

Commands arrive in the server's event loop; the network lives in the thread of a NetworkWorker.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.labs.durations import parse_duration
from wanlab.network import Connection
from wanlab.topology import ConditionWords

from . import commands, protocol
from .broadcast import Broadcast
from .live_ports import LivePorts, PortReader, PortReadings
from .model import ClockKind, Document, DrawnLink, End, Options
from .node_terminals import NodeTerminals
from .pacer import Clock, Tempo
from .run_plan import RunPlan
from .worker import NetworkWorker

CHECK_PORTS_REAL_S = 1.0
MAX_STEP_NS = 3600 * 10**9
STALLED_REAL_S = 3
MIN_SPEED, MAX_SPEED = 0.0001, 1000.0

Result = TypeVar("Result")
Argument = TypeVar("Argument")


class NetworkSession:
    """Runs one network at a time.

    `show_file` is asked to show a file in the browser; it returns "" or why that is refused.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        error_body: Callable[[WanlabError], protocol.ErrorBody],
        show_file: Callable[[Path], str],
    ) -> None:
        self._broadcast = broadcast
        self._error_body = error_body
        self._show_file = show_file
        self.loop = asyncio.get_running_loop()
        self.terminals = NodeTerminals(
            self._running, lambda: broadcast.push(self.terminals.snapshot())
        )
        self.worker: NetworkWorker | None = None
        self.plan: RunPlan | None = None
        self.on_running: list[Callable[[Network], None]] = []
        """Called in the network's thread when it has started."""
        self.every: list[Callable[[Network], None]] = []
        """Called in the network's thread several times a second while time passes."""
        self.on_break: list[Callable[[str], None]] = []
        """Called in the network's thread when it was paused at a breakpoint, with the reason."""
        self.on_ending: list[Callable[[], None]] = []
        """Called in the loop when the network is gone."""
        self._run = protocol.RunPush()
        self._clock = Clock()
        self._clock_kind: ClockKind = "virtual"
        self._tempo = Tempo()
        self._ports: LivePorts | None = None
        self._port_reader: PortReader | None = None
        self._was_stalled = False
        self._has_settled = asyncio.Event()
        """Set unless the network is starting."""
        self._has_settled.set()

    # -- state ------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether the network runs."""
        return self._run.phase == "running"

    @property
    def is_stopped(self) -> bool:
        """Whether there is no network, not even one that is starting or stopping."""
        return self.worker is None

    @property
    def is_stale(self) -> bool:
        """Whether the running network is not the one that is drawn."""
        return self._run.is_stale

    def snapshot(self) -> protocol.RunPush:
        """Return the state of the run."""
        return self._run

    def clock_snapshot(self) -> protocol.ClockPush:
        """Return the state of the clock."""
        clock = self._clock
        stalled = ""
        if self.worker is not None and self.worker.stalled_real_s > STALLED_REAL_S:
            stalled = "time cannot pass: a program computes without a pause. Ctrl-C ends it"
        return protocol.ClockPush(
            now_ns=clock.now_ns,
            speed=clock.speed,
            pace="real" if clock.tempo.is_paced else "fast",
            wanted_speed=clock.tempo.speed,
            runs_always=clock.tempo.runs_always,
            is_paused=clock.is_paused,
            is_moving=clock.is_moving,
            clock=self._clock_kind,
            stalled=stalled,
        )

    def network_worker(self) -> NetworkWorker:
        """Return the worker. WanlabError if the network is not running."""
        if self.worker is None or not self.is_running:
            raise WanlabError("the network is not running", "press Run")
        return self.worker

    def _running(self) -> tuple[NetworkWorker, RunPlan]:
        worker = self.network_worker()
        assert self.plan is not None
        return worker, self.plan

    async def call(self, call: Callable[[Network], Result]) -> Result:
        """Carry out a call in the network's thread and return its result."""
        return await asyncio.wrap_future(self.network_worker().submit(call))

    # -- run and stop -----------------------------------------------------------------------------

    def start(self, plan: RunPlan, *, is_paced: bool) -> None:
        """Begin to start a network; the run's phase tells when it has started."""
        if self.worker is not None:
            raise WanlabError("a network is running already")
        self.terminals.close_all()
        self.plan = plan
        self._tempo = replace(self._tempo, is_paced=is_paced, speed=1.0)
        self._clock = Clock(tempo=self._tempo)
        self.worker = NetworkWorker(
            plan.make,
            on_running=self._begin,
            on_ended=self._in_loop(self._end),
            on_clock=self._in_loop(self._set_clock),
            every=self._collect,
            on_break=self._note_break,
            tempo=self._tempo,
        )
        self._set_run(protocol.RunPush(phase="starting", progress=self._starting_text()))
        self.worker.start()

    def _starting_text(self) -> str:
        assert self.plan is not None
        count = len(self.plan.topology.nodes)
        return f"starting {count} nodes" if count > 1 else "starting"

    async def stop(self, *_: object) -> None:
        """End the network and wait until it is gone."""
        worker = self.worker
        if worker is None:
            return
        self._set_run(msgspec.structs.replace(self._run, phase="stopping", progress=""))
        worker.end()
        while not await asyncio.to_thread(worker.join, 0.5):
            worker.end()

    async def stop_and_settle(self) -> None:
        """End the network, and wait until another one can be started."""
        await self.stop()
        while not self.is_stopped:
            await asyncio.sleep(0)

    def note_edit(self, document: Document) -> None:
        """Note in the run's state whether the running network still is what is drawn."""
        if self.plan is None or self.worker is None:
            return
        is_stale = self.plan.is_stale(document)
        if is_stale != self._run.is_stale:
            self._set_run(msgspec.structs.replace(self._run, is_stale=is_stale))

    def note_link(self, link: DrawnLink) -> None:
        """Note that the running network has a link as it is drawn now."""
        if self.plan is not None:
            self.plan = self.plan.with_link(link)

    def node_id(self, name: str) -> str:
        """Return the id of the node that was started with this name."""
        if self.plan is None:
            raise WanlabError("the network is not running", "press Run")
        return self.plan.node_id(name)

    # -- in the network's thread ------------------------------------------------------------------

    def _in_loop(self, call: Callable[[Argument], None]) -> Callable[[Argument], None]:
        """Return a function that has `call` called in the loop, and does not wait for it."""

        def schedule(argument: Argument) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(call, argument)

        return schedule

    def _begin(self, network: Network) -> None:
        assert self.plan is not None
        self.plan.prepare(network)
        network.host_service["open"] = self._open_file
        network.host_service["terminal"] = self.terminals.serve_request
        for call in self.on_running:
            call(network)
        self._port_reader = PortReader(network)
        readings = self._port_reader.read()
        ports = LivePorts(self.plan, network, readings)
        self._in_loop(self._set_running)((network, ports))

    def _collect(self, network: Network) -> None:
        """Tell browsers what has changed: ended programs, busy terminals, ports."""
        for call in self.every:
            call(network)
        if (worker := self.worker) is not None:
            self.terminals.check(worker)
        reader = self._port_reader
        if reader is not None and reader.is_due(CHECK_PORTS_REAL_S):
            self._in_loop(self._update_ports)(reader.read())

    def _note_break(self, why: str) -> None:
        for call in self.on_break:
            call(why)

    def _open_file(self, connection: Connection) -> None:
        """Serve `xdg-open FILE`: show a file in the browser."""
        reason = self._show_file(Path(str(connection.request.get("path", ""))))
        connection.answer({"opened": not reason} | ({"why": reason} if reason else {}))

    # -- in the loop ------------------------------------------------------------------------------

    async def wait_until_started(self) -> None:
        """Wait while the network is starting. WanlabError unless it runs then."""
        await self._has_settled.wait()
        self.network_worker()

    def _set_run(self, run: protocol.RunPush) -> None:
        if run.phase == "starting":
            self._has_settled.clear()
        else:
            self._has_settled.set()
        self._run = run
        self._broadcast.push(run)

    def _set_running(self, started: tuple[Network, LivePorts]) -> None:
        network, ports = started
        if self.plan is None or self.worker is None or self._run.phase != "starting":
            return
        self._clock_kind = network.clock
        self._ports = ports
        self._set_run(
            protocol.RunPush(phase="running", ports=ports.ports, warnings=tuple(network.warnings))
        )
        self._broadcast.push(self.clock_snapshot())

    def _update_ports(self, readings: PortReadings) -> None:
        if self.is_running and self._ports is not None and self._ports.update(readings):
            self._push_ports()

    def _push_ports(self) -> None:
        assert self._ports is not None
        self._set_run(msgspec.structs.replace(self._run, ports=self._ports.ports))

    def _set_clock(self, clock: Clock) -> None:
        self._clock, self._tempo = clock, clock.tempo
        self._broadcast.push(self.clock_snapshot())

    def _end(self, cause: BaseException | None) -> None:
        self.worker, self._ports, self._port_reader = None, None, None
        self.terminals.list.end_all()
        for call in self.on_ending:
            call()
        if cause is None:
            self._set_run(protocol.RunPush())
        else:
            error = (
                cause
                if isinstance(cause, WanlabError)
                else WanlabError(f"internal error: {cause!r}")
            )
            self._set_run(protocol.RunPush(phase="failed", error=self._error_body(error)))
        self._clock = replace(self._clock, is_moving=False, speed=0.0)
        self._broadcast.push(self.clock_snapshot())

    def check_stall(self) -> None:
        """Tell browsers if a program begins or ceases to keep time from passing."""
        is_stalled = bool(self.clock_snapshot().stalled)
        if is_stalled != self._was_stalled:
            self._was_stalled = is_stalled
            self._broadcast.push(self.clock_snapshot())

    # -- the clock --------------------------------------------------------------------------------

    async def set_pace(self, command: commands.PaceCommand, by: str = "") -> None:
        """Change the pace of virtual time."""
        if not MIN_SPEED <= command.speed <= MAX_SPEED:
            raise WanlabError(f"cannot run at x{command.speed}", f"x{MIN_SPEED} to x{MAX_SPEED:g}")
        worker, is_paced = self.network_worker(), command.pace == "real"
        await self.call(
            lambda network: worker.set_pace(network, is_paced=is_paced, speed=command.speed)
        )

    async def let_run(self, command: commands.LetRunCommand, by: str = "") -> None:
        """Let virtual time pass always, or only while a command runs."""
        worker = self.network_worker()
        await self.call(lambda network: worker.let_run(network, always=command.always))

    async def pause(self, command: commands.PauseCommand, by: str = "") -> None:
        """Pause virtual time, or resume it."""
        worker = self.network_worker()
        await self.call(lambda network: worker.pause(network, is_paused=command.paused))

    async def step(self, command: commands.StepCommand, by: str = "") -> None:
        """Let some virtual time pass, then pause."""
        worker, duration_ns = self.network_worker(), parse_duration(command.duration)
        if not 0 < duration_ns <= MAX_STEP_NS:
            raise WanlabError(f"cannot step {command.duration}", "more than 0, and an hour at most")
        await self.call(lambda network: worker.step(network, duration_ns))

    # -- links ------------------------------------------------------------------------------------

    def port_names(self, link: str) -> tuple[str, str]:
        """Return the names of the two ports of a running link."""
        self.network_worker()
        assert self._ports is not None
        return self._ports.names_of(link)

    def set_by_tc(self, link: str) -> dict[End, Options]:
        """Return by end what `tc` has set at a running link."""
        self.port_names(link)
        assert self._ports is not None
        return self._ports.set_by_tc(link)

    async def keep_tc(self, link: str) -> None:
        """Note that what `tc` has set at a link is drawn now."""
        readings = await self._change_ports(lambda network: None)
        assert self._ports is not None
        self._ports.set_drawn(self.port_names(link), readings)
        self._push_ports()

    async def _change_ports(self, change: Callable[[Network], None]) -> PortReadings:
        """Carry out a change, and return what the ports are then."""
        reader = self._port_reader

        def perform(network: Network) -> PortReadings:
            change(network)
            assert reader is not None
            return reader.read()

        return await self.call(perform)

    async def link_up(self, command: commands.LinkUpCommand, by: str = "") -> None:
        """Unplug a link of the running network, or plug it in again."""
        names = self.port_names(command.link)

        def set_ports_up(network: Network) -> None:
            for port in names:
                network.set_port_up(port, command.up)

        readings = await self._change_ports(set_ports_up)
        down = {*self._run.links_down} - {command.link}
        down |= set() if command.up else {command.link}
        self._run = msgspec.structs.replace(self._run, links_down=tuple(sorted(down)))
        assert self._ports is not None
        self._ports.update(readings)
        self._push_ports()

    async def set_link(self, link: str, conditions: Mapping[End, Options]) -> None:
        """Change conditions of a running link. `conditions` are by end; None removes one."""
        ends = dict(zip("ab", self.port_names(link), strict=True))

        def set_ports(network: Network) -> None:
            for end, options in conditions.items():
                network.set_port(ends[end], **cast(ConditionWords, options))

        readings = await self._change_ports(set_ports)
        assert self._ports is not None
        self._ports.set_drawn([ends[end] for end in conditions], readings)
        self._push_ports()
