"""A session as work to grade: its typed input is performed again in the grader's network.

Only the typed input of the session file counts. Its recorded output and its network are ignored.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.session import RecordedSession, SessionError, parse, read, restore
from wanlab.units import format_time

from . import hand_in, student_files
from .outcome import Outcome
from .shell import MIN_REAL_S, StallGuard, plain
from .unit import CLIENT, Step, Unit


def read_session(path: Path) -> RecordedSession:
    """Read a session file, or the newest session in a hand-in. Raises WanlabError if there is none."""
    if path.suffix != ".zip":
        return read(path)
    sessions = hand_in.read(path).sessions
    if not sessions:
        raise SessionError(
            f"{path} has no session", "sessions are recorded by `wanlab lab start` on virtual time"
        )
    return parse(sessions[-1], path.name)


class SessionWork:
    """A session, and notes from performing it."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session
        self.notes: list[str] = []

    def restore_files(self, folder: Path, unit: Unit) -> None:
        """Write the files that the session began with, and the unit's files.

        Links that lead out of the folder are left out, because the unit's files would be written
        through them.
        """
        if not self._session.has_files:
            left_out = self._session.header["files_left_out"]
            self.notes.append(f"the session has no files: {left_out}")
        try:
            lines = [line for line in self._session.file_lines if not _leads_out(line)]
            restore(lines, folder)
            for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
                path.chmod(path.stat().st_mode | stat.S_IRWXU)
            student_files.install(folder, [unit])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise SessionError(
                f"{self._session.source}: cannot restore its files: {error}"
            ) from None

    def perform(self, network: Network, seed: int) -> list[Outcome]:
        """Perform the typed input; return the output of each program that was started."""
        session = self._session
        if session.is_cut:
            end = format_time(session.end_ns - session.epoch_ns)
            self.notes.append(f"the session file was cut short at {end}; the rest is missing")
        if session.header.get("seed") != seed:
            self.notes.append(
                f"recorded with seed {session.header.get('seed')}, graded with {seed}"
            )
        self.notes += session.unrepeatable()
        environment = student_files.environment(seed)
        with StallGuard(network) as guard:
            performed = network.perform_inputs(session, environment)
        self.notes += performed.problems
        if guard.has_acted:
            raise WanlabError(
                f"a program computed for {MIN_REAL_S:g} s without a pause; it was ended"
            )
        return [
            self._outcome(number, process)
            for number, process in enumerate(performed.processes, start=1)
        ]

    def _outcome(self, number: int, process: Process) -> Outcome:
        step = Step(number, "", (process.node or CLIENT,), (process.command,))
        return Outcome(step, output=plain(process.output + process.stderr))


def _leads_out(line: Mapping[str, object]) -> bool:
    target = Path(str(line.get("to", "")))
    return "link" in line and (target.is_absolute() or ".." in target.parts)
