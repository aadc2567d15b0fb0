"""The methods of `Network` about its session: recording, replay, rewind and branches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from wanlab.errors import CommandError, RequirementError
from wanlab.units import parse_time

from .process import Process
from .runtime import Runtime

if TYPE_CHECKING:
    from wanlab.session import Difference, RecordedSession
    from wanlab.temporary import TemporaryFolder

    from .host_service import HostService
    from .live_topology import LiveTopology
    from .node import LiveNode
    from .options import NetworkOptions
    from .outside_connections import OutsideConnections
    from .process import ProcessLog
    from .replay import OnOutput, Replay, ReplayGoal
    from .session_inputs import SessionInputs


class SessionHandle(ABC):
    """The part of `Network` about its recorded session."""

    options: NetworkOptions
    host_service: HostService
    root: LiveNode
    _runtime: Runtime
    _live: LiveTopology
    _process_log: ProcessLog
    _outside_connections: OutsideConnections

    def __init__(self, session: str | Path | bool) -> None:
        self._session_target = Path(session) if isinstance(session, str) else session
        self._goal: ReplayGoal | None = None
        self._replay: Replay | None = None
        self._own_folder: TemporaryFolder | None = None

    @abstractmethod
    def start(self) -> None:
        """Boot the machine; then build the network, or replay `_goal`."""

    @classmethod
    @abstractmethod
    def _replaying(
        cls, goal: ReplayGoal, folder: str | Path | None, record: str | Path | bool
    ) -> Self:
        """Return a network that replays a session when it starts."""

    def _begin_recording(self) -> None:
        """Record the session, if that is wanted. Inside a machine, only into a file."""
        target = self._session_target
        if target and not (target is True and self.options.traits.is_shared):
            from .recording import NetworkRecording

            self._runtime.recording = NetworkRecording(target, self.options)

    def record_session(self, target: str | Path | bool) -> None:
        """Record the session in a file, or for `rewind`; only before the network starts."""
        if self._runtime.is_running:
            raise CommandError(
                "a session is recorded from its start", "call record_session() before start()"
            )
        self._session_target = Path(target) if isinstance(target, str) else target

    def session_content(self) -> bytes:
        """Return the session file as it is now; empty if none is recorded."""
        recording = self._runtime.recording
        return recording.content() if recording is not None else b""

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
            return self._live.node(name) if name else self.root

        inputs = SessionInputs(session, self._runtime, self.host_service, node, environment or {})
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
        if self._own_folder is not None:
            self._own_folder.keep()
            self._own_folder = None

    def end_replayed_measurements(self) -> None:
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

    @classmethod
    def replay(
        cls,
        session: str | Path | RecordedSession,
        *,
        until: str | int | None = None,
        folder: str | Path | None = None,
        record: str | Path | bool = False,
        anyway: bool = False,
        speed: float | None = None,
        on_output: OnOutput | None = None,
    ) -> Self:
        """Return a network that replays a session, up to `until` on its clock, when it starts.

        After that, it can be used like any other network.

            with Network.replay("ping.wanlab", until="5s") as net:
                net.set_link("s1", "s2", loss="5%")
                net.run_for("10s")

        folder     an empty folder to work in; by default a temporary one, which is removed when the
                   network stops
        record     a file for the whole session, the replayed part included; True: no file
        anyway     accept another kernel, on which the session may run differently
        speed      at most this many seconds of the network per real second
        on_output  called with the output of processes during the replay

        SessionError or RequirementError if this computer cannot replay the session.
        """
        from wanlab.session import RecordedSession, read

        from . import branching
        from .replay import ReplayGoal

        if not isinstance(session, RecordedSession):
            session = read(session)
        branching.check(session, anyway=anyway)
        until_ns = None if until is None else parse_time(until)
        goal = ReplayGoal(session, until_ns, speed, on_output)
        return cls._replaying(goal, folder, record)

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
        target = self._session_target
        if session.has_files:
            folder = branching.make_temporary_folder(session)
            self._remove_own_folder()
            self._own_folder = folder
            self.options = runtime.options = replace(self.options, folder=folder.path.resolve())
        runtime.close()
        self._outside_connections.close()
        branching.keep_file(target)
        runtime.rewind_timers(session.epoch_ns + time_ns)
        self._goal = ReplayGoal(session, time_ns)
        self.start()
        assert self._replay is not None
        self._replay.deliver_open_requests()

    def branch(self, at: str | int | None = None) -> Self:
        """Return a second network that continues from the state of this one now, or at time `at`.

        It runs in another machine and in a copy of the working folder; needs `session=`. `twin`
        returns its copy of a process.

            with net.branch() as fair:
                fair.set_link("s1", "s2", queue="fq_codel")
                fair.run_for("60s")
        """
        from . import branching
        from .replay import ReplayGoal

        time_ns = self._runtime.now_ns if at is None else parse_time(at)
        session = branching.session_so_far(self._runtime, time_ns)
        folder = None if session.has_files else self.options.folder
        network = self._replaying(ReplayGoal(session, time_ns), folder, record=True)
        network.start()
        return network

    def _perform_again(self, goal: ReplayGoal) -> None:
        from .replay import Replay

        self._replay = Replay(goal, self._runtime, self._live, self.host_service, self._process_log)
        self._replay.run()

    def _remove_own_folder(self) -> None:
        if self._own_folder is not None:
            self._own_folder.remove()
            self._own_folder = None
