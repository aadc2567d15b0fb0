"""Start networks from recorded sessions, for replays, rewinds and branches: options and folder."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanlab.errors import CommandError, reason_of
from wanlab.session import RecordedSession, SessionError, read
from wanlab.session.files import restore
from wanlab.session.recorded import parse
from wanlab.shared_folder import UnsafeFileError, output_folder
from wanlab.temporary import TemporaryFolder
from wanlab.units import format_time, parse_time

from .process import Process
from .replay import (
    ReplayGoal,
    kernel_of,
    refuse_missing,
    refuse_unrepeatable,
    refuse_wrong_topologies,
)

if TYPE_CHECKING:
    from .replay import OnOutput
    from .runtime import Runtime


def replay_goal(
    session: str | Path | RecordedSession,
    until: str | int | None,
    *,
    anyway: bool,
    speed: float | None,
    on_output: OnOutput | None,
    kernel: str,
) -> ReplayGoal:
    """Return what `Network.replay` is to replay, after checking that this computer can."""
    if not isinstance(session, RecordedSession):
        session = read(session)
    check(session, anyway=anyway, kernel=kernel)
    until_ns = None if until is None else parse_time(until)
    return ReplayGoal(session, until_ns, speed, on_output, kernel)


def check(session: RecordedSession, *, anyway: bool, kernel: str = "") -> None:
    """Raise SessionError or RequirementError if this computer cannot replay a session.

    `anyway` accepts another kernel, on which the session may run differently.
    """
    from wanlab.machine.embedded import find_image

    refuse_unrepeatable(session)
    refuse_wrong_topologies(session)
    recorded = session.header.kernel_manifest
    here = find_image(kernel_of(session, kernel)).manifest_hash
    if not anyway and recorded != here:
        raise SessionError(
            f"{session.source}: the session was recorded with a different kernel: {recorded[:12]} "
            f"({session.header.kernel_release}), and this one is {here[:12]}",
            "install the wanlab that recorded it, or replay it on this kernel: --anyway",
        )
    refuse_missing(session)


def options_of(session: RecordedSession, kernel: str = "") -> dict[str, Any]:
    """Return the arguments of a Network like the one that was recorded, except for its folder."""
    header = session.header
    return {
        "machine": "embedded",
        "kernel": kernel_of(session, kernel),
        "clock": header.clock,
        "wire": header.wire,
        "nic": header.nic,
        "cpu": header.cpu,
        "seed": header.seed,
        "guest_folder": header.guest_folder,
        "sysctls": header.sysctls,
        "memory": header.memory_bytes,
        "line_rate": header.line_rate_bps,
        "allow_connect": header.allow_connect,
        "visible_folders": [name for name in header.visible_folders if Path(name).is_dir()],
    }


def make_temporary_folder(session: RecordedSession) -> TemporaryFolder:
    """Restore the working folder in a new temporary one."""
    folder = TemporaryFolder("branch")
    try:
        restore_folder(session, folder.path)
    except BaseException:
        folder.remove()
        raise
    return folder


def restore_folder(session: RecordedSession, path: Path) -> None:
    """Restore the session's working folder in `path`, which is created if need be.

    If the session file holds no files, whatever is in `path` stays. Otherwise SessionError if `path`
    is not empty or a file cannot be restored.
    """
    try:
        folder = output_folder(path).make()
        is_empty = not folder.entries()
    except UnsafeFileError:
        raise
    except (OSError, ValueError) as error:
        raise SessionError(
            f"cannot work in the folder {str(path)!r}: {reason_of(error)}", "choose another folder"
        ) from None
    if not session.has_files:
        return
    if not is_empty:
        raise SessionError(
            f"{path} is not empty: the session's files would be mixed with others",
            "choose an empty folder, or leave it out",
        )
    try:
        restore(session.file_lines, folder)
    except (ValueError, OSError) as error:
        raise SessionError(f"{session.source}: cannot restore its files: {error}") from None


def session_so_far(runtime: Runtime, time_ns: int) -> RecordedSession:
    """Return what has been recorded. CommandError if nothing has, or if `time_ns` is not in it."""
    recording = runtime.recording
    if recording is None:
        raise CommandError(
            "this network does not record its session", "start it with Network(..., session=True)"
        )
    session = parse(recording.content(), "this session")
    refuse_unrepeatable(session)
    if not 0 <= time_ns <= runtime.now_ns:
        raise CommandError(
            f"{format_time(time_ns)} is outside this session",
            f"it runs from 0 to {format_time(runtime.now_ns)}",
        )
    return session


def refuse_measuring(runtime: Runtime) -> None:
    """Raise CommandError while something is measured: its readings could not be taken back."""
    if any(not isinstance(listener, Process) for listener in runtime.machine.channel.listeners):
        raise CommandError(
            "a network cannot be rewound while it is measured", "end the measurement first"
        )


def keep_file(path: Path | bool, working_folder: Path) -> None:
    """Rename a session file before a rewind overwrites it; True and False stand for no file."""
    if isinstance(path, bool):
        return
    folder = output_folder(path.parent, working_folder)
    names = (f"{path.stem}-before-rewind-{n}{path.suffix}" for n in itertools.count(1))
    folder.rename(path.name, next(name for name in names if not folder.exists(name)))
