"""The recorded session of a live network: `net.session` records, rewinds and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from wanlab.errors import CommandError, RequirementError
from wanlab.units import parse_time

from .process import Process

if TYPE_CHECKING:
    from wanlab.session import Difference, RecordedSession
    from wanlab.temporary import TemporaryFolder

    from .host_service import HostService
    from .live_topology import LiveTopology
    from .node import LiveNode
    from .outside_connections import OutsideConnections
    from .process import ProcessLog
    from .replay import Replay, ReplayGoal
    from .runtime import Runtime
    from .session_inputs import SessionInputs


class RecordedNetwork(Protocol):
    """What a session needs of its network, which is a `Network`."""

    host_service: HostService
    root: LiveNode
    session: LiveSession[Any]

    def start(self) -> None: ...


AnyNetwork = TypeVar("AnyNetwork", bound=RecordedNetwork)


class LiveSession(Generic[AnyNetwork]):
    """What has gone into a network and come out of it, if it is recorded, and ways back in time."""

    def __init__(
        self,
        network: AnyNetwork,
        runtime: Runtime,
        live: LiveTopology,
        process_log: ProcessLog,
        outside_connections: OutsideConnections,
        target: str | Path | bool,
    ) -> None:
        self._network = network
        self._runtime = runtime
        self._live = live
        self._process_log = process_log
        self._outside_connections = outside_connections
        self._target: Path | bool = Path(target) if isinstance(target, str) else target
        self._first_folder: Path | None = None
        self.goal: ReplayGoal | None = None
        """The session to replay instead of building the topology."""
        self.own_folder: TemporaryFolder | None = None
        """A temporary working folder, which is removed when the network stops."""
        self._replay: Replay | None = None

    def begin(self) -> None:
        """Record the session, if that is wanted. Inside a machine, only into a file."""
        target = self._target
        if target and not (target is True and self._runtime.options.traits.is_shared):
            from .recording import NetworkRecording

            # After a rewind, the file is still where programs could write before it.
            self._first_folder = self._first_folder or self._runtime.options.folder
            self._runtime.recording = NetworkRecording(
                target, self._runtime.options, self._first_folder
            )

    def record(self, target: str | Path | bool) -> None:
        """Record the session in a file, or for `rewind`; only before the network starts."""
        if self._runtime.is_running:
            raise CommandError(
                "a session is recorded from its start", "call session.record() before start()"
            )
        self._target = Path(target) if isinstance(target, str) else target

    def content(self, *, is_whole: bool = False) -> bytes:
        """Return the session file as it is now; empty if none is recorded.

        With `is_whole`, it is the file of a session that ends now, and not of one that was cut short.
        """
        recording = self._runtime.recording
        return recording.content(is_whole=is_whole) if recording is not None else b""

    def note_upload(self, file: str | Path) -> None:
        """Record the content of a file that wanlab has written into the working folder."""
        if self._runtime.recording is not None:
            self._runtime.recording.note_upload(Path(file))

    def perform_inputs(
        self, session: RecordedSession, environment: Mapping[str, str] | None = None
    ) -> SessionInputs:
        """Repeat the inputs of a session in this network, each at its recorded time from now.

        Nothing else is taken from the session: not its network, its kernel parameters or its files.
        Variables in `environment` replace the recorded ones. The returned object lists the processes
        that were started, and what could not be performed. SessionError if the session is not on virtual
        time.
        """
        from .session_inputs import SessionInputs

        def node(name: str) -> LiveNode:
            return self._live.node(name) if name else self._network.root

        inputs = SessionInputs(
            session, self._runtime, self._network.host_service, node, environment or {}
        )
        inputs.perform()
        return inputs

    def twin(self, process: Process) -> Process:
        """Return this branch's copy of a process of the original network.

        RequirementError if the process was started after the branch was made.
        """
        if self._replay is None or process.number not in self._replay.processes:
            raise RequirementError(
                f"{process!r} does not run in this branch",
                "it was started after the branch was made",
            )
        return self._replay.processes[process.number]

    def keep_folder(self) -> None:
        """Keep the copy of the working folder when the network stops."""
        if self.own_folder is not None:
            self.own_folder.keep()
            self.own_folder = None

    def end_measurements(self) -> None:
        """After a replay: end the recorded measurements, whose readings nobody uses now."""
        if self._replay is not None:
            self._replay.end_watches()

    def deliver_open_requests(self) -> None:
        """After a replay: let the handlers of the host service answer the requests that wait."""
        if self._replay is not None:
            self._replay.deliver_open_requests()

    @property
    def processes(self) -> list[Process]:
        """After a replay: the processes that were started in nodes, in order."""
        return self._replay.user_processes() if self._replay is not None else []

    @property
    def difference(self) -> Difference | None:
        """The first difference between the replay and the recording; None if there is none."""
        return self._replay.comparison.difference if self._replay is not None else None

    def rewind(self, time: str | int) -> None:
        """Return to the instant at which the network's clock showed `time`; needs `session=`.

        A new machine replays the session up to that instant. Processes that were started later are
        gone. If the session has the working folder's files, the network then uses a copy of the
        folder as it was at the start; `folder` names it. CommandError if no session was recorded, if
        `time` is not in it, or while something is measured.
        """
        from . import branching
        from .replay import ReplayGoal

        time_ns = parse_time(time)
        runtime = self._runtime
        session = branching.session_so_far(runtime, time_ns)
        branching.refuse_measuring(runtime)
        if session.has_files:
            folder = branching.make_temporary_folder(session)
            self.remove_own_folder()
            self.own_folder = folder
            runtime.options = replace(runtime.options, folder=folder.path.resolve())
        runtime.close()
        self._outside_connections.close()
        branching.keep_file(self._target, self._first_folder or runtime.options.folder)
        runtime.rewind_timers(session.epoch_ns + time_ns)
        self.goal = ReplayGoal(session, time_ns, is_reached=True)
        self._network.start()
        self.deliver_open_requests()

    def branch(self, at: str | int | None = None) -> AnyNetwork:
        """Return a second network that continues from the state of this one now, or at time `at`.

        It runs in another machine and in a copy of the working folder; needs `session=`. `twin`
        returns its copy of a process.

            with net.session.branch() as fair:
                fair.set_link("s1", "s2", queue="fq_codel")
                fair.run_for("60s")
        """
        from . import branching
        from .replay import ReplayGoal

        time_ns = self._runtime.now_ns if at is None else parse_time(at)
        session = branching.session_so_far(self._runtime, time_ns)
        options = self._runtime.options
        network = replaying_network(
            type(self._network),
            ReplayGoal(session, time_ns, kernel=options.kernel, is_reached=True),
            folder=None if session.has_files else options.folder,
            record=True,
            traps=options.traps,
        )
        network.start()
        return network

    def perform_again(self) -> None:
        """Replay the goal in the machine, which has just booted."""
        from .replay import Replay

        assert self.goal is not None
        host_service = self._network.host_service
        self._replay = Replay(self.goal, self._runtime, self._live, host_service, self._process_log)
        self._replay.run()

    def remove_own_folder(self) -> None:
        if self.own_folder is not None:
            self.own_folder.remove()
            self.own_folder = None


def replaying_network(
    kind: Callable[..., AnyNetwork],
    goal: ReplayGoal,
    *,
    folder: str | Path | None,
    record: str | Path | bool,
    traps: str | None,
) -> AnyNetwork:
    """Return a network that replays a session when it starts; without a folder, in a temporary one."""
    from . import branching
    from .replay import topology_at

    own_folder = branching.make_temporary_folder(goal.session) if folder is None else None
    path = own_folder.path if own_folder is not None else Path(folder or ".")
    if own_folder is None:
        branching.restore_folder(goal.session, path)
    options = branching.options_of(goal.session, goal.kernel)
    network = kind(
        topology_at(goal.session, 0), **options, folder=path, session=record, traps=traps
    )
    network.session.goal = goal
    network.session.own_folder = own_folder
    return network
