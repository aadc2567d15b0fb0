"""Files in a folder that programs in a network can write, too.

A network shares its working folder with the computer. A program in the network can put anything there,
at any moment: a link to a file of the user, a second name (hard link) of such a file, a FIFO without
a writer, a link in place of a folder. wanlab itself runs outside the network, with all rights of the
user, so it reads and writes such a folder only through this module.

* No symbolic link is followed below the folder: openat2(2) with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS
  and RESOLVE_NO_MAGICLINKS opens the folder that holds a file, and the file is named relative to that
  descriptor. Before Linux 5.6, the folders are opened one by one with O_NOFOLLOW.
* Only regular files are read. They are opened without waiting (O_NONBLOCK) and checked afterwards.
* A file is written by replacing it: a new file (O_EXCL) in the same folder is renamed to its name. So a
  file that has a second name elsewhere keeps its content there.
* Only a regular file that has one name, and belongs to this user or to the owner of the folder, is
  appended to.
* New files have the permissions that the caller asks for, and never a set-user-ID bit.

The path of the folder itself comes from the user, and its links are followed: programs in the network
cannot change what is outside of it. A folder inside it is reached by `subfolder`, never by a
SharedFolder of its own.

A file or folder that a user names for output, as in `-o FILE`, is opened by `open_output`,
`write_output` or `output_folder`. In the network's working folder, and in the current folder, which is
the working folder of most networks, an earlier network may have left a link of that name: there the
rules above hold. Elsewhere it is opened as it is written, so it may be a link, a pipe or a device.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pwd
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from .errors import WanlabError

OPENAT2 = 437  # on all architectures
RESOLVE_BELOW = 0x02 | 0x04 | 0x08  # NO_MAGICLINKS, NO_SYMLINKS, BENEATH (linux/openat2.h)
FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW_FILE_FLAGS = FILE_FLAGS | os.O_CREAT | os.O_EXCL
PERMISSIONS = 0o777
MAX_BYTES = 64 << 20
KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
HERE = Path()
"""The current folder."""
LIBC = ctypes.CDLL(None, use_errno=True)


class UnsafeFileError(WanlabError, OSError):
    """A file that wanlab does not use, because a program in a network may have put it there.

    It is an OSError as well, so that code which reports a file that cannot be read or written
    reports this one, too. `strerror` then is the reason, with the path.
    """

    def __init__(self, path: Path, reason: str, hint: str) -> None:
        super().__init__(f"{path} {reason}", hint)
        self.errno, self.strerror = errno.ELOOP, f"{path} {reason} ({hint})"

    def __reduce__(self) -> tuple[Callable[..., WanlabError], tuple[str, str]]:
        return WanlabError, (self.what, self.hint)


def file_error(verb: str, path: Path | str, error: OSError, hint: str = "") -> WanlabError:
    """Return the error for a user whose file cannot be read or written (`verb`)."""
    if isinstance(error, UnsafeFileError):
        return error
    return WanlabError(f"cannot {verb} {path}: {error.strerror or error}", hint)


@dataclass(frozen=True)
class SharedFolder:
    """The folder `under` below `root`, whose path the user named.

    The names of files are relative paths, such as "transcripts/mininet". Methods raise OSError if a
    file cannot be used, and UnsafeFileError, which is a WanlabError as well, if it must not be used.
    """

    root: Path
    under: str = ""

    @property
    def path(self) -> Path:
        """The path, for messages and for programs in the network."""
        return self.root / self.under

    def subfolder(self, name: str) -> SharedFolder:
        """Return a folder below this one, which need not exist; "" is this one."""
        return SharedFolder(self.root, "/".join(self._parts(name)))

    @property
    def parent(self) -> SharedFolder:
        """The folder above."""
        if not self.under:
            return SharedFolder(self.root.parent)
        return SharedFolder(self.root, "/".join(self._parts()[:-1]))

    # -- what is there ----------------------------------------------------------------------------

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file, folder or link; None if there is none."""
        try:
            with self._parent(name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, name: str) -> bool:
        """Whether there is anything of this name, a dangling link for instance."""
        return self.status(name) is not None

    def check(self, name: str) -> None:
        """UnsafeFileError if there is anything but a regular file of this name."""
        if (status := self.status(name)) is not None:
            self._check_regular(status, name)

    def has_file(self, name: str) -> bool:
        """Whether there is a regular file of this name."""
        status = self.status(name)
        return status is not None and stat.S_ISREG(status.st_mode)

    def has_folder(self, name: str = "") -> bool:
        """Whether there is a folder of this name, or this folder."""
        try:
            with self._open_folder(self._parts(name)):
                return True
        except OSError:
            return False

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """Return the names in this folder, sorted, each with its status. Links are not followed."""
        listed = self.descriptor()
        try:
            found = []
            for name in sorted(os.listdir(listed)):  # noqa: PTH208  (a descriptor)
                with contextlib.suppress(FileNotFoundError):  # removed in the meantime
                    found.append((name, os.stat(name, dir_fd=listed, follow_symlinks=False)))
            return found
        finally:
            os.close(listed)

    def walk(self, under: str = "") -> Iterator[tuple[str, os.stat_result]]:
        """Yield the names below this folder, each folder before its content. Enters no links."""
        for name, status in self.subfolder(under).entries():
            path = f"{under}/{name}" if under else name
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                yield from self.walk(path)

    def descriptor(self) -> int:
        """Open this folder, for flock(2) for instance."""
        with self._open_folder(self._parts()) as folder:
            return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)

    def link_target(self, name: str) -> str:
        """Return what a link contains. OSError if it is no link."""
        with self._parent(name) as (folder, last):
            return os.readlink(last, dir_fd=folder)

    # -- reading ----------------------------------------------------------------------------------

    def open(self, name: str) -> BinaryIO:
        """Open a regular file for reading."""
        with self._parent(name) as (folder, last):
            return os.fdopen(self._open_regular(folder, last, os.O_RDONLY, name), "rb")

    def read(self, name: str, max_bytes: int = MAX_BYTES) -> bytes:
        """Return the content of a regular file. WanlabError if it is larger than `max_bytes`."""
        with self.open(name) as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise WanlabError(f"{self.path / name} is larger than {max_bytes >> 20} MiB")
        return data

    def read_end(self, name: str, max_bytes: int) -> bytes:
        """Return the last bytes of a regular file."""
        with self.open(name) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
            return file.read(max_bytes)

    # -- writing ----------------------------------------------------------------------------------

    def make(self) -> SharedFolder:
        """Make this folder, with those above it, unless they exist; return it."""
        with self._open_folder(self._parts(), makes=True):
            return self

    def create(self, name: str, mode: int = 0o666) -> BinaryIO:
        """Create a file, and open it. FileExistsError if the name is used, by a link for instance."""
        with self._parent(name) as (folder, last):
            number = os.open(last, os.O_RDWR | NEW_FILE_FLAGS, mode & PERMISSIONS, dir_fd=folder)
            return os.fdopen(number, "wb")

    def write(
        self, name: str, data: bytes, mode: int | None = None, *, syncs: bool = False
    ) -> None:
        """Write a file, so that never half of it is read; its folder is made if it is missing.

        Without `mode`, an earlier file's permissions are kept. With `syncs`, the content is on the disk
        before an earlier file is replaced. Anything but a regular file is refused.
        """
        with self._written(name, mode) as file:
            file.write(data)
            file.flush()
            if syncs:
                os.fsync(file.fileno())

    def rewrite(self, name: str, mode: int | None = None) -> BinaryIO:
        """Put an empty file in the place of an earlier one, and open it, as for a file that grows."""
        with self._written(name, mode, makes=False) as file:
            return os.fdopen(os.dup(file.fileno()), "wb")

    def append(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Append to a file, which is created if it is missing."""
        with self._opened_to_append(name, os.O_WRONLY | os.O_APPEND, mode) as number:
            view = memoryview(data)
            while view:
                view = view[os.write(number, view) :]

    def open_to_keep(self, name: str, mode: int = 0o600) -> BinaryIO:
        """Open a file that stays the same file: for reading and writing, created if it is missing."""
        with self._opened_to_append(name, os.O_RDWR, mode) as number:
            os.fchmod(number, mode & PERMISSIONS)
            return os.fdopen(os.dup(number), "r+b", buffering=0)

    def make_link(self, name: str, target: str) -> None:
        """Make a symbolic link, which programs in the network follow, and wanlab does not."""
        with self._parent(name) as (folder, last):
            os.symlink(target, last, dir_fd=folder)

    def set_status(self, name: str, mode: int, mtime_ns: int | None = None) -> None:
        """Set the permissions of a file or folder, and when it was changed. Refuses a link."""
        with self._parent(name) as (folder, last):
            status = os.stat(last, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                number = self._open_regular(folder, last, os.O_RDONLY, name)
            else:
                number = os.open(last, os.O_RDONLY | os.O_DIRECTORY | FILE_FLAGS, dir_fd=folder)
            try:
                os.fchmod(number, mode)
                if mtime_ns is not None:
                    os.utime(number, ns=(mtime_ns, mtime_ns))
            finally:
                os.close(number)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder; a file of the new name is replaced."""
        with self._parent(old) as (old_folder, old_last), self._parent(new) as (folder, last):
            os.replace(old_last, last, src_dir_fd=old_folder, dst_dir_fd=folder)

    def remove(self, name: str) -> None:
        """Remove a file or a link. FileNotFoundError if there is none."""
        with self._parent(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def remove_tree(self, name: str) -> None:
        """Remove a folder and its content; of links, the link."""
        with self._parent(name) as (folder, last):
            if stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(last, dir_fd=folder)
            else:
                os.unlink(last, dir_fd=folder)

    # -- descriptors ------------------------------------------------------------------------------

    def _parts(self, name: str = "") -> tuple[str, ...]:
        """Return the parts of a path below the root. WanlabError if it leads out of this folder."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            raise WanlabError(f"{name!r} is not a path in {self.path}")
        return (*PurePosixPath(self.under).parts, *path.parts)

    @contextlib.contextmanager
    def _parent(self, name: str, *, makes: bool = False) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder that holds a file, and the file's name in it."""
        *folders, last = self._parts(name) or (".",)
        try:
            with self._open_folder(tuple(folders), makes=makes) as folder:
                yield folder, last
        except OSError as error:
            if isinstance(error.filename, str):  # relative to a descriptor
                error.filename = str(self.path / name)
            raise

    @contextlib.contextmanager
    def _open_folder(self, parts: tuple[str, ...], *, makes: bool = False) -> Iterator[int]:
        """Yield a descriptor of a folder below the root, for the names in it."""
        if makes:
            self.root.mkdir(parents=True, exist_ok=True)
        root = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            folder = _open_below(root, "/".join(parts)) if parts else os.dup(root)
            if folder is None:  # missing, not allowed, or an old kernel: step by step says which
                folder = self._walk(root, parts, makes=makes)
        finally:
            os.close(root)
        try:
            yield folder
        finally:
            os.close(folder)

    def _walk(self, root: int, parts: tuple[str, ...], *, makes: bool) -> int:
        folder = os.dup(root)
        for depth, name in enumerate(parts, start=1):
            try:
                if makes:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            except NotADirectoryError:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    raise self._unsafe("/".join(parts[:depth]), status) from None
                raise
            finally:
                os.close(folder)
            folder = inner
        return folder

    def _open_regular(self, folder: int, last: str, flags: int, name: str) -> int:
        """Open a regular file. Looks first, because opening a device may have an effect."""
        self._check_regular(os.stat(last, dir_fd=folder, follow_symlinks=False), name)
        try:
            number = os.open(last, flags | FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            # ELOOP: a link; ENXIO: a FIFO without a reader, or a socket. It has just been put there.
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise self._unsafe(self._below(name), None) from None
            raise
        try:
            self._check_regular(os.fstat(number), name)
        except BaseException:
            os.close(number)
            raise
        return number

    @contextlib.contextmanager
    def _opened_to_append(self, name: str, flags: int, mode: int) -> Iterator[int]:
        """Open a file that is ours alone, or create it."""
        with self._parent(name) as (folder, last):
            try:
                number = os.open(last, flags | NEW_FILE_FLAGS, mode & PERMISSIONS, dir_fd=folder)
            except FileExistsError:
                number = self._open_regular(folder, last, flags, name)
            try:
                self._check_ours(folder, last, number, name)
                yield number
            finally:
                os.close(number)

    @contextlib.contextmanager
    def _written(self, name: str, mode: int | None, *, makes: bool = True) -> Iterator[BinaryIO]:
        """Yield a new file, which gets its name at the end."""
        with self._parent(name, makes=makes) as (folder, last):
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(last, dir_fd=folder, follow_symlinks=False)
                self._check_regular(status, name)
                mode = stat.S_IMODE(status.st_mode) if mode is None else mode
            part = f".wanlab-{secrets.token_hex(8)}.part"
            new_mode = 0o666 if mode is None else mode & PERMISSIONS
            number = os.open(part, os.O_RDWR | NEW_FILE_FLAGS, new_mode, dir_fd=folder)
            try:
                with os.fdopen(number, "wb") as file:
                    if mode is not None:
                        os.fchmod(number, new_mode)
                    yield file
                    os.replace(part, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise

    # -- checks -----------------------------------------------------------------------------------

    def _check_regular(self, status: os.stat_result, name: str) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._unsafe(self._below(name), status)

    def _check_ours(self, folder: int, last: str, number: int, name: str) -> None:
        """Check that an open file has no other name than this one, and a trusted owner.

        Its name is looked up after its names were counted: if its name in this folder had been
        removed before, so that a name elsewhere is the only one, the look-up fails.
        """
        path, status = self.path / name, os.fstat(number)
        try:
            named = os.stat(last, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            named = None
        if status.st_nlink > 1 or os.fstat(number).st_nlink > 1:
            raise UnsafeFileError(
                path,
                "has a second name (a hard link), under which it would be changed, too",
                "remove it, or replace it by a copy",
            )
        if named is None or not os.path.samestat(named, status):
            raise UnsafeFileError(path, "was replaced while it was opened", "try again")
        if status.st_uid not in (os.geteuid(), os.stat(folder).st_uid):
            raise UnsafeFileError(path, f"belongs to {_user(status.st_uid)}", "remove it")

    def _below(self, name: str) -> str:
        return "/".join(self._parts(name))

    def _unsafe(self, below: str, status: os.stat_result | None) -> UnsafeFileError:
        """Return the error for something that is not a regular file; None: it was just replaced."""
        path = self.root / below
        if status is None:
            return UnsafeFileError(path, "was replaced while it was opened", "try again")
        kind = next(
            (words for is_kind, words in KINDS if is_kind(status.st_mode)), "of no known kind"
        )
        if stat.S_ISLNK(status.st_mode):
            hint = "remove it: programs in a network can write here, so wanlab follows no links"
        else:
            hint = "remove it: wanlab uses only regular files here"
        return UnsafeFileError(path, f"is {kind}", hint)


def check_owner(folder: SharedFolder) -> None:
    """UnsafeFileError if a folder belongs neither to this user nor to the owner of the folder above."""
    owner, above = folder.path.lstat().st_uid, folder.path.parent.stat().st_uid
    if owner not in (os.geteuid(), above):
        raise UnsafeFileError(folder.path, f"belongs to {_user(owner)}", "remove it")


def open_output(
    path: Path, working_folder: Path = HERE, mode: int | None = None, *, is_read: bool = False
) -> BinaryIO:
    """Open a file for output that the user named, and empty it. OSError if that fails.

    `working_folder` is that of the network. With `is_read`, the descriptor can be read as well.
    """
    if (inside := _in_shared(path, working_folder)) is not None:
        return inside.parent.rewrite(inside.path.name, mode)
    access = os.O_RDWR if is_read else os.O_WRONLY
    flags = access | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666 if mode is None else mode), "wb")


def write_output(path: Path, data: bytes | str) -> None:
    """Write a file that the user named. OSError if that fails."""
    with open_output(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def check_output(path: Path, working_folder: Path) -> None:
    """UnsafeFileError if `open_output` would refuse a file because of what is in its place."""
    if (inside := _in_shared(path, working_folder)) is not None:
        inside.parent.check(inside.path.name)


def output_folder(path: Path, working_folder: Path = HERE) -> SharedFolder:
    """Return a folder for output that the user named; it need not exist."""
    return _in_shared(path, working_folder) or SharedFolder(path)


def _in_shared(path: Path, working_folder: Path) -> SharedFolder | None:
    """Return a path below the working folder or the current folder; None if it is elsewhere."""
    # Not resolved, because a link in the folder would lead out of it.
    written = Path(os.path.abspath(path))  # noqa: PTH100
    for folder in (working_folder, HERE):
        for base in (Path(os.path.abspath(folder)), folder.resolve()):  # noqa: PTH100
            for absolute in (written, path.parent.resolve() / path.name):
                is_below = absolute != base and absolute.is_relative_to(base)
                # A network in / shares no files there, but a service may run wanlab there.
                if is_below and base != Path(base.anchor):
                    return SharedFolder(base, str(absolute.relative_to(base)))
    return None


class _OpenHow(ctypes.Structure):
    """struct open_how of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def _open_below(root: int, path: str) -> int | None:
    """Open a folder without following a link; None if that fails, or on a kernel without openat2."""
    how = _OpenHow(FOLDER_FLAGS, 0, RESOLVE_BELOW)
    number: int = LIBC.syscall(
        ctypes.c_long(OPENAT2), root, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how)
    )
    return None if number < 0 else number


def _user(number: int) -> str:
    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user {number}"
