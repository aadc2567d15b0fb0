"""What a network that replays a session is started with: its options, its folder, its goal."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanlab.errors import CommandError
from wanlab.session import RecordedSession, SessionError
from wanlab.session.files import restore
from wanlab.session.recorded import parse
from wanlab.units import format_time

from .process import Process
from .replay import kernel_of, refuse_missing, refuse_unrepeatable

if TYPE_CHECKING:
    from .runtime import Runtime

FOLDER_PREFIX = "wanlab-branch-"


def check(session: RecordedSession, *, anyway: bool) -> None:
    """Raise SessionError or RequirementError if a session cannot be performed again here.

    `anyway`: also with another kernel, on which it may become another session.
    """
    from wanlab.machine.embedded import find_image

    refuse_unrepeatable(session)
    recorded = session.header["kernel_manifest"]
    here = find_image(kernel_of(session)).manifest_hash
    if not anyway and recorded != here:
        raise SessionError(
            f"{session.source}: the session was recorded with another kernel: {recorded[:12]} "
            f"({session.header['kernel_release']}), and this one is {here[:12]}",
            "install the wanlab that recorded it, or replay it on this kernel: --anyway",
        )
    refuse_missing(session)


def options_of(session: RecordedSession) -> dict[str, Any]:
    """Return the arguments of a Network like the one that was recorded, except for its folder."""
    header = session.header
    return {
        "machine": "embedded",
        "kernel": kernel_of(session),
        "clock": header["clock"],
        "wire": header["wire"],
        "nic": header["nic"],
        "seed": header["seed"],
        "guest_folder": header["guest_folder"],
        "sysctls": header["sysctls"],
        "memory": header["memory_bytes"],
        "line_rate": header["line_rate_bps"],
        "allow_connect": header["allow_connect"],
        "visible_folders": [name for name in header["visible_folders"] if Path(name).is_dir()],
    }


def make_folder(session: RecordedSession, folder: str | Path | None) -> Path:
    """Restore the working folder in `folder`, or in a new temporary one; return it.

    A folder that is not empty is taken as it is if the session file has no files.
    """
    if folder is None:
        path = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    else:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    if not session.has_files:
        return path
    if any(path.iterdir()):
        raise SessionError(
            f"{path} is not empty: the session's files would be mixed with others",
            "choose an empty folder, or leave it out",
        )
    try:
        restore(session.file_lines, path.resolve())
    except (ValueError, KeyError, TypeError, OSError) as error:
        if folder is None:
            shutil.rmtree(path, ignore_errors=True)
        raise SessionError(f"{session.source}: cannot restore its files: {error}") from None
    return path


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
            f"{format_time(time_ns)} is not an instant of this session",
            f"it goes from 0 to {format_time(runtime.now_ns)}",
        )
    return session


def refuse_measuring(runtime: Runtime) -> None:
    """Raise CommandError while something is measured: its readings could not be taken back."""
    if any(not isinstance(listener, Process) for listener in runtime.machine.channel.listeners):
        raise CommandError(
            "a network cannot be rewound while it is measured", "end the measurement first"
        )


def keep_file(path: Path | bool) -> None:
    """Rename a session file that is about to be written again: its rest is a branch of its own."""
    if isinstance(path, bool):
        return
    number = 1
    while (kept := path.with_name(f"{path.stem}-before-rewind-{number}{path.suffix}")).exists():
        number += 1
    path.rename(kept)
