"""The recipe: everything that the kernel is built from, read from a folder and checked as a whole.

recipe.toml      the source, the known archives, settings of the build
config/          configuration fragments (see fragments.py)
patches/series   names of the patches in the order in which they are applied
patches/         our changes; the message at the top of each says why it exists
"""

from __future__ import annotations

import hashlib
import re
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
    """A known source archive, from which the kernel may be built."""

    version: str
    origin: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Patch:
    """One of wanlab's changes to the kernel.

    `sha256` covers the diff and not the message: rewording a message builds no new kernel.
    """

    file: str
    sha256: str
    subject: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that a kernel is built from, except the compiler."""

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
        """Return the known archive with this hash, or None."""
        return next((archive for archive in self.archives if archive.sha256 == sha256), None)


def load_recipe(folder: Path) -> Recipe:
    """Read a recipe from its folder. Raise BuildError for missing or inconsistent parts."""
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
        raise BuildError(f"{path}: {error} is missing or has the wrong type") from None


def _recipe(folder: Path, table: Mapping[str, Any]) -> Recipe:
    if table["format"] != FORMAT:
        raise BuildError(f"recipe.toml has format {table['format']}; this program reads {FORMAT}")
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
        patches=load_patches(folder / "patches"),
        options=load_fragments(folder / "config"),
    )


def load_patches(folder: Path) -> tuple[Patch, ...]:
    """Read the patches in the order of `series`, which must name every patch once."""
    order = _series(folder)
    files = {path.name for path in folder.glob("*.patch")}
    problems = [
        f"{name}: listed twice in patches/series" for name in order if order.count(name) > 1
    ]
    problems += [
        f"{name}: listed in patches/series, but there is no such file"
        for name in sorted({*order} - files)
    ]
    problems += [f"{name}: not listed in patches/series" for name in sorted(files - {*order})]
    if problems:
        raise BuildError("patches/series is inconsistent:\n  " + "\n  ".join(problems))
    return tuple(_patch(folder / name) for name in order)


def _patch(path: Path) -> Patch:
    """Split a patch in the format of `git format-patch` into its message and its diff."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    start = re.search(r"^(diff --git|--- )", text, re.MULTILINE)
    if start is None:
        raise BuildError(f"{path.name}: there is no diff in it")
    header, _, rest = text[: start.start()].partition("\n\n")
    subject = re.search(r"^Subject: (?:\[[^]]*\] )?(.*(?:\n .*)*)", header, re.MULTILINE)
    message = f"\n{rest}".partition("\n---\n")[0].strip()
    if subject is None or not message:
        raise BuildError(f"{path.name}: its message does not say why the patch exists")
    diff = text[start.start() :].encode("utf-8", errors="surrogateescape")
    return Patch(
        file=path.name,
        sha256=hashlib.sha256(diff).hexdigest(),
        subject=" ".join(subject[1].split()),
        message=message,
    )


def _series(folder: Path) -> list[str]:
    path = folder / "series"
    if not path.is_file():
        raise BuildError(f"{path} is missing", "it lists the patches in the order to apply them")
    lines = (
        line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line]
