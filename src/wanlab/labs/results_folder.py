"""The folder of a run: NAME.partial while it is being written, NAME when it is complete.

A run that is interrupted leaves the partial folder behind. A lock on that folder prevents a second run
of the same name; the kernel releases the lock, however a run ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import RequirementError

MIN_FREE_BYTES = 64 << 20
"""Several times the size of a unit's results."""
HINT = "use another folder with --results"


@contextlib.contextmanager
def results_folder(final: Path) -> Iterator[Path]:
    """Yield an empty folder, which is renamed to `final` if the body succeeds.

    An earlier `final` is replaced. If the body fails, the folder and its content stay, and the
    exception carries a note that names it; an empty folder is removed. Raises RequirementError if the
    folder cannot be written, or if another run is writing it.
    """
    partial = final.with_name(f"{final.name}.partial")
    with _os_errors_reported(final), _exclusive(partial):
        try:
            yield partial
        except BaseException as error:
            if any(partial.iterdir()):
                error.add_note(f"the results so far are in {partial}")
            else:
                partial.rmdir()
            raise
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)


@contextlib.contextmanager
def _os_errors_reported(folder: Path) -> Iterator[None]:
    """Turn a full disk, or a folder that may not be written to, into an error for the user."""
    try:
        yield
    except OSError as error:
        problem = RequirementError(
            f"cannot write results to {folder}: {error.strerror or error}", HINT
        )
        for note in getattr(error, "__notes__", ()):
            problem.add_note(note)
        raise problem from None


@contextlib.contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Make the folder, empty it, and lock it for as long as the context lasts."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free
    if free < MIN_FREE_BYTES:
        raise RequirementError(
            f"cannot write results to {folder.parent}: only {free >> 20} MiB are free there",
            f"a lab may need {MIN_FREE_BYTES >> 20} MiB; {HINT}",
        )
    lock = _lock(folder)
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        yield
    finally:
        os.close(lock)


def _lock(folder: Path) -> int:
    """Return the descriptor that holds the lock."""
    while True:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between mkdir and flock another run may have ended, and renamed the folder.
            if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise RequirementError(
                f"the same run has already started: it writes to {folder}",
                "wait for it, or choose another --seed or another folder with --results",
            ) from None
        os.close(descriptor)
