"""The running network: start and stop, terminals, clock, and changes of its links.

Commands arrive in the server's event loop; the network lives in the thread of a NetworkWorker.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from wanlab import Network, Process, Topology
from wanlab.errors import WanlabError
from wanlab.labs import prompt
from wanlab.labs.durations import parse_duration
from wanlab.measure.interfaces import Interface, interfaces
from wanlab.network import Connection
from wanlab.topology import ConditionWords

from . import commands, protocol
from .broadcast import Broadcast
from .document import network_links
from .model import ClockKind, Document, DrawnLink, End, Options
from .pacer import Clock
from .protocol import LivePort
from .terminals import CLIENT, PROMPT, SHELL, Terminal, TerminalList
from .worker import NetworkWorker

CHECK_PORTS_REAL_S = 1.0
MAX_STEP_NS = 3600 * 10**9
STALLED_REAL_S = 3
INTERRUPT_REAL_S = 1
SIGKILL = 9
COSMETIC_OPTIONS = ("x", "y", "extra")

Result = TypeVar("Result")
Argument = TypeVar("Argument")
Interfaces = dict[tuple[str, str], Interface]
"""By the names of node and port."""


@dataclass(frozen=True)
class RunPlan:
    """What to run and how, from the document's preferences or from a lesson.

    make      returns the network, not yet started
    home      the working directory of terminals, if not that of the machine
    prepare   called with the network once it has started, in its thread
    """

    document: Document
    topology: Topology
    make: Callable[[], Network]
    home: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Network], None] = lambda network: None


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
        self.terminals = TerminalList(self._push_terminals)
        self.worker: NetworkWorker | None = None
        self.plan: RunPlan | None = None
        self.on_running: list[Callable[[Network], None]] = []
        """Called in the network's thread when it has started."""
        self.every: list[Callable[[Network], None]] = []
        """Called in the network's thread several times a second while time passes."""
        self.on_ending: list[Callable[[], None]] = []
        """Called in the loop when the network is gone."""
        self._run = protocol.RunPush()
        self._clock = Clock()
        self._clock_kind: ClockKind = "virtual"
        self._names: dict[str, str] = {}
        self._checked_ports_real_s = 0.0
        self._busy_terminals: set[str] = set()
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
            pace="real" if clock.is_paced else "fast",
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

    async def call(self, call: Callable[[Network], Result]) -> Result:
        """Carry out a call in the network's thread and return its result."""
        return await asyncio.wrap_future(self.network_worker().submit(call))

    # -- run and stop -----------------------------------------------------------------------------

    def start(self, plan: RunPlan, *, is_paced: bool) -> None:
        """Begin to start a network; the run's phase tells when it has started."""
        if self.worker is not None:
            raise WanlabError("a network is running already")
        for terminal in self.terminals:
            self.terminals.close(terminal.name)
        self.plan = plan
        self._clock = Clock(is_paced=is_paced)
        self.worker = NetworkWorker(
            plan.make,
            on_running=self._begin,
            on_ended=self._in_loop(self._end),
            on_clock=self._in_loop(self._set_clock),
            every=self._collect,
            is_paced=is_paced,
        )
        self._set_run(protocol.RunPush(phase="starting", progress="booting"))
        self.worker.start()

    async def stop(self, *_: object) -> None:
        """End the network and wait until it is gone."""
        worker = self.worker
        if worker is None:
            return
        self._set_run(msgspec.structs.replace(self._run, phase="stopping", progress=""))
        worker.end()
        while not await asyncio.to_thread(worker.join, 0.5):
            worker.end()

    def note_edit(self, document: Document) -> None:
        """Note in the run's state whether the running network still is what is drawn."""
        if self.plan is None or self.worker is None:
            return
        is_stale = meaning(document) != meaning(self.plan.document)
        if is_stale != self._run.is_stale:
            self._set_run(msgspec.structs.replace(self._run, is_stale=is_stale))

    def note_link(self, link: DrawnLink) -> None:
        """Note that the running network has a link as it is drawn now."""
        if self.plan is not None:
            document = self.plan.document
            links = tuple(link if old.id == link.id else old for old in document.links)
            changed = msgspec.structs.replace(document, links=links)
            self.plan = replace(self.plan, document=changed)

    def node_id(self, name: str) -> str:
        """Return the id of the node that was started with this name."""
        if self.plan is not None:
            for node in self.plan.document.nodes:
                if node.name == name:
                    return node.id
        raise WanlabError(f"the running network has no node {name}", "is another document open?")

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
        network.host_service["terminal"] = self._open_terminal_of
        for call in self.on_running:
            call(network)
        self._in_loop(self._set_running)((network, interfaces(network)))

    def _collect(self, network: Network) -> None:
        """Tell browsers what has changed: ended programs, busy terminals, addresses."""
        for call in self.every:
            call(network)
        ended = [
            terminal
            for terminal in self.terminals
            if terminal.process and not terminal.process.is_running
        ]
        for terminal in ended:
            assert terminal.process is not None
            self.loop.call_soon_threadsafe(terminal.end, terminal.process.status)
        if (worker := self.worker) is not None:
            busy = {
                terminal.name
                for terminal in self.terminals
                if terminal.process is not None and worker.is_busy(terminal.process)
            }
            if busy != self._busy_terminals:
                self._busy_terminals = busy
                self._in_loop(self._set_busy_terminals)(busy)
        if time.monotonic() - self._checked_ports_real_s > CHECK_PORTS_REAL_S:
            self._checked_ports_real_s = time.monotonic()
            self._in_loop(self._set_ports)(interfaces(network))

    def _set_busy_terminals(self, busy: set[str]) -> None:
        for terminal in self.terminals:
            terminal.is_busy = terminal.name in busy
        self._push_terminals()

    def _open_file(self, connection: Connection) -> None:
        """Serve `xdg-open FILE`: show a file in the browser."""
        reason = self._show_file(Path(str(connection.request.get("path", ""))))
        connection.answer({"opened": not reason} | ({"why": reason} if reason else {}))

    def _open_terminal_of(self, connection: Connection) -> None:
        """Serve `xterm h1` at the prompt: open a terminal in the browser."""
        command = connection.request.get("command")
        title = str(connection.request.get("title", "terminal"))
        if not isinstance(command, list) or not command:
            connection.answer({"error": "a terminal needs a command"})
            return
        argv = [str(word) for word in command]
        folder = connection.request.get("folder")

        def open_terminal(_: None) -> None:
            with contextlib.suppress(WanlabError):
                self._open(CLIENT, title, argv, (24, 80), folder=str(folder) if folder else None)

        self._in_loop(open_terminal)(None)
        connection.answer({"opened": True})

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

    def _set_running(self, started: tuple[Network, Interfaces]) -> None:
        network, current = started
        if self.plan is None or self.worker is None or self._run.phase != "starting":
            return
        self._clock_kind = network.clock
        self._names = {node.id: node.name for node in self.plan.document.nodes}
        self._set_run(
            protocol.RunPush(
                phase="running",
                ports=tuple(
                    self._with_addresses(port, current) for port in self._live_ports(network)
                ),
                warnings=tuple(network.warnings),
            )
        )
        self._broadcast.push(self.clock_snapshot())

    def _live_ports(self, network: Network) -> Iterable[LivePort]:
        assert self.plan is not None
        drawn = network_links(self.plan.document)
        for link, live in zip(drawn, network.topology.links, strict=True):
            yield LivePort(link.id, "a", link.a, str(live.a.name))
            yield LivePort(link.id, "b", link.b, str(live.b.name))

    def _set_ports(self, current: Interfaces) -> None:
        if not self.is_running:
            return
        ports = tuple(self._with_addresses(port, current) for port in self._run.ports)
        if ports != self._run.ports:
            self._set_run(msgspec.structs.replace(self._run, ports=ports))

    def _with_addresses(self, port: LivePort, current: Interfaces) -> LivePort:
        interface = current.get((self._names[port.node], port.name))
        if interface is None:
            return msgspec.structs.replace(port, mac="", addresses=(), is_up=False)
        return msgspec.structs.replace(
            port, mac=interface.mac, addresses=interface.addresses, is_up=interface.is_up
        )

    def _set_clock(self, clock: Clock) -> None:
        self._clock = clock
        self._broadcast.push(self.clock_snapshot())

    def _end(self, cause: BaseException | None) -> None:
        self.worker = None
        self.terminals.end_all()
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

    # -- terminals --------------------------------------------------------------------------------

    def _push_terminals(self) -> None:
        self._broadcast.push(self.terminals.snapshot())

    async def open_terminal(
        self, command: commands.OpenTerminalCommand, by: str = ""
    ) -> protocol.OpenedTerminal:
        """Open a terminal and wait until its program has started."""
        size = (_clamped(command.rows, 2, 500), _clamped(command.columns, 10, 1000))
        argv = ["/bin/bash", "-c", command.command] if command.command else list(SHELL)
        title = command.node
        if command.node == PROMPT:
            argv, title = list(prompt.COMMAND), "mininet"
        elif command.node != CLIENT:
            title = self._name_of(command.node)
        self.network_worker()
        terminal, started = self._open(command.node, title, argv, size)
        try:
            await asyncio.wrap_future(started)
        except WanlabError:
            self.terminals.close(terminal.name)
            raise
        return protocol.OpenedTerminal(terminal.name)

    def _open(
        self,
        node: str,
        title: str,
        argv: list[str],
        size: tuple[int, int],
        *,
        folder: str | None = None,
    ) -> tuple[Terminal, Future[None]]:
        worker, plan = self.network_worker(), self.plan
        assert plan is not None
        terminal = self.terminals.new(node, title)
        environment = {**plan.environment, **({"PWD": plan.home} if plan.home else {})}

        def begin(network: Network) -> None:
            namespace = network.root if node in (CLIENT, PROMPT) else network[title]
            terminal.begin(
                worker,
                namespace.start,
                argv,
                size=size,
                folder=folder or plan.home,
                environment=environment,
            )

        return terminal, worker.submit(begin)

    def _name_of(self, node: str) -> str:
        """Return the name that a node of the document was started with."""
        assert self.plan is not None
        for drawn in self.plan.document.nodes:
            if drawn.id == node:
                if drawn.kind == "controller":
                    raise WanlabError(f"{drawn.name} is a controller; it has no terminal")
                return drawn.name
        raise WanlabError("this node is not in the running network", "stop it and run again")

    async def close_terminal(self, command: commands.CloseTerminalCommand, by: str = "") -> None:
        """Close a terminal and end its program."""
        process = self.terminals.close(command.terminal)
        if process is not None and self.worker is not None:
            with contextlib.suppress(WanlabError):
                await self.call(lambda network: _kill(process))

    def type(self, command: commands.TypeCommand, by: str = "") -> None:
        """Type a text into a terminal."""
        self.send_keys(self.terminals[command.terminal], command.text.encode())

    def send_keys(self, terminal: Terminal, data: bytes) -> None:
        """Pass on what is typed. Ctrl-C also ends a program that computes without a pause."""
        if terminal.process is None or self.worker is None:
            return
        if b"\x03" in data and self.worker.stalled_real_s > INTERRUPT_REAL_S:
            self.worker.end_stalled_process()
        self.worker.send_keys(terminal.process, data)

    def resize(self, terminal: Terminal, rows: int, columns: int) -> None:
        """Tell the program of a terminal its new size."""
        process = terminal.process
        if process is None or self.worker is None:
            return
        size = (_clamped(rows, 2, 500), _clamped(columns, 10, 1000))

        def resize(network: Network) -> None:
            if process.is_running:
                process.resize(*size)

        self.worker.submit(resize)
        self.worker.send_keys(process, b"")  # lets time pass, for the program to redraw

    # -- the clock --------------------------------------------------------------------------------

    async def set_pace(self, command: commands.PaceCommand, by: str = "") -> None:
        """Change the pace of virtual time."""
        worker = self.network_worker()
        await self.call(lambda network: worker.set_pace(network, is_paced=command.pace == "real"))

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
        names = [port.name for port in self._run.ports if port.link == link]
        if len(names) != 2:
            raise WanlabError("this link is not in the running network", "stop it and run again")
        return names[0], names[1]

    async def link_up(self, command: commands.LinkUpCommand, by: str = "") -> None:
        """Unplug a link of the running network, or plug it in again."""
        ports = self.port_names(command.link)

        def set_ports_up(network: Network) -> Interfaces:
            for port in ports:
                network.set_port_up(port, command.up)
            return interfaces(network)

        current = await self.call(set_ports_up)
        down = {*self._run.links_down} - {command.link}
        down |= set() if command.up else {command.link}
        self._set_run(
            msgspec.structs.replace(
                self._run,
                links_down=tuple(sorted(down)),
                ports=tuple(self._with_addresses(port, current) for port in self._run.ports),
            )
        )

    async def set_link(self, link: str, conditions: Mapping[End, Options]) -> None:
        """Change conditions of a running link. `conditions` are by end; None removes one."""
        ends = dict(zip("ab", self.port_names(link), strict=True))

        def set_ports(network: Network) -> None:
            for end, options in conditions.items():
                network.set_port(ends[end], **cast(ConditionWords, options))

        await self.call(set_ports)


def meaning(document: Document) -> tuple[object, ...]:
    """Return what of a document decides how its network behaves; positions do not."""
    nodes = tuple(
        (node.id, node.kind, node.name, _without_cosmetics(node.options)) for node in document.nodes
    )
    links = tuple(
        (link.id, link.a, link.b, link.options, link.a_options, link.b_options)
        for link in document.links
    )
    chosen = document.preferences
    settings = (chosen.ip_base, chosen.clock, chosen.wire, chosen.seed, chosen.application)
    return nodes, links, *settings


def _without_cosmetics(options: Options) -> Options:
    return {name: value for name, value in options.items() if name not in COSMETIC_OPTIONS}


def _kill(process: Process) -> None:
    if process.is_running:
        process.signal(SIGKILL)


def _clamped(number: int, minimum: int, maximum: int) -> int:
    return min(max(number, minimum), maximum)
