"""The running network: how it starts and stops, and what it is connected to meanwhile.

Commands arrive in the server's event loop; the network lives in the thread of a NetworkWorker.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.measure import lost_packets
from wanlab.network import Connection

from ..broadcast import Broadcast
from ..protocol import messages
from ..protocol.model import Document
from ..terminals.node_terminals import NodeTerminals
from ..terminals.terminals import Terminal
from ..timeline.branch import Branch
from ..timeline.session_notes import SessionNotes
from ..timeline.transcripts import TerminalRecord
from .live_ports import LivePorts, PortReadings
from .pacer import Clock
from .run_plan import RunPlan
from .session_clock import SessionClock
from .session_links import SessionLinks
from .worker import INTERNAL_ERROR_HINT, NetworkWorker

MANY_OPERATIONS = 1000
"""A plan with this many operations takes seconds to perform."""
INSIST_REAL_S = 0.5
"""After this time, `NetworkWorker.end` is called again; in the end it kills the machine."""

Result = TypeVar("Result")
Argument = TypeVar("Argument")


class NetworkSession:
    """Runs one network at a time.

    `show_file` is asked to show a file in the browser; it returns "" or why that is refused.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        error_body: Callable[[WanlabError], messages.ErrorBody],
        show_file: Callable[[Path], str],
    ) -> None:
        self._broadcast = broadcast
        self._error_body = error_body
        self._show_file = show_file
        self.loop = asyncio.get_running_loop()
        self.terminals = NodeTerminals(
            self._running, lambda: broadcast.push(self.terminals.snapshot())
        )
        self.terminals.opens_requested = lambda: not self.is_playing_back
        self.notes = SessionNotes(broadcast)
        self.terminals.on_open = self.notes.note_terminal
        self.terminals.list.on_command.append(self.notes.note_command)
        self.worker: NetworkWorker | None = None
        self.is_changing_branch = False
        """Whether the network of another branch is taking over."""
        self.is_playing_back = False
        """Whether the network repeats what happened in another branch, or is about to."""
        self.on_running: list[Callable[[Network], None]] = []
        """Called in the network's thread when it has started."""
        self.on_tick: list[Callable[[Network], None]] = []
        """Called in the network's thread several times a second while time passes."""
        self.on_break: list[Callable[[str], None]] = []
        """Called in the network's thread when it was paused at a breakpoint, with the reason."""
        self.on_ending: list[Callable[[], None]] = []
        """Called in the loop when the network is gone."""
        self._run = messages.RunPush()
        self._lost_packets: tuple[str, ...] = ()
        """Where the network that has ended lost packets, in sentences."""
        self.clock = SessionClock(broadcast, lambda: self.worker, self.network_worker)
        self.links = SessionLinks(self.notes, self.in_network, self._show_ports, self.in_loop)
        self._is_not_starting = asyncio.Event()
        """Set unless the network is starting; also before the first start and after the end."""
        self._is_not_starting.set()

    # -- state ------------------------------------------------------------------------------------

    @property
    def branch(self) -> Branch | None:
        """The branch that the running network records, or that the last one has recorded."""
        return self.notes.branch

    @property
    def plan(self) -> RunPlan | None:
        """The plan of the branch; None before the first network."""
        return self.branch.plan if self.branch is not None else None

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

    def snapshot(self) -> messages.RunPush:
        """Return the state of the run."""
        return self._run

    def network_worker(self) -> NetworkWorker:
        """Return the worker. WanlabError if the network is not running."""
        if self.worker is None or not self.is_running:
            raise WanlabError("the network is not running", "press Run")
        return self.worker

    def _running(self) -> tuple[NetworkWorker, RunPlan]:
        worker = self.network_worker()
        assert self.plan is not None
        return worker, self.plan

    async def in_network(self, function: Callable[[Network], Result]) -> Result:
        """Call `function` in the network's thread and return its result."""
        return await asyncio.wrap_future(self.network_worker().submit(function))

    # -- run and stop -----------------------------------------------------------------------------

    def start(self, branch: Branch, *, is_paced: bool) -> None:
        """Begin to start a network; the run's phase tells when it has started."""
        if self.worker is not None:
            raise WanlabError("a network is already running", "stop it first")
        self.terminals.close_all()
        self.notes.branch = branch
        self.clock.reset(is_paced=is_paced)
        began_real_s = time.monotonic()

        def on_running(network: Network) -> None:
            branch.costs.boot_real_s = time.monotonic() - began_real_s
            branch.plan.prepare(network)
            ports = self._connect_network(network)
            self._scheduled(partial(self._set_running, network))(ports)

        self.worker = self._new_worker(branch, branch.plan.make, on_running, self._note_ended)
        self._set_run(messages.RunPush(phase="starting", progress=self._starting_text()))
        self.worker.start()

    def _new_worker(
        self,
        branch: Branch,
        make: Callable[[], Network],
        on_running: Callable[[Network], None],
        on_ended: Callable[[BaseException | None], None],
    ) -> NetworkWorker:
        """Return a worker that calls `on_running` in its own thread, and `on_ended` in the loop."""
        return NetworkWorker(
            make,
            on_running=on_running,
            on_ended=self._scheduled(on_ended),
            on_clock=self._scheduled(partial(self._set_clock_of, branch)),
            every=self._collect,
            on_building=self._note_building,
            on_break=self._note_break,
            on_leaving=lambda network: self._leave(network, branch),
            tempo=self.clock.tempo,
        )

    def _starting_text(self) -> str:
        assert self.plan is not None
        count = len(self.plan.topology.nodes)
        return f"starting {count:,} nodes" if count > 1 else "starting"

    async def recorded_so_far(self) -> bytes:
        """Return the session file of the running network once all of its events are noted."""

        def record(network: Network) -> bytes:
            self._notify_tick(network)
            return network.session.content()

        return await self.in_network(record)

    def replaying_worker(
        self, branch: Branch, make: Callable[[], Network]
    ) -> tuple[NetworkWorker, Future[Network]]:
        """Start a network that replays a branch; return the worker, and a future of the network.

        Its time stands still until `continue_with` takes it over.
        """
        replayed: Future[Network] = Future()

        def on_running(network: Network) -> None:
            worker.hold()
            replayed.set_result(network)

        def on_ended(cause: BaseException | None) -> None:
            if not replayed.done():
                replayed.set_exception(cause or WanlabError("the replay was ended"))
            elif worker is self.worker:  # `continue_with` has continued with it
                self._note_ended(cause)

        worker = self._new_worker(branch, make, on_running, on_ended)
        worker.start()
        return worker, replayed

    async def continue_with(self, worker: NetworkWorker, branch: Branch) -> None:
        """Continue with the network of another branch, which has been replayed."""
        self.is_changing_branch = True
        try:
            await self._end_current_network()
            self.worker, self.notes.branch = worker, branch
            records = list(branch.terminals.values())
            terminals = self.terminals.list.made_for(records)
            take_over = partial(self._take_over, worker, terminals, records)
            network, ports = await asyncio.wrap_future(worker.submit(take_over))
        finally:
            self.is_changing_branch = False
        down = branch.links_down_at(branch.end_ns)
        self.links.begin(ports, down)
        self.terminals.list.replace_all(terminals)
        self.clock.kind = network.clock
        self._set_run(_run_after_replay(network, ports, down))
        if not self.is_playing_back:  # it is paused until the playback begins
            await self.clock.hold()

    async def _end_current_network(self) -> None:
        """End the network, if there is one, so that another one can take its place."""
        if (old := self.worker) is None:
            return
        await _end_and_join(old)
        # The thread has scheduled `_note_ended` in this loop, and that has yet to be called.
        while self.worker is old:
            await asyncio.sleep(0)

    async def stop(self, *_: object) -> None:
        """End the network and wait until it is gone."""
        worker = self.worker
        if worker is None:
            return
        self._set_run(msgspec.structs.replace(self._run, phase="stopping", progress=""))
        await _end_and_join(worker)

    async def stop_completely(self) -> None:
        """End the network, and wait until another one can be started."""
        await self.stop()
        # The thread has scheduled `_note_ended` in this loop, and that has yet to be called.
        while not self.is_stopped:
            await asyncio.sleep(0)

    def note_edit(self, document: Document) -> None:
        """Note in the run's state whether the running network still matches the drawing."""
        if self.plan is None or self.worker is None:
            return
        is_stale = self.plan.is_stale(document)
        if is_stale != self._run.is_stale:
            self._set_run(msgspec.structs.replace(self._run, is_stale=is_stale))

    def node_id(self, name: str) -> str:
        """Return the id of the node that was started with this name."""
        if self.plan is None:
            raise WanlabError("the network is not running", "press Run")
        return self.plan.node_id(name)

    # -- from the network's thread to the loop ----------------------------------------------------

    def in_loop(self, call: Callable[[], object]) -> None:
        """Schedule a call in the loop, from the network's thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(call)

    def _scheduled(self, call: Callable[[Argument], None]) -> Callable[[Argument], None]:
        """Return a function that schedules `call` in the loop and does not wait for it."""

        def schedule(argument: Argument) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(call, argument)

        return schedule

    # -- in the network's thread ------------------------------------------------------------------

    def _connect_network(self, network: Network) -> LivePorts:
        """Connect a network that has started to the session, and call the `on_running` listeners.

        Returns its ports, for `links.begin`.
        """
        assert self.branch is not None
        self.notes.begin(network, self.branch)
        network.host_service["open"] = self._open_file
        network.host_service["terminal"] = self.terminals.serve_request
        for listener in self.on_running:
            listener(network)
        return self.links.read_all(network, self.branch)

    def _take_over(
        self,
        worker: NetworkWorker,
        terminals: Sequence[Terminal],
        records: Sequence[TerminalRecord],
        network: Network,
    ) -> tuple[Network, LivePorts]:
        """Connect a replayed network, and continue its programs in new terminals.

        `records` describe these terminals, in the same order. Returns the network and its ports.
        """
        network.session.end_measurements()
        for terminal, record in zip(terminals, records, strict=True):
            record.process = network.session.twin(record.process)
            terminal.go_on(worker, network, record)
        ports = self._connect_network(network)
        network.session.deliver_open_requests()
        return network, ports

    def _leave(self, network: Network, branch: Branch) -> None:
        """Keep the recording of a network that ends, and where it lost packets."""
        self._lost_packets = tuple(lost_packets.summary(network))
        branch.end_ns = network.now_ns
        branch.keep_session(network.session.content())

    def _collect(self, network: Network) -> None:
        """Tell browsers about changes: ended programs, busy terminals, ports."""
        self.notes.note_cost(network)
        self._notify_tick(network)
        if (worker := self.worker) is not None:
            self.terminals.check(worker)
        if (readings := self.links.read_if_due()) is not None:
            self._scheduled(self._update_ports)(readings)

    def _notify_tick(self, network: Network) -> None:
        for listener in self.on_tick:
            listener(network)

    def _note_building(self, done: int, of: int) -> None:
        if of >= MANY_OPERATIONS:
            text = f"{self._starting_text()} ({100 * done // of} %)"
            self._scheduled(self._set_progress)(text)

    def _note_break(self, why: str) -> None:
        self.notes.note_break(why)
        for listener in self.on_break:
            listener(why)

    def _open_file(self, connection: Connection) -> None:
        """Serve `xdg-open FILE`: show a file in the browser."""
        reason = self._show_file(Path(str(connection.request.get("path", ""))))
        connection.answer({"opened": not reason} | ({"why": reason} if reason else {}))

    # -- in the loop ------------------------------------------------------------------------------

    async def wait_until_started(self) -> None:
        """Wait while the network is starting. WanlabError unless it runs then."""
        await self._is_not_starting.wait()
        self.network_worker()

    def _set_run(self, run: messages.RunPush) -> None:
        if run.phase == "starting":
            self._is_not_starting.clear()
        else:
            self._is_not_starting.set()
        self._run = run
        self._broadcast.push(run)

    def _set_running(self, network: Network, ports: LivePorts) -> None:
        if self.plan is None or self.worker is None or self._run.phase != "starting":
            return
        self.clock.kind = network.clock
        self.links.begin(ports)
        self._set_run(
            messages.RunPush(phase="running", ports=ports.ports, warnings=tuple(network.warnings))
        )
        self.clock.push()

    def _set_progress(self, text: str) -> None:
        if self._run.phase == "starting":
            self._set_run(msgspec.structs.replace(self._run, progress=text))

    def _update_ports(self, readings: PortReadings) -> None:
        if not self.is_running:
            return
        self.links.update(readings)
        shown = self._run.warnings
        if new := tuple(one for one in readings.warnings if one not in shown):
            self._set_run(msgspec.structs.replace(self._run, warnings=(*shown, *new)))

    def _show_ports(self, ports: tuple[messages.LivePort, ...], down: tuple[str, ...]) -> None:
        self._set_run(msgspec.structs.replace(self._run, ports=ports, links_down=down))

    def _set_clock_of(self, branch: Branch, clock: Clock) -> None:
        if branch is self.branch:
            self.clock.set(clock)
            self.notes.push()

    def _note_ended(self, cause: BaseException | None) -> None:
        """Forget the network, which is gone; `cause` is the error that ended it.

        The worker's thread schedules this in the loop as its last act. While the branch changes,
        another network follows at once: then the run's state and the terminals stay as they are.
        """
        self.worker = None
        self.links.end()
        if not self.is_changing_branch:
            self.terminals.list.end_all()
        for listener in self.on_ending:
            listener()
        if self.is_changing_branch:
            return
        if cause is None:
            self._set_run(messages.RunPush(warnings=self._lost_packets))
        else:
            error = self._error_body(_reported_error(cause))
            self._set_run(messages.RunPush(phase="failed", error=error))
        self.clock.stop()


async def _end_and_join(worker: NetworkWorker) -> None:
    """End the network of a worker, and wait until the worker's thread has ended."""
    worker.end()
    while not await asyncio.to_thread(worker.join, INSIST_REAL_S):
        worker.end()


def _run_after_replay(
    network: Network, ports: LivePorts, down: tuple[str, ...]
) -> messages.RunPush:
    """Return the state of the run of a replayed network; `down` are the links that are unplugged."""
    difference = network.session.difference
    warnings = [f"the replay differs from the session: {difference}"] if difference else []
    return messages.RunPush(
        phase="running",
        ports=ports.ports,
        links_down=down,
        warnings=(*network.warnings, *warnings),
    )


def _reported_error(cause: BaseException) -> WanlabError:
    """Return the error to show for what ended a network. Print the traceback of an internal error."""
    if isinstance(cause, WanlabError):
        return cause
    traceback.print_exception(cause)
    return WanlabError(f"internal error: {cause!r}", INTERNAL_ERROR_HINT)
