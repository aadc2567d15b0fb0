"""The recipe: what the kernel is made from. Read from a folder, checked as a whole, frozen.

recipe.toml      source, known archives, a table for each patch
config/          fragments (see fragments.py)
patches/series   names of patches in the order in which they are applied
patches/         *.patch, and for each a page (*.md) that says why
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BuildError
from .fragments import Option, load_fragments

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A source archive that is known and may be built from."""

    version: str
    origin: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A change of ours to the kernel: file, hash, why in one line, and the page that explains."""

    file: str
    sha256: str
    reason: str
    page: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that a kernel is made from, but for the compiler."""

    folder: Path
    series: str
    package: str
    source_paths: tuple[Path, ...]
    archives: tuple[Archive, ...]
    compiler: str
    steps: int
    disk_bytes: int
    timestamp: str
    patches: tuple[Patch, ...]
    options: tuple[Option, ...]

    def archive(self, sha256: str) -> Archive | None:
        """The known archive with this hash."""
        return next((archive for archive in self.archives if archive.sha256 == sha256), None)


def load_recipe(folder: Path) -> Recipe:
    """Read a recipe's folder; whatever is missing or does not agree is an error."""
    path = folder / "recipe.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "the kernel's recipe is part of wanlab's source tree, not of an installed package"
        raise BuildError(f"there is no recipe at {path}", hint) from None
    except tomllib.TOMLDecodeError as error:
        raise BuildError(f"{path}: {error}") from None
    try:
        return _recipe(folder, table)
    except (KeyError, TypeError) as error:
        raise BuildError(f"{path}: {error} is missing or has another form than expected") from None


def _recipe(folder: Path, table: Mapping[str, Any]) -> Recipe:
    if table["format"] != FORMAT:
        raise BuildError(f"recipe.toml has format {table['format']}, this program reads {FORMAT}")
    source, build = table["source"], table["build"]
    return Recipe(
        folder=folder,
        series=source["series"],
        package=source["package"],
        source_paths=tuple(Path(path) for path in source["paths"]),
        archives=tuple(Archive(**archive) for archive in source["archive"]),
        compiler=build["compiler"],
        steps=build["steps"],
        disk_bytes=build["disk_bytes"],
        timestamp=build["timestamp"],
        patches=load_patches(folder / "patches", table.get("patch", [])),
        options=load_fragments(folder / "config"),
    )


def load_patches(folder: Path, tables: list[dict[str, str]]) -> tuple[Patch, ...]:
    """The patches in the order of `series`; every one needs its table, its file and a reason."""
    by_name = {table["file"]: table for table in tables}
    order = _series(folder)
    files = {path.name for path in folder.glob("*.patch")}
    problems = [f"{name}: named twice in patches/series" for name in order if order.count(name) > 1]
    problems += [
        f"{name}: in patches/series, but no such file" for name in sorted({*order} - files)
    ]
    problems += [
        f"{name}: a file that patches/series does not name" for name in sorted(files - {*order})
    ]
    problems += [
        f"{name}: no [[patch]] table in recipe.toml" for name in order if name not in by_name
    ]
    problems += [
        f"{name}: a [[patch]] table for a patch that patches/series does not name"
        for name in by_name
        if name not in order
    ]
    problems += [
        f"{name}: its reason is empty" for name in by_name if not by_name[name]["reason"].strip()
    ]
    if problems:
        raise BuildError(
            "the list of patches does not agree with itself:\n  " + "\n  ".join(problems)
        )
    return tuple(
        Patch(
            file=name,
            sha256=hashlib.sha256((folder / name).read_bytes()).hexdigest(),
            reason=by_name[name]["reason"],
            page=by_name[name]["page"],
        )
        for name in order
    )


def _series(folder: Path) -> list[str]:
    path = folder / "series"
    if not path.is_file():
        raise BuildError(f"{path} is missing", "it names the patches in the order to apply them")
    lines = (
        line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line]


def missing_pages(recipe: Recipe) -> list[str]:
    """Pages that patches name and that are not there. A build does not need them; readers do."""
    folder = recipe.folder / "patches"
    return [patch.page for patch in recipe.patches if not (folder / patch.page).is_file()]
