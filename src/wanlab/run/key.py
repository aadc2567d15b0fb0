"""The key of a run: the hash of everything that its result depends on.

    experiment   its source files, and the versions of its libraries
    parameters   all of them, and the seed
    wanlab       the files of the package that take part in a run
    kernel       the manifest of the image that the run boots
    programs     the usual programs, with the shared libraries that they load

Nothing else may change a result.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

from wanlab.machine.embedded.image import find_image
from wanlab.record.provenance import as_text

from .definition import KERNEL, Definition
from .design import Parameters
from .programs import PROGRAMS, program_hashes

FORMAT = 1
PACKAGE = Path(__file__).resolve().parents[1]
UNINVOLVED_FOLDERS = {"cli", "gallery", "labs", "mininet", "plot", "pytest_plugin", "sweep", "web"}
"""Folders of the package that take no part in a run: user interfaces, lessons, figures, and sweeps. The
key covers all others, so a new folder counts unless it is added here."""


class Origin(TypedDict):
    """The inputs of a run, except for its seed. They are stored as JSON beside the result."""

    format: int
    experiment: str
    parameters: Parameters
    wanlab: str
    kernel: str
    programs: Mapping[str, str]
    python: str


def origin_of(definition: Definition, parameters: Parameters) -> Origin:
    """Return the inputs of a run with these parameters, except for its seed."""
    return {
        "format": FORMAT,
        "experiment": definition.source.digest(),
        "parameters": dict(parameters),
        "wanlab": code_hash(),
        "kernel": kernel_hash(str(parameters.get(KERNEL, ""))),
        "programs": program_hashes((*PROGRAMS, *definition.programs)),
        "python": platform.python_version(),
    }


def key_of(origin: Origin, seed: int) -> str:
    return hashlib.sha256(as_text({**origin, "seed": seed}).encode()).hexdigest()


def differences(expected: Origin, actual: Origin) -> list[str]:
    """Describe the differences between the origins of the same run on two computers."""
    different = []
    for name in sorted(expected.keys() | actual.keys()):
        ours, theirs = expected.get(name), actual.get(name)
        if name == "programs" and isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            different += [
                f"different {program}"
                for program in sorted(ours)
                if ours[program] != theirs.get(program)
            ]
        elif ours != theirs:
            different.append(f"different {'wanlab code' if name == 'wanlab' else name}")
    return different


@cache
def code_hash(package: Path = PACKAGE) -> str:
    """Return the hash of wanlab's files that take part in a run, names and contents."""
    digest = hashlib.sha256()
    for path in _involved_files(package):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _involved_files(package: Path) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        folders = path.relative_to(package).parts[:-1]
        is_involved = not folders or folders[0] not in UNINVOLVED_FOLDERS
        if is_involved and "__pycache__" not in folders and path.is_file():
            yield path


@cache
def kernel_hash(kernel: str) -> str:
    """Return the hash of the manifest of the kernel of this name or in this folder; "": the default."""
    return find_image(kernel).manifest_hash
