"""Finished kernels on disk: one folder per manifest hash, whole or not there at all.

    ${XDG_CACHE_HOME:-~/.cache}/wanlab/kernels/
      1f0c.../linux              the kernel, a program
              config             the full configuration
              manifest.json      every input; size and hash of every file here
              System.map         addresses of its functions
              modules.builtin    what `modprobe` would find built in
      building-...               a build at work, or one that was killed
      lock                       held by the build at work
      sources/                   source archives that were fetched
      sources.json               hashes of source archives, so that they are read once

A folder comes into being by renaming a finished one, so a killed build leaves no half of a kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BuildError

IMAGE_FILE = "linux"
MANIFEST_FILE = "manifest.json"
_HASH_DIGITS = 16
_BUILDING = "building-"


@dataclass(frozen=True, kw_only=True)
class Image:
    """A finished kernel in the cache."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def path(self) -> Path:
        """The kernel itself, a program to run."""
        return self.folder / IMAGE_FILE

    @property
    def config_path(self) -> Path:
        """Its full configuration."""
        return self.folder / "config"

    @property
    def manifest_hash(self) -> str:
        """What names this kernel in records."""
        return str(self.manifest["hash"])

    @property
    def release(self) -> str:
        """What `uname -r` says in it."""
        return str(self.manifest["release"])

    @property
    def size_bytes(self) -> int:
        """Size of the program."""
        return int(self.manifest["files"][IMAGE_FILE]["size_bytes"])


def cache_folder() -> Path:
    """Where this user's kernels are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "wanlab" / "kernels"


def folder_of(cache: Path, manifest_hash: str) -> Path:
    """The folder of the kernel with this manifest hash."""
    return cache / manifest_hash[:_HASH_DIGITS]


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and hash of every file in a folder, as a manifest holds them."""
    return {
        path.name: {"size_bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST_FILE
    }


def sha256_of(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def problem_with(folder: Path, manifest_hash: str) -> str | None:
    """Why the kernel in this folder cannot be used; None if it is whole."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "it has no manifest"
    except (OSError, ValueError) as error:
        return f"its manifest cannot be read ({error})"
    if not isinstance(manifest, dict) or manifest.get("hash") != manifest_hash:
        return "its manifest is another kernel's"
    files = manifest.get("files")
    if not isinstance(files, dict) or IMAGE_FILE not in files:
        return "its manifest names no kernel"
    return next(filter(None, (_file_problem(folder / name, files[name]) for name in files)), None)


def _file_problem(path: Path, expected: dict[str, Any]) -> str | None:
    try:
        size_bytes = path.stat().st_size
        if size_bytes != expected["size_bytes"]:
            return f"{path.name} has {size_bytes} bytes instead of {expected['size_bytes']}"
        if sha256_of(path) != expected["sha256"]:
            return f"{path.name} is not what was built (its sha256 differs)"
    except FileNotFoundError:
        return f"{path.name} is missing"
    except OSError as error:
        return f"{path.name} cannot be read ({error.strerror})"
    return None


def load(cache: Path, manifest_hash: str) -> Image | None:
    """The kernel with this hash if it is in the cache and whole, else None."""
    folder = folder_of(cache, manifest_hash)
    if problem_with(folder, manifest_hash) is not None:
        return None
    manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    return Image(folder=folder, manifest=manifest)


def images(cache: Path) -> Iterator[Image]:
    """All whole kernels in the cache, in the order of their names."""
    for path in sorted(cache.glob(f"*/{MANIFEST_FILE}")):
        try:
            name = str(json.loads(path.read_text(encoding="utf-8"))["hash"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if (image := load(cache, name)) is not None:
            yield image


def store(cache: Path, finished: Path, manifest: dict[str, Any]) -> Image:
    """Make a folder of finished files the kernel of its manifest's hash, in one step."""
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    (finished / MANIFEST_FILE).write_text(text, encoding="utf-8")
    for path in finished.iterdir():
        _to_disk(path)
    folder = folder_of(cache, manifest["hash"])
    if folder.exists():  # one that was found damaged, or is replaced on request
        shutil.rmtree(folder)
    finished.rename(folder)
    _to_disk(cache)
    return Image(folder=folder, manifest=manifest)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def prepare(cache: Path) -> None:
    """Make the cache's folder; say clearly why it cannot be used."""
    hint = "set XDG_CACHE_HOME to a folder where kernels can be built and kept"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"cannot make the folder {cache}: {error.strerror}", hint) from None
    if not os.access(cache, os.W_OK | os.X_OK):
        raise BuildError(f"no permission to write to {cache}", hint)
    if any(sign in str(cache) for sign in " :"):
        raise BuildError(f"the kernel does not build below {cache}: a blank or colon in it", hint)


@contextlib.contextmanager
def locked(cache: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the cache's lock; `waiting` is called once if another build holds it."""
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def building_folder(cache: Path) -> Iterator[Path]:
    """A folder to build in, removed in any case; call only while the lock is held.

    Whoever holds the lock is the only build, so what older ones left can be removed.
    """
    for path in cache.glob(f"{_BUILDING}*"):
        shutil.rmtree(path, ignore_errors=True)
    # A fixed name: the compiler must not see another path at every build.
    folder = cache / f"{_BUILDING}kernel"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
