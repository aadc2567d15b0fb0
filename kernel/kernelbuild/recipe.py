"""The recipe of a kernel: everything that it is built from, read from a folder and checked as a whole.

recipe.toml      the kernels by name: source, known archives, folder of patches; settings of the build
config/          configuration fragments of all kernels (see fragments.py)
config/NAME/     fragments of one kernel only
patches/series   names of the patches in the order in which they are applied
patches/         our changes; the message at the top of each says why it exists
patches-NAME/    the patches of a newer kernel; its series may also name files of patches/

A *variant* is one of these kernels with patches of the user (see variants.py).
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

FORMAT = 2


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
    path: Path


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that a kernel is built from, except the compiler."""

    folder: Path
    name: str
    """The name for `--kernel`: "6.12"; for a variant, the name that the user has chosen."""
    base: str
    """The name of this kernel in recipe.toml; for a variant, of the kernel that it changes: "6.12"."""
    package: str
    source_paths: tuple[Path, ...]
    suite: str
    """The suite of Debian to fetch the package from if the computer's own sources lack it, or ""."""
    archives: tuple[Archive, ...]
    compiler: str
    steps: int
    disk_bytes: int
    timestamp: str
    patches: tuple[Patch, ...]
    patches_folder: str
    """The folder of our patches, in `folder`."""
    options: tuple[Option, ...]

    def archive(self, sha256: str) -> Archive | None:
        """Return the known archive with this hash, or None."""
        return next((archive for archive in self.archives if archive.sha256 == sha256), None)

    @property
    def is_variant(self) -> bool:
        return self.name != self.base


def load_recipe(folder: Path, name: str = "") -> Recipe:
    """Read the recipe of one kernel, or of the default one, from a folder.

    Raises BuildError for missing or inconsistent parts, and for an unknown name.
    """
    table = _table(folder)
    try:
        name = name or table["default"]
        if name not in table["kernel"]:
            known = ", ".join(table["kernel"])
            raise BuildError(f'{folder / "recipe.toml"} has no kernel "{name}"', f"it has: {known}")
        return _recipe(folder, table, name)
    except (KeyError, TypeError, AttributeError) as error:
        path = folder / "recipe.toml"
        raise BuildError(f"{path}: {error} is missing or has the wrong type") from None


def kernel_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the recipe's kernels, the default one first."""
    table = _table(folder)
    try:
        default = str(table["default"])
        return tuple(dict.fromkeys([default, *table["kernel"]]))
    except (KeyError, TypeError) as error:
        path = folder / "recipe.toml"
        raise BuildError(f"{path}: {error} is missing or has the wrong type") from None


def _table(folder: Path) -> dict[str, Any]:
    path = folder / "recipe.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "the kernel's recipe is part of wanlab's source tree and of its wheel"
        raise BuildError(f"there is no recipe at {path}", hint) from None
    except tomllib.TOMLDecodeError as error:
        raise BuildError(f"{path}: {error}") from None
    if table.get("format") != FORMAT:
        raise BuildError(f"{path} has format {table.get('format')}; this program reads {FORMAT}")
    return table


def _recipe(folder: Path, table: Mapping[str, Any], name: str) -> Recipe:
    kernel, build = table["kernel"][name], table["build"]
    return Recipe(
        folder=folder,
        name=name,
        base=name,
        package=kernel["package"],
        source_paths=tuple(Path(path) for path in kernel["paths"]),
        suite=kernel.get("suite", ""),
        archives=tuple(Archive(**archive) for archive in kernel["archive"]),
        compiler=build["compiler"],
        steps=kernel["steps"],
        disk_bytes=build["disk_bytes"],
        timestamp=build["timestamp"],
        patches=load_patches(folder / kernel["patches"]),
        patches_folder=kernel["patches"],
        options=load_fragments(folder / "config", name),
    )


def load_patches(folder: Path) -> tuple[Patch, ...]:
    """Read the patches in the order of `series`, which must name every patch of its folder once.

    It may also name patches of another folder: "../patches/0001-name.patch".
    """
    order = _series(folder)
    files = {path.name for path in folder.glob("*.patch")}
    files |= {name for name in order if "/" in name and (folder / name).is_file()}
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
    return tuple(_our_patch(folder / name) for name in order)


def _our_patch(path: Path) -> Patch:
    patch = read_patch(path)
    if not (patch.subject and patch.message):
        raise BuildError(f"{path.name}: its message does not say why the patch exists")
    return patch


def read_patch(path: Path) -> Patch:
    """Read a patch: a message and a diff in the format of `git format-patch`, or a plain diff.

    The subject and the message of a plain diff are "". Raises BuildError if there is no diff.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise BuildError(f"cannot read the patch {path}: {error.strerror}") from None
    start = re.search(r"^(diff --git|--- )", text, re.MULTILINE)
    if start is None:
        raise BuildError(f"{path.name} contains no diff")
    header, _, rest = text[: start.start()].partition("\n\n")
    subject = re.search(r"^Subject: (?:\[[^]]*\] )?(.*(?:\n .*)*)", header, re.MULTILINE)
    message = f"\n{rest}".partition("\n---\n")[0].strip()
    diff = text[start.start() :].encode("utf-8", errors="surrogateescape")
    return Patch(
        file=path.name,
        sha256=hashlib.sha256(diff).hexdigest(),
        subject=" ".join(subject[1].split()) if subject else "",
        message=message,
        path=path,
    )


def _series(folder: Path) -> list[str]:
    path = folder / "series"
    if not path.is_file():
        raise BuildError(f"{path} is missing", "it lists the patches in the order to apply them")
    lines = (
        line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line]
