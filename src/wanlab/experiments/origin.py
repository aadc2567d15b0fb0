"""All that a run's result depends on, and the hash of it: the run's key.

    experiment   its source, as it travels; versions of its libraries
    parameters   all of them, and the seed
    wanlab       the files of the package
    kernel       the manifest of the image that the run boots
    programs     those that experiments usually start, with the shared libraries that they load

What is not in here must not change a result. A program's hash is kept with the time and the size of its
file, so that it is computed once: the time of its last change, which, other than that of its content,
nobody can set.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError
from wanlab.machine.embedded.image import find_image, load_image
from wanlab.machine.furniture import ENVIRONMENT
from wanlab.record.provenance import as_text

from .definition import KERNEL, Experiment
from .design import Parameters

FORMAT = 1
PACKAGE = Path(__file__).resolve().parents[1]
PROGRAMS = (
    *("bash", "dash", "python3", "ip", "tc", "ss", "iperf3", "ping", "ethtool", "tcpdump", "curl"),
    *("nginx", "ovs-vswitchd", "nc", "dig"),
)
"""What experiments usually start; those that are not installed count as missing."""
# Faces and lessons take no part in a run.
NO_PART = {"cli", "labs", "mininet", "web", "plot", "pytest_plugin"}
NO_PART_OF_EXPERIMENTS = {
    *(
        "charts.py",
        "display.py",
        "sentence.py",
        "report.py",
        "workers.py",
        "cluster.py",
        "sweep.py",
        "cache.py",
    ),
}


def origin_of(experiment: Experiment, parameters: Parameters) -> dict[str, Any]:
    """What a run of these parameters depends on, but for its seed."""
    return {
        "format": FORMAT,
        "experiment": experiment.source.digest(),
        "parameters": dict(parameters),
        "wanlab": code_hash(),
        "kernel": kernel_hash(str(parameters.get(KERNEL, ""))),
        "programs": program_hashes((*PROGRAMS, *experiment.programs)),
        "python": platform.python_version(),
    }


def key_of(origin: Mapping[str, Any], seed: int) -> str:
    return hashlib.sha256(as_text({**origin, "seed": seed}).encode()).hexdigest()


def differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """What two computers do not have in common, in words."""
    odd = []
    for name in sorted(wanted.keys() | found.keys()):
        one, other = wanted.get(name), found.get(name)
        if name == "programs" and isinstance(one, Mapping) and isinstance(other, Mapping):
            odd += [f"another {it}" for it in sorted(one) if one[it] != other.get(it)]
        elif one != other:
            odd.append(f"another {'code of wanlab' if name == 'wanlab' else name}")
    return odd


@cache
def code_hash() -> str:
    """Of wanlab's files that take part in a run."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        is_face = place.parts[0] in NO_PART
        if is_face or (place.parts[0] == "experiments" and path.name in NO_PART_OF_EXPERIMENTS):
            continue
        digest.update(f"{place}\0".encode() + path.read_bytes() + b"\0")
    for path in sorted((PACKAGE / "machine" / "programs").iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def kernel_hash(folder: str) -> str:
    """The manifest's, of the image that would be booted."""
    return (load_image(Path(folder)) if folder else find_image()).manifest_hash


@cache
def program_hashes(names: tuple[str, ...]) -> dict[str, str]:
    """SHA-256 of each program with its shared libraries; "missing" if it is not there."""
    found = {name: shutil.which(name, path=ENVIRONMENT["PATH"]) for name in sorted(set(names))}
    libraries = _libraries(path for path in found.values() if path)
    known = _read_known()
    before = dict(known)
    hashes = {}
    for name, path in found.items():
        parts = [path, *libraries.get(path, ())] if path else []
        digest = hashlib.sha256("".join(_hash_of(part, known) for part in parts).encode())
        hashes[name] = digest.hexdigest() if path else "missing"
    if known != before:
        _write_known(known)
    return hashes


def _libraries(programs: Iterable[str]) -> dict[str, list[str]]:
    """What the dynamic loader would load for each."""
    paths = list(programs)
    try:
        said = subprocess.run(
            ["ldd", *paths], capture_output=True, text=True, check=False, env={"LANG": "C"}
        ).stdout
    except OSError:
        return {}
    found: dict[str, list[str]] = {}
    program = paths[0] if len(paths) == 1 else ""
    for line in said.splitlines():
        if line.endswith(":") and not line.startswith(("\t", " ")):
            program = line[:-1]
        elif match := re.search(r"(/\S+) \(0x", line):
            found.setdefault(program, []).append(match[1])
    return {name: sorted(set(files)) for name, files in found.items()}


def _hash_of(path: str, known: dict[str, Any]) -> str:
    """From what is known, if the file is still the same by time and size."""
    try:
        real = os.path.realpath(path)
        state = Path(real).stat()
        said = known.get(real)
        if said and said[:2] == [state.st_ctime_ns, state.st_size]:
            return str(said[2])
        digest = hashlib.sha256(Path(real).read_bytes()).hexdigest()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    known[real] = [state.st_ctime_ns, state.st_size, digest]
    return digest


def cache_folder() -> Path:
    """The user's, for what experiments keep."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "wanlab" / "experiments"


def _read_known() -> dict[str, Any]:
    try:
        known = json.loads((cache_folder() / "programs.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_known(known: Mapping[str, Any]) -> None:
    folder = cache_folder()
    with contextlib.suppress(OSError):  # a home that cannot be written only costs time
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"programs.{os.getpid()}"
        made.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")
        made.replace(folder / "programs.json")
