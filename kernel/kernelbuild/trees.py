"""Source trees for a person to edit, and the unchanged trees to compare them with.

    trees/6.12-1f0c.../source/        a kernel's source with wanlab's patches; nothing changes it
                       build/         the folder in which edited trees are compiled (see kept.py)
                       build.json     what `build` contains
    FOLDER/.wanlab-tree.json          in a tree that a person edits: the base, and the tree above

The hash in the folder's name covers archive and patches, so a newer wanlab has another folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import source as sources
from .errors import BuildError
from .programs import run
from .progress import Progress
from .recipe import Recipe
from .treediff import as_patch, changes

MARK_FILE = ".wanlab-tree.json"
_FOLDER = "trees"
_UNFINISHED = "unfinished"
_HASH_DIGITS = 12
_KEY = re.compile(r"[0-9a-z.]+-[0-9a-f]+")
_GIT = (
    *("git", "-c", "user.name=wanlab", "-c", "user.email=wanlab@localhost", "-c", "gc.auto=0"),
    *("-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"),
    *("-c", "init.defaultBranch=main", "-c", "core.safecrlf=false"),
)


@dataclass(frozen=True)
class TreeMark:
    """The origin of an edited tree: the name of its base, and the key of the base's source."""

    base: str
    key: str


def tree_key(base: Recipe, archive_sha256: str) -> str:
    """Return the name of the folder of a base's source: equal if archive and patches are equal."""
    described = [archive_sha256, *(patch.sha256 for patch in base.patches)]
    digest = hashlib.sha256(json.dumps(described).encode()).hexdigest()
    return f"{base.base}-{digest[:_HASH_DIGITS]}"


def tree_folder(cache: Path, key: str) -> Path:
    """Return the folder of a base's source and of its builds."""
    return cache / _FOLDER / key


def provide_source(
    base: Recipe, archive: Path, archive_sha256: str, cache: Path, jobs: int, progress: Progress
) -> Path:
    """Return the folder of a base's patched source; unpack it if necessary. Hold the cache's lock."""
    folder = tree_folder(cache, tree_key(base, archive_sha256)) / "source"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.parent / _UNFINISHED
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        progress.phase(f"unpacking {archive}, once")
        sources.unpack(archive, unfinished, jobs)
        progress.phase(f"applying {len(base.patches)} patches")
        sources.apply_patches(base, unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def check_new_folder(folder: Path) -> None:
    """Raise BuildError unless a tree can be written to a folder: it must be missing or empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise BuildError(f"{folder} exists already", "name a folder that does not exist")
    if not folder.parent.is_dir():
        raise BuildError(f"there is no folder {folder.parent}", f"mkdir -p {folder.parent}")


def write_tree(base: Recipe, source: Path, folder: Path, progress: Progress) -> None:
    """Copy a base's source into a new folder to be edited, as a git repository if git is installed.

    If this is interrupted, the folder is removed.
    """
    existed = folder.exists()
    try:
        progress.phase(f"copying the source to {folder}")
        # The times stay: a file with another time than its source may have been edited.
        folder.mkdir(exist_ok=True)
        _checked("cp", "-a", "--reflink=auto", f"{source}/.", str(folder))
        mark = {"base": base.base, "source": source.parent.name}
        (folder / MARK_FILE).write_text(json.dumps(mark) + "\n", encoding="utf-8")
        if shutil.which("git"):
            progress.phase("making it a git repository")
            _make_repository(base, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            folder.mkdir(exist_ok=True)
        raise


def _make_repository(base: Recipe, folder: Path) -> None:
    _checked(*_GIT, "init", "--quiet", str(folder))
    exclude = folder / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text(f"/{MARK_FILE}\n", encoding="utf-8")
    _checked(*_GIT, "-C", str(folder), "add", "--all", "--force", ".", f":!{MARK_FILE}")
    subject = f"Linux {base.base} with the {len(base.patches)} patches of wanlab"
    _checked(*_GIT, "-C", str(folder), "commit", "--quiet", "--no-verify", "--message", subject)
    _checked(*_GIT, "-C", str(folder), "tag", "base")


def _checked(*command: str) -> None:
    done = run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command[:1])} failed: {done.stderr.strip()[-500:]}")


def read_mark(folder: Path) -> TreeMark:
    """Return the origin of an edited tree. Raises BuildError if `wanlab kernel tree` did not make it."""
    if not folder.is_dir():
        raise BuildError(
            f"there is no folder {folder}", f"make it with: wanlab kernel tree {folder}"
        )
    path = folder / MARK_FILE
    hint = (
        "make a tree with `wanlab kernel tree FOLDER` and edit that one; for a source of your own, "
        "make a patch with `git diff` and name it with --patch"
    )
    try:
        mark = json.loads(path.read_text(encoding="utf-8"))
        found = TreeMark(base=str(mark["base"]), key=str(mark["source"]))
    except FileNotFoundError:
        raise BuildError(f"{folder} was not made by `wanlab kernel tree`", hint) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{path} cannot be read: {error}", hint) from None
    if not _KEY.fullmatch(found.key):
        raise BuildError(f'{path} cannot be read: "{found.key}" is no source', hint)
    return found


def tree_patch(folder: Path, cache: Path) -> tuple[str, bytes]:
    """Return the base of an edited tree and its changes as a patch; b"" if nothing is changed."""
    mark = read_mark(folder)
    source = tree_folder(cache, mark.key) / "source"
    if not source.is_dir():
        raise BuildError(
            f"the source that {folder} was copied from is no longer in {source.parent}",
            "unpack it again: `wanlab kernel tree` with another folder. If wanlab is newer than the "
            "tree, carry the changes over with `git diff base` and `patch -p1`.",
        )
    return mark.base, as_patch(changes(source, folder))
