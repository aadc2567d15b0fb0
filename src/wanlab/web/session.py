"""Run and Stop, and what may be done to a network while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from wanlab import Network, Process, Topology
from wanlab.errors import WanlabError
from wanlab.labs import prompt
from wanlab.labs.durations import parse_duration
from wanlab.measure.interfaces import Interface, interfaces
from wanlab.network import Connection

from . import commands, protocol
from .broadcast import Broadcast
from .document import network_links
from .model import ClockKind, Document, DrawnLink, End
from .pacer import Clock
from .protocol import LivePort
from .terminals import CLIENT, PROMPT, SHELL, Terminal, TerminalList
from .worker import NetworkWorker

LOOK_AT_PORTS_REAL_S = 1.0
LONGEST_STEP_NS = 3600 * 10**9
KILL = 9
FREE_WORDS = ("x", "y", "extra")


@dataclass(frozen=True)
class Plan:
    """What is to be run, and how: a document's own wishes, or a lesson's."""

    document: Document
    topology: Topology
    make: Callable[[], Network]
    home: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    move_in: Callable[[Network], None] = lambda network: None


class NetworkSession:
    """One network at a time."""

    def __init__(
        self,
        broadcast: Broadcast,
        error_body: Callable[[WanlabError], protocol.ErrorBody],
        show: Callable[[Path], str],
    ) -> None:
        self._broadcast = broadcast
        self._error_body = error_body
        self._show = show
        self.loop = asyncio.get_running_loop()
        self.terminals = TerminalList(self._tell_terminals)
        self.worker: NetworkWorker | None = None
        self.plan: Plan | None = None
        self.on_running: list[Callable[[Network], None]] = []
        """Called in the network's thread when it is there."""
        self.every: list[Callable[[Network], None]] = []
        """Called in the network's thread several times a second while time passes."""
        self.on_ending: list[Callable[[], None]] = []
        """Called in the loop when it has gone."""
        self._run = protocol.RunPush()
        self._clock = Clock()
        self._clock_kind: ClockKind = "virtual"
        self._names: dict[str, str] = {}
        self._looked_at_ports = 0.0
        self._busy: set[str] = set()
        self._stall_told = False

    # -- what it is now ---------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self._run.phase == "running"

    @property
    def is_stopped(self) -> bool:
        return self.worker is None

    def told(self) -> protocol.RunPush:
        return self._run

    def told_clock(self) -> protocol.ClockPush:
        clock = self._clock
        stalled = ""
        if self.worker is not None and self.worker.stalled_real_s > 3:
            stalled = "a program computes without a pause: time cannot pass. Ctrl-C ends it"
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
        if self.worker is None or not self.is_running:
            raise WanlabError("the network is not running", "press Run")
        return self.worker

    async def do(self, order: Callable[[Network], Any]) -> Any:
        """Has something done with the network."""
        return await asyncio.wrap_future(self.network_worker().submit(order))

    # -- run and stop -----------------------------------------------------------------------------

    def start(self, plan: Plan, *, is_paced: bool) -> None:
        if self.worker is not None:
            raise WanlabError("the network runs already")
        for terminal in self.terminals:
            self.terminals.close(terminal.name)
        self.plan = plan
        self._clock = Clock(is_paced=is_paced)
        self.worker = NetworkWorker(
            plan.make,
            on_running=self._is_there,
            on_ended=self._later(self._has_ended),
            on_clock=self._later(self._take_clock),
            every=self._look,
            is_paced=is_paced,
        )
        self._become(protocol.RunPush(phase="starting", progress="the machine boots"))
        self.worker.start()

    async def stop(self, *_: Any) -> None:
        worker = self.worker
        if worker is None:
            return
        self._become(msgspec.structs.replace(self._run, phase="stopping", progress=""))
        worker.end()
        while not await asyncio.to_thread(worker.join, 0.5):
            worker.end()

    def note_edit(self, document: Document) -> None:
        """Whether the running network is still what is drawn."""
        if self.plan is None or self.worker is None:
            return
        is_stale = meaning(document) != meaning(self.plan.document)
        if is_stale != self._run.is_stale:
            self._become(msgspec.structs.replace(self._run, is_stale=is_stale))

    def note_link(self, link: DrawnLink) -> None:
        """The running network has a link as it is now."""
        if self.plan is not None:
            document = self.plan.document
            links = tuple(link if it.id == link.id else it for it in document.links)
            known = msgspec.structs.replace(document, links=links)
            self.plan = replace(self.plan, document=known)

    def node_called(self, name: str) -> str:
        """The id of a node by the name that it was started under."""
        if self.plan is not None:
            for one in self.plan.document.nodes:
                if one.name == name:
                    return one.id
        raise WanlabError(f"there is no node {name} in the running network", "is another one open?")

    # -- in the network's thread ------------------------------------------------------------------

    def _later(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def in_loop(*arguments: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(call, *arguments)

        return in_loop

    def _is_there(self, network: Network) -> None:
        assert self.plan is not None
        self.plan.move_in(network)
        network.host_service["open"] = self._take_open
        network.host_service["terminal"] = self._take_terminal
        for call in self.on_running:
            call(network)
        found = interfaces(network)
        self._later(self._now_runs)((network, found))

    def _look(self, network: Network) -> None:
        for call in self.every:
            call(network)
        ended = [one for one in self.terminals if one.process and not one.process.is_running]
        for terminal in ended:
            assert terminal.process is not None
            self.loop.call_soon_threadsafe(terminal.end, terminal.process.status)
        if (worker := self.worker) is not None:
            alive = [(one.name, one.process) for one in self.terminals if one.process is not None]
            busy = {name for name, process in alive if worker.is_busy(process)}
            if busy != self._busy:
                self._busy = busy
                self._later(self._take_busy)(busy)
        if time.monotonic() - self._looked_at_ports > LOOK_AT_PORTS_REAL_S:
            self._looked_at_ports = time.monotonic()
            self._later(self._take_ports)(interfaces(network))

    def _take_busy(self, busy: set[str]) -> None:
        for terminal in self.terminals:
            terminal.is_busy = terminal.name in busy
        self._tell_terminals()

    def _take_open(self, connection: Connection) -> None:
        """`xdg-open FILE` in a terminal."""
        why = self._show(Path(str(connection.request.get("path", ""))))
        connection.answer({"opened": not why} | ({"why": why} if why else {}))

    def _take_terminal(self, connection: Connection) -> None:
        """`xterm h1` at the prompt: a terminal of the browser's."""
        command = connection.request.get("command")
        title = str(connection.request.get("title", "terminal"))
        if not isinstance(command, list) or not command:
            connection.answer({"error": "a terminal needs a command"})
            return
        words = [str(word) for word in command]
        folder = connection.request.get("folder")

        def open_it(_: Any) -> None:
            with contextlib.suppress(WanlabError):
                self._open(CLIENT, title, words, (24, 80), folder=str(folder) if folder else None)

        self._later(open_it)(None)
        connection.answer({"opened": True})

    # -- in the loop ------------------------------------------------------------------------------

    def _become(self, run: protocol.RunPush) -> None:
        self._run = run
        self._broadcast.tell(run)

    def _now_runs(self, told: tuple[Network, dict[tuple[str, str], Interface]]) -> None:
        network, found = told
        if self.plan is None or self.worker is None or self._run.phase != "starting":
            return
        self._clock_kind = network.clock
        self._names = {node.id: node.name for node in self.plan.document.nodes}
        self._become(
            protocol.RunPush(
                phase="running",
                ports=tuple(self._as_found(it, found) for it in self._live_ports(network)),
                warnings=tuple(network.warnings),
            )
        )
        self._broadcast.tell(self.told_clock())

    def _live_ports(self, network: Network) -> Iterable[LivePort]:
        assert self.plan is not None
        drawn = network_links(self.plan.document)
        for link, live in zip(drawn, network.topology.links, strict=True):
            yield LivePort(link.id, "a", link.a, str(live.a.name))
            yield LivePort(link.id, "b", link.b, str(live.b.name))

    def _take_ports(self, found: dict[tuple[str, str], Interface]) -> None:
        if not self.is_running:
            return
        ports = tuple(self._as_found(port, found) for port in self._run.ports)
        if ports != self._run.ports:
            self._become(msgspec.structs.replace(self._run, ports=ports))

    def _as_found(self, port: LivePort, found: dict[tuple[str, str], Interface]) -> LivePort:
        one = found.get((self._names[port.node], port.name))
        if one is None:
            return msgspec.structs.replace(port, mac="", addresses=(), is_up=False)
        return msgspec.structs.replace(port, mac=one.mac, addresses=one.addresses, is_up=one.is_up)

    def _take_clock(self, clock: Clock) -> None:
        self._clock = clock
        self._broadcast.tell(self.told_clock())

    def _has_ended(self, died: BaseException | None) -> None:
        self.worker = None
        self.terminals.end_all()
        for call in self.on_ending:
            call()
        if died is None:
            self._become(protocol.RunPush())
        else:
            error = died if isinstance(died, WanlabError) else WanlabError(f"{died!r}")
            self._become(protocol.RunPush(phase="failed", error=self._error_body(error)))
        self._clock = replace(self._clock, is_moving=False, speed=0.0)
        self._broadcast.tell(self.told_clock())

    def tell_if_stuck(self) -> None:
        """Called now and then: a program that computes without a pause is told of."""
        is_stuck = bool(self.told_clock().stalled)
        if is_stuck != self._stall_told:
            self._stall_told = is_stuck
            self._broadcast.tell(self.told_clock())

    # -- terminals --------------------------------------------------------------------------------

    def _tell_terminals(self) -> None:
        self._broadcast.tell(self.terminals.told())

    async def open_terminal(
        self, command: commands.OpenTerminalCommand, by: str = ""
    ) -> protocol.OpenedTerminal:
        size = (_within(command.rows, 2, 500), _within(command.columns, 10, 1000))
        words = ["/bin/bash", "-c", command.command] if command.command else list(SHELL)
        title = command.node
        if command.node == PROMPT:
            words, title = list(prompt.COMMAND), "mininet"
        elif command.node != CLIENT:
            title = self._name_of(command.node)
        self.network_worker()
        terminal, started = self._open(command.node, title, words, size)
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
        words: list[str],
        size: tuple[int, int],
        *,
        folder: str | None = None,
    ) -> tuple[Terminal, Future[None]]:
        worker, plan = self.network_worker(), self.plan
        assert plan is not None
        terminal = self.terminals.new(node, title)
        environment = {**plan.environment, **({"PWD": plan.home} if plan.home else {})}

        def begin(network: Network) -> None:
            place = network.root if node in (CLIENT, PROMPT) else network[title]
            terminal.begin(
                worker,
                place.start,
                words,
                size=size,
                folder=folder or plan.home,
                environment=environment,
            )

        return terminal, worker.submit(begin)

    def _name_of(self, node: str) -> str:
        """The name that a node of the document was started under."""
        assert self.plan is not None
        for one in self.plan.document.nodes:
            if one.id == node:
                if one.kind == "controller":
                    raise WanlabError(f"{one.name} is a controller", "it has no terminal")
                return one.name
        raise WanlabError("that is not in the running network", "stop and run again")

    async def close_terminal(self, command: commands.CloseTerminalCommand, by: str = "") -> None:
        process = self.terminals.close(command.terminal)
        if process is not None and self.worker is not None:
            with contextlib.suppress(WanlabError):
                await self.do(lambda network: _hang_up(process))

    def type(self, command: commands.TypeCommand, by: str = "") -> None:
        self.keys(self.terminals[command.terminal], command.text.encode())

    def keys(self, terminal: Terminal, data: bytes) -> None:
        """What somebody types. Ctrl-C reaches also what computes without a pause."""
        if terminal.process is None or self.worker is None:
            return
        if b"\x03" in data and self.worker.stalled_real_s > 1:
            self.worker.end_stalled_process()
        self.worker.send_keys(terminal.process, data)

    def resize(self, terminal: Terminal, rows: int, columns: int) -> None:
        process = terminal.process
        if process is None or self.worker is None:
            return
        size = (_within(rows, 2, 500), _within(columns, 10, 1000))

        def order(network: Network) -> None:
            if process.is_running:
                process.resize(*size)

        self.worker.submit(order)
        self.worker.send_keys(process, b"")  # what it draws anew takes a moment

    # -- the clock --------------------------------------------------------------------------------

    async def set_pace(self, command: commands.PaceCommand, by: str = "") -> None:
        worker = self.network_worker()
        await self.do(lambda network: worker.set_pace(network, is_paced=command.pace == "real"))

    async def pause(self, command: commands.PauseCommand, by: str = "") -> None:
        worker = self.network_worker()
        await self.do(lambda network: worker.pause(network, is_paused=command.paused))

    async def step(self, command: commands.StepCommand, by: str = "") -> None:
        worker, duration_ns = self.network_worker(), parse_duration(command.duration)
        if not 0 < duration_ns <= LONGEST_STEP_NS:
            raise WanlabError(f"{command.duration} is no step", 'as in "100ms"')
        await self.do(lambda network: worker.step(network, duration_ns))

    # -- links ------------------------------------------------------------------------------------

    def ports_of(self, link: str) -> tuple[str, str]:
        """Names of a running link's two ports."""
        names = [port.name for port in self._run.ports if port.link == link]
        if len(names) != 2:
            raise WanlabError("that link is not in the running network", "stop and run again")
        return names[0], names[1]

    async def link_up(self, command: commands.LinkUpCommand, by: str = "") -> None:
        ports = self.ports_of(command.link)

        def order(network: Network) -> dict[tuple[str, str], Interface]:
            for port in ports:
                network.set_port_up(port, command.up)
            return interfaces(network)

        found = await self.do(order)
        down = {*self._run.links_down} - {command.link}
        down |= set() if command.up else {command.link}
        self._become(
            msgspec.structs.replace(
                self._run,
                links_down=tuple(sorted(down)),
                ports=tuple(self._as_found(port, found) for port in self._run.ports),
            )
        )

    async def set_link(self, link: str, words: Mapping[End, dict[str, Any]]) -> None:
        """Conditions of a running link: by end, the words as they shall be."""
        ends = dict(zip("ab", self.ports_of(link), strict=True))

        def order(network: Network) -> None:
            for end, said in words.items():
                network.set_port(ends[end], **said)

        await self.do(order)


def meaning(document: Document) -> tuple[object, ...]:
    """What a document means to a network: not where things stand."""
    nodes = tuple((node.id, node.kind, node.name, _meant(node.options)) for node in document.nodes)
    links = tuple(
        (link.id, link.a, link.b, link.options, link.a_options, link.b_options)
        for link in document.links
    )
    kept = document.preferences
    return nodes, links, kept.ip_base, kept.clock, kept.wire, kept.seed, kept.application


def _meant(options: dict[str, Any]) -> dict[str, Any]:
    return {word: value for word, value in options.items() if word not in FREE_WORDS}


def _hang_up(process: Process) -> None:
    if process.is_running:
        process.signal(KILL)


def _within(number: int, least: int, most: int) -> int:
    return min(max(number, least), most)
