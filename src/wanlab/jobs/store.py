"""Folders of results. A folder is complete as soon as it has its name, which a rename gives it.

A single result, such as that of a lab, is NAME.partial while it is being written. If it is interrupted,
the partial folder stays. A folder of many, such as a sweep's, has an own place for unfinished ones. A
lock prevents a second writer; the kernel releases it, however its holder ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import RequirementError, WanlabError
from wanlab.shared_folder import SharedFolder, UnsafeFileError, output_folder

MIN_FREE_BYTES = 64 << 20
"""Several times the size of a lab's results."""
OTHER_OUTPUT = "choose another folder with --output"
OTHER_RESULTS = "use another folder with --results"


@contextlib.contextmanager
def results_folder(final: Path) -> Iterator[Path]:
    """Yield an empty folder, which is renamed to `final` if the body succeeds.

    An earlier `final` is replaced. If the body fails, the folder and its content stay, and the
    exception carries a note that names it; an empty folder is removed. Raises RequirementError if the
    folder cannot be written, or if another run is writing it.
    """
    above = output_folder(final.parent)
    partial = above.subfolder(f"{final.name}.partial")
    shown = final.with_name(partial.path.name)
    with writing_to(final, OTHER_RESULTS), _exclusive(partial, shown):
        try:
            yield shown
        except BaseException as error:
            if partial.entries():
                error.add_note(f"the results so far are in {shown}")
            else:
                above.remove_tree(partial.path.name)
            raise
        if above.exists(final.name):
            above.remove_tree(final.name)
        above.rename(partial.path.name, final.name)


@contextlib.contextmanager
def writing_to(folder: Path, hint: str = OTHER_OUTPUT) -> Iterator[None]:
    """Turn an OSError, such as a full disk or a lack of permission, into an error for the user."""
    try:
        yield
    except UnsafeFileError:
        raise
    except OSError as error:
        reason = error.strerror or error
        problem = RequirementError(f"cannot write results to {folder}: {reason}", hint)
        for note in getattr(error, "__notes__", ()):
            problem.add_note(note)
        raise problem from None


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def locked_folder(
    folder: SharedFolder, subfolders: tuple[str, ...], busy: WanlabError
) -> Iterator[None]:
    """Make a folder with these folders in it, and hold its lock, in the file .lock.

    Raises `busy` if another process holds it.
    """
    with writing_to(folder.path):
        # An earlier network in the current folder may have left links, which would be followed.
        for name in subfolders:
            folder.subfolder(name).make()
        with folder.open_to_keep(".lock", 0o644) as file:
            lock = os.dup(file.fileno())
    try:
        if not try_lock(lock):
            raise busy
        yield
    finally:
        os.close(lock)


def copy_atomically(folder: Path, final: Path) -> None:
    """Copy a folder, with hard links where possible; `final` is complete as soon as it exists."""
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=final.parent))
    try:
        shutil.copytree(folder, unfinished, copy_function=_link, dirs_exist_ok=True)
        unfinished.chmod(0o755)
        unfinished.rename(final)
    except OSError:
        if not final.is_dir():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file atomically. Raises WanlabError if that is not possible."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing_to(path.parent):
            unfinished.unlink(missing_ok=True)
            with unfinished.open("x", encoding="utf-8") as file:  # never through a link
                file.write(text)
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def keep_document(folder: SharedFolder, name: str, document: bytes, key: str) -> None:
    """Write NAME.json, and the key of what it was made from beside it. OSError if that fails."""
    with contextlib.suppress(FileNotFoundError):
        folder.remove(f"{name}.key")
    folder.write(f"{name}.json", document)
    folder.write(f"{name}.key", key.encode())


def kept_document(folder: SharedFolder, name: str, key: str) -> bytes | None:
    """Return what `keep_document` has written with this key; None if it is missing or unreadable."""
    with contextlib.suppress(OSError, ValueError, WanlabError):
        if folder.read(f"{name}.key").decode() == key:
            return folder.read(f"{name}.json")
    return None


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


@contextlib.contextmanager
def _exclusive(folder: SharedFolder, shown: Path) -> Iterator[None]:
    """Make the folder, empty it, and lock it for as long as the context lasts.

    `shown` is its path as the user wrote it.
    """
    free = shutil.disk_usage(folder.parent.make().path).free
    if free < MIN_FREE_BYTES:
        raise RequirementError(
            f"cannot write results to {shown.parent}: only {free >> 20} MiB are free there",
            f"a lab may need {MIN_FREE_BYTES >> 20} MiB; {OTHER_RESULTS}",
        )
    lock = _lock(folder, shown)
    try:
        for name, _ in folder.entries():
            folder.remove_tree(name)
        yield
    finally:
        os.close(lock)


def _lock(folder: SharedFolder, shown: Path) -> int:
    """Return the descriptor that holds the lock."""
    while True:
        descriptor = folder.make().descriptor()
        if not try_lock(descriptor):
            os.close(descriptor)
            raise RequirementError(
                f"the same run has already started: it writes to {shown}",
                "wait for it, or choose another --seed or another folder with --results",
            )
        # Between making the folder and locking it, another run may have ended and renamed it.
        status = folder.parent.status(folder.path.name)
        if status is not None and os.path.samestat(os.fstat(descriptor), status):
            return descriptor
        os.close(descriptor)
