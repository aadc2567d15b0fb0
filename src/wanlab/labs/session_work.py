"""A session as work to grade: its typed input is performed again in the grader's network.

Only the typed input of the session file counts. Its recorded output and its network are ignored.
"""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath

import msgspec

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.session import FolderLine, RecordedSession, SessionError, parse, read, restore
from wanlab.shared_folder import SharedFolder
from wanlab.topology.cpu import FREE, cpu_name
from wanlab.units import format_time

from . import hand_in_archive, student_files
from .outcome import Outcome
from .shell import MIN_REAL_S, StallGuard, plain
from .unit import CLIENT, Step, Unit


def read_session(path: Path) -> RecordedSession:
    """Read a session file, or the newest session in a hand-in. Raises WanlabError if there is none."""
    if path.suffix != ".zip":
        return read(path)
    sessions = hand_in_archive.read(path).sessions
    if not sessions:
        raise SessionError(
            f"{path} has no session", "sessions are recorded by `wanlab lab start` on virtual time"
        )
    return parse(sessions[-1], path.name)


LAST_INPUT_NS = 1_000_000_000
"""How long the last input of a session that was cut short may act."""


class SessionWork:
    """A session, and notes from performing it."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session
        self.notes: list[str] = []

    def restore_files(self, folder: SharedFolder, unit: Unit) -> None:
        """Write the files that the session began with, and the unit's files.

        Links in place of the unit's files are left out, because wanlab writes through none, and those
        that lead out of the folder.
        """
        if not self._session.has_files:
            left_out = self._session.header.files_left_out
            self.notes.append(f"the session has no files: {left_out}")
        try:
            names = {name for name, _ in student_files.files_of(unit)}
            written = names | {
                str(above) for name in names for above in PurePosixPath(name).parents
            }
            lines = [
                _open_to_us(line)
                for line in self._session.file_lines
                if not _leads_out(line) and line.link not in written
            ]
            restore(lines, folder)
            student_files.install(folder, [unit])
        except (ValueError, OSError) as error:
            raise SessionError(
                f"{self._session.source}: cannot restore its files: {error}"
            ) from None

    def perform(self, network: Network, seed: int) -> list[Outcome]:
        """Perform the typed input; return the output of each program that was started."""
        session = self._session
        if session.is_cut:
            end = format_time(session.end_ns - session.epoch_ns)
            self.notes.append(f"the session file was cut short at {end}; the rest is missing")
        if session.header.seed != seed:
            self.notes.append(f"recorded with seed {session.header.seed}, graded with {seed}")
        recorded = (session.header.cpu or {}).get("model", FREE)
        if recorded != cpu_name(network.cpu):
            self.notes.append(
                f"recorded with the processor {recorded}, graded with {cpu_name(network.cpu)}"
            )
        self.notes += session.unrepeatable()
        environment = student_files.environment(seed)
        with StallGuard(network) as guard:
            performed = network.session.perform_inputs(session, environment)
            if session.is_cut:
                network.run_for(LAST_INPUT_NS)  # the file does not say how long the last input took
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


def _open_to_us(line: FolderLine) -> FolderLine:
    """Return a line with all permissions for the owner of a folder."""
    if not line.folder:
        return line
    return msgspec.structs.replace(line, mode=(line.mode or 0) | stat.S_IRWXU)


def _leads_out(line: FolderLine) -> bool:
    target = Path(line.to or "")
    return bool(line.link) and (target.is_absolute() or ".." in target.parts)
