"""Finished kernels on disk: one complete folder per manifest hash.

    ${XDG_CACHE_HOME:-~/.cache}/wanlab/kernels/
      1f0c.../linux              the kernel, a program
              config             the full configuration
              manifest.json      every input; size and hash of every file here
              System.map         addresses of its functions
              modules.builtin    the modules that `modprobe` treats as built in
      building-kernel/           a running build, or one that was killed
                      source/    what is compiled, perhaps elsewhere: see `building_folder`
      lock                       held by the running build
      sources/                   source archives that were fetched
      sources.json               hashes of source archives, so that each is read only once
      variants/                  variants of the user (see variants.py)
      trees/                     sources to edit, and what is compiled from them (see trees.py)
      failed-....log             logs of failed builds

A folder is renamed into place when it is complete, so a killed build leaves no partial kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BuildError

IMAGE_FILE = "linux"
MANIFEST_FILE = "manifest.json"
_HASH_DIGITS = 16
SOURCE_FOLDER = "source"
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
        """The hash by which records name this kernel."""
        return str(self.manifest["hash"])

    @property
    def name(self) -> str:
        """The name for `--kernel`: "6.12". Manifests written before wanlab had Linux 7.3 lack it."""
        package = str(self.manifest["inputs"]["source"]["package"])
        return str(self.manifest.get("name") or package.removeprefix("linux-source-"))

    @property
    def release(self) -> str:
        """The output of `uname -r` inside this kernel."""
        return str(self.manifest["release"])

    @property
    def size_bytes(self) -> int:
        """Size of the program."""
        return int(self.manifest["files"][IMAGE_FILE]["size_bytes"])


def cache_folder() -> Path:
    """Return the folder of this user's kernels."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "wanlab" / "kernels"


def folder_of(cache: Path, manifest_hash: str) -> Path:
    """Return the folder of the kernel with this manifest hash."""
    return cache / manifest_hash[:_HASH_DIGITS]


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the size and hash of every file in a folder, as a manifest stores them."""
    return {
        path.name: {"size_bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST_FILE
    }


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def problem_with(folder: Path, manifest_hash: str) -> str | None:
    """Return why the kernel in this folder cannot be used; None if it is intact."""
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
    """Return the kernel with this hash if the cache has it intact, else None."""
    folder = folder_of(cache, manifest_hash)
    if problem_with(folder, manifest_hash) is not None:
        return None
    manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    return Image(folder=folder, manifest=manifest)


def images(cache: Path) -> Iterator[Image]:
    """Yield all intact kernels in the cache, sorted by name."""
    for path in sorted(cache.glob(f"*/{MANIFEST_FILE}")):
        if (image := image_in(path.parent)) is not None and folder_of(
            cache, image.manifest_hash
        ) == path.parent:
            yield image


def image_in(folder: Path) -> Image | None:
    """Return the kernel in a folder of any name if it is intact, else None."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        name = str(manifest["hash"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Image(folder=folder, manifest=manifest) if problem_with(folder, name) is None else None


def newest_named(name: str, cache: Path) -> Image | None:
    """Return the kernel of that name that was built last, or None."""
    named = [image for image in images(cache) if image.name == name]
    return max(named, key=lambda image: image.path.stat().st_mtime_ns, default=None)


def store(cache: Path, finished: Path, manifest: dict[str, Any]) -> Image:
    """Move a folder of finished files into the cache as the kernel of its manifest, atomically."""
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    (finished / MANIFEST_FILE).write_text(text, encoding="utf-8")
    for path in finished.iterdir():
        _to_disk(path)
    folder = folder_of(cache, manifest["hash"])
    if folder.exists():  # a damaged kernel, or one to replace (--again)
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
    """Create the cache folder; raise BuildError with the reason if it cannot be used."""
    hint = "set XDG_CACHE_HOME to a folder where kernels can be built and kept"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"cannot make the folder {cache}: {error.strerror}", hint) from None
    if not os.access(cache, os.W_OK | os.X_OK):
        raise BuildError(f"no permission to write to {cache}", hint)


def check_path(folder: Path) -> None:
    """Raise BuildError if the kernel's Makefile refuses a folder: one with a blank or colon."""
    if _is_refused_by_make(folder):
        raise BuildError(
            f"the kernel does not build in {folder}: its path contains a blank or colon",
            "set XDG_CACHE_HOME to another folder",
        )


def _is_refused_by_make(folder: Path) -> bool:
    return any(sign in str(folder.resolve()) for sign in " :\t")


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
    """Yield a folder to build in, and remove it in any case; hold the lock while you call this.

    The holder of the lock is the only build, so it can remove what older builds left.
    """
    for path in cache.glob(f"{_BUILDING}*"):
        shutil.rmtree(path, ignore_errors=True)
    # The name is fixed so that the compiler sees the same path in every build.
    folder = cache / f"{_BUILDING}kernel"
    folder.mkdir()
    source = folder / SOURCE_FOLDER
    try:
        if _is_refused_by_make(source):
            source.symlink_to(_folder_elsewhere())
        else:
            source.mkdir()
        yield folder
    finally:
        folders = [source.resolve(), folder]
        try:
            _remove(folders)
        finally:  # the removal takes seconds, and may itself be interrupted
            _remove(folders)


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _folder_elsewhere() -> Path:
    """Make an empty folder for the source outside the cache, whose path `make` refuses.

    Its name is fixed, so a build removes what a killed one left.
    """
    folder = Path(tempfile.gettempdir()) / f"wanlab-kernel-{os.getuid()}"
    check_path(folder)
    shutil.rmtree(folder, ignore_errors=True)  # does not follow a link
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise BuildError(f"cannot make the folder {folder}: {error.strerror}") from None
    return folder
