"""The folder in which the variants of one base are compiled, one after the other.

Its object files stay, so that the next variant compiles only the files that differ from the one before.
The files of the source are hard links to the unchanged source until a variant changes them:

    kept = KeptBuild(folder, tools)           trees/6.12-1f0c.../
    kept.update(patched_files(...))           writes and restores the files that differ
    kept.is_configured(key)                   whether the configuration is still right
    with kept.compiling(): ...                an interruption leaves only files that `make` can trust

`build.json` says what the folder contains. Before a file is written, its entry is removed, so that a
killed build is never mistaken for a finished one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import source as sources
from .errors import BuildError
from .programs import run
from .recipe import Recipe

_STATE_FILE = "build.json"
# Exists while `make` runs. If it is still there, make was stopped, and a file that is newer than this
# one may be half a file.
_COMPILING_FILE = "compiling"
_UNFINISHED = "unfinished-build"
_PRODUCTS = ("*.o", "*.a", "*vmlinux*", "linux")
_UNKNOWN = "unknown"
_LAST_SECONDS = 15  # more than the time that make gets to end


class KeptBuild:
    """The build folder beside a base's source, and what is known about it."""

    def __init__(self, folder: Path, tools: Mapping[str, str]) -> None:
        self.folder = folder
        self.source = folder / "source"
        self.tree = folder / "build"
        self._compiling = folder / _COMPILING_FILE
        self._state = _read_state(folder / _STATE_FILE)
        if self._state.get("tools") != dict(tools) or not self.tree.is_dir():
            self._state = {"tools": dict(tools)}
            self.is_new = True
        else:
            self.is_new = False

    def prepare(self, *, again: bool = False) -> None:
        """Make the folder if it is missing, was made with other tools, or is wanted `again`."""
        if again:
            self._state = {"tools": self._state["tools"]}
            self.is_new = True
        if not self.is_new:
            self._remove_halves()
            return
        (self.folder / _STATE_FILE).unlink(missing_ok=True)
        shutil.rmtree(self.tree, ignore_errors=True)
        unfinished = self.folder / _UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        done = run(["cp", "-al", self.source, unfinished], capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"cannot copy {self.source}: {done.stderr.strip()[-500:]}")
        unfinished.rename(self.tree)
        self._compiling.unlink(missing_ok=True)
        self._write_state()

    @property
    def is_complete(self) -> bool:
        """Whether a kernel has been compiled here: the next one needs only the files that differ."""
        return bool(self._state.get("complete"))

    @property
    def steps(self) -> int:
        """The number of steps that `make` has performed here before the first kernel was complete."""
        return int(self._state.get("steps", 0))

    def update(self, wanted: Mapping[str, bytes | None]) -> list[str]:
        """Let these files have these contents (None: be missing) and all others be the source's.

        Files that are right keep their time, so `make` does not compile them. Returns the others.
        """
        present: dict[str, str] = self._state.setdefault("changes", {})
        hashes = {path: _hash(content) for path, content in wanted.items()}
        different = sorted(
            path for path in {*present, *hashes} if present.get(path) != hashes.get(path)
        )
        present.update(dict.fromkeys(different, _UNKNOWN))
        self._write_state()
        for path in different:
            if path in wanted:
                self._write(path, wanted[path])
                present[path] = hashes[path]
            else:
                original = self.source / path
                self._write(path, original.read_bytes() if original.is_file() else None)
                del present[path]
        self._write_state()
        return different

    def is_configured(self, key: str) -> bool:
        """Whether the tree has been configured for this key (see `configuration_key`)."""
        return self._state.get("configuration") == key and (self.tree / ".config").is_file()

    def configuration_key(self, requested: str) -> str:
        """Return a hash of the requested options and of the changed files that define options."""
        present = self._state.get("changes", {})
        defining = {path: present[path] for path in sorted(present) if "Kconfig" in path}
        return _hash(json.dumps([requested, defining]).encode())

    def configured(self, key: str | None) -> None:
        """Note that the tree is configured for this key; None: that its configuration is unknown."""
        self._state["configuration"] = key
        self._write_state()

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Let `make` work in the tree; a note says so in case that this process is killed.

        After an interruption, the note covers the files of the last seconds: `make` may have been
        killed before it could remove those that it had not finished.
        """
        self._compiling.touch()
        try:
            yield
        except BuildError:  # make has ended by itself
            self._compiling.unlink(missing_ok=True)
            raise
        except BaseException:
            since_s = time.time() - _LAST_SECONDS
            os.utime(self._compiling, (since_s, since_s))
            raise
        else:
            self._compiling.unlink(missing_ok=True)

    def compiled(self, steps: int, *, complete: bool) -> None:
        """Note that `make` performed so many steps, and whether the kernel is now complete."""
        if not self.is_complete:
            self._state["steps"] = self.steps + steps
        self._state["complete"] = complete or self.is_complete
        self._write_state()

    def _write(self, path: str, content: bytes | None) -> None:
        target = self.tree / path
        if content is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        # A new file: the one in the tree may be a hard link to the source's.
        temporary = target.with_name(f".{target.name}.new")
        temporary.write_bytes(content)
        original = self.source / path
        # A new file may be a script; for a source, the mode makes no difference.
        temporary.chmod(original.stat().st_mode if original.is_file() else 0o755)
        temporary.replace(target)

    def _remove_halves(self) -> None:
        """Remove the files that a stopped `make` may not have finished."""
        if not self._compiling.exists():
            return
        began_ns = self._compiling.stat().st_mtime_ns
        for pattern in _PRODUCTS:
            for path in self.tree.rglob(pattern):
                if path.is_file() and path.stat().st_mtime_ns >= began_ns:
                    path.unlink()
        self._compiling.unlink()

    def _write_state(self) -> None:
        temporary = self.folder / f"{_STATE_FILE}.{os.getpid()}"
        temporary.write_text(json.dumps(self._state, indent=1), encoding="utf-8")
        temporary.replace(self.folder / _STATE_FILE)


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _hash(content: bytes | None) -> str:
    return "missing" if content is None else hashlib.sha256(content).hexdigest()


def patched_files(
    recipe: Recipe, source: Path, first: int, scratch: Path
) -> dict[str, bytes | None]:
    """Apply a recipe's patches from number `first` on to a source; return the files that change.

    The source itself stays; only the files that the patches name are copied to `scratch`. A file that
    is removed has None.
    """
    names = list(
        dict.fromkeys(
            name for patch in recipe.patches[first:] for name in sources.named_files(patch)
        )
    )
    scratch.mkdir()
    for name in names:
        if (source / name).is_file():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, scratch / name)
    sources.apply_patches(recipe, scratch, first=first)
    changed: dict[str, bytes | None] = {}
    for path in sorted({*names, *_files(scratch)}):
        new = _content(scratch / path)
        if new != _content(source / path):
            changed[path] = new
    return changed


def _files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
