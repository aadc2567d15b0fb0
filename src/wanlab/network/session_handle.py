"""The methods of `Network` about its session: recording it, and what a replay found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab.errors import CommandError, RequirementError

from .process import Process
from .runtime import Runtime

if TYPE_CHECKING:
    from wanlab.session import Difference, RecordedSession
    from wanlab.temporary import TemporaryFolder

    from .host_service import HostService
    from .live_topology import LiveTopology
    from .node import LiveNode
    from .replay import Replay
    from .session_inputs import SessionInputs


class SessionHandle:
    """The part of `Network` about its recorded session."""

    _runtime: Runtime
    _session_target: Path | bool
    _replay: Replay | None
    _own_folder: TemporaryFolder | None
    _live: LiveTopology
    host_service: HostService
    root: LiveNode

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
        """Perform in this network what was typed in a session, each input at its instant from now on.

        Nothing else is taken from the session: not its network, its kernel parameters or its files.
        `environment` has variables that come before the recorded ones. Return what was started, and
        what could not be performed. SessionError if it is no session on virtual time.
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
        """After a replay: end the measurements that were recorded, whose readings nobody uses now."""
        if self._replay is not None:
            self._replay.end_watches()

    def deliver_open_requests(self) -> None:
        """After a replay: let the handlers of the host service answer the requests that wait."""
        if self._replay is not None:
            self._replay.deliver_open_requests()

    @property
    def processes(self) -> list[Process]:
        """After a replay: the processes that were started in nodes, in order."""
        return self._replay.shown_processes() if self._replay is not None else []

    @property
    def difference(self) -> Difference | None:
        """The first difference between the replay and the recording; None if there is none."""
        return self._replay.comparison.difference if self._replay is not None else None
