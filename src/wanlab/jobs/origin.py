"""The origin of a result: everything that it depends on. Its hash is the key of the result.

    inputs       files: an experiment's source, a unit of the course, a submission
    parameters   all of them, and the seed
    clock        virtual or real, unless the inputs choose it
    wanlab       the files of the package that take part
    kernel       the manifest of the image that would boot
    cpu          the processor of hosts and routers, unless the inputs choose it
    programs     the usual programs, with the shared libraries that they load
    python       its version

Nothing else may change a result.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

from wanlab.machine.defaults import user_default
from wanlab.machine.embedded.image import find_image
from wanlab.record.provenance import as_text
from wanlab.topology.cpu import Processor, cpu_words, read_cpu

from .programs import PROGRAMS, program_hashes

FORMAT = 2
PACKAGE = Path(__file__).resolve().parents[1]
UNINVOLVED_FOLDERS = frozenset(
    ("calibration", "cli", "gallery", "labs", "mininet", "plot", "pytest_plugin", "sweep", "web")
)
"""Folders of the package that take no part in a run: user interfaces, lessons, figures, and sweeps. The
key covers all others, so a new folder counts unless it is added here."""

Value = str | int | float | bool


class Origin(TypedDict):
    """What a result depends on, except for its seed. It is stored as JSON beside the result."""

    format: int
    inputs: Mapping[str, str]
    """The SHA-256 of each."""
    parameters: Mapping[str, Value]
    clock: str
    wanlab: str
    kernel: str
    cpu: Mapping[str, object]
    """All of its costs; empty if computing takes no time."""
    programs: Mapping[str, str]
    python: str


def chosen_processor(cpu: Processor | str | Mapping[str, object] | None) -> Processor | None:
    """Return the processor of hosts and routers: the one chosen, or with None the user's default."""
    return read_cpu(user_default().cpu if cpu is None else cpu)


def current_origin(
    inputs: Mapping[str, str],
    *,
    parameters: Mapping[str, Value] | None = None,
    clock: str = "",
    kernel: str = "",
    cpu: Processor | str | Mapping[str, object] | None = None,
    programs: Iterable[str] = (),
    uninvolved_folders: frozenset[str] = UNINVOLVED_FOLDERS,
) -> Origin:
    """Return the origin of what this computer would now make of these inputs.

    `kernel` is the name or folder of the kernel that boots (default: the one that would boot), `cpu`
    is a processor as `read_cpu` reads it (default: the user's), and `programs` are those that are
    started besides the usual ones.
    """
    return {
        "format": FORMAT,
        "inputs": dict(inputs),
        "parameters": dict(parameters or {}),
        "clock": clock,
        "wanlab": code_hash(PACKAGE, uninvolved_folders),
        "kernel": kernel_hash(kernel or user_default().kernel),
        "cpu": cpu_words(chosen_processor(cpu)),
        "programs": program_hashes((*PROGRAMS, *programs)),
        "python": platform.python_version(),
    }


def key_of(origin: Origin, seed: int) -> str:
    """Return the key of a result: the hash of its origin and its seed."""
    return hashlib.sha256(as_text({**origin, "seed": seed}).encode()).hexdigest()


def differences(expected: Origin, actual: Origin) -> list[str]:
    """Describe the differences between the origins of the same job on two computers."""
    different = []
    for name in sorted(expected.keys() | actual.keys()):
        ours, theirs = expected.get(name), actual.get(name)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            parts = sorted(ours.keys() | theirs.keys())
            different += [part for part in parts if ours.get(part) != theirs.get(part)]
        elif ours != theirs:
            different.append("wanlab code" if name == "wanlab" else name)
    return [f"different {name}" for name in different]


def file_hashes(folder: Path, label: str, ignored: Iterable[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder, except for compiled files, as "LABEL/PATH"."""
    return {
        f"{label}/{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.name not in ignored and "__pycache__" not in path.parts and path.is_file()
    }


@cache
def code_hash(
    package: Path = PACKAGE, uninvolved_folders: frozenset[str] = UNINVOLVED_FOLDERS
) -> str:
    """Return the hash of wanlab's files that take part in a run, names and contents."""
    digest = hashlib.sha256()
    for path in _involved_files(package, uninvolved_folders):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _involved_files(package: Path, uninvolved_folders: frozenset[str]) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        folders = {str(folder) for folder in path.relative_to(package).parents}
        is_involved = not folders & uninvolved_folders
        if is_involved and path.parent.name != "__pycache__" and path.is_file():
            yield path


@cache
def kernel_hash(kernel: str) -> str:
    """Return the hash of the manifest of the kernel of this name or in this folder; "": the default."""
    return find_image(kernel).manifest_hash
