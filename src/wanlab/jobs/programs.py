"""Hashes of the programs that runs start, each with the shared libraries that it loads.

A hash is stored with the size and the change time of its file, so that it is computed once. The change
time (ctime) cannot be set, so it distinguishes two builds to which a package manager has given the same
modification time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.user_cache import user_cache_folder

PROGRAMS = (
    "bash",
    "dash",
    "python3",
    "ip",
    "tc",
    "ss",
    "iperf3",
    "ping",
    "ethtool",
    "tcpdump",
    "curl",
    "nginx",
    "ovs-vswitchd",
    "nc",
    "dig",
)
"""Programs that experiments usually start. One that is not installed counts as missing."""

StoredHash = tuple[int, int, str]
"""The change time in ns and the size in bytes of a file, and its SHA-256."""


def program_path(name: str) -> str | None:
    """Return the program that a node would start, or None if it is not installed."""
    return shutil.which(name, path=ENVIRONMENT["PATH"])


@cache
def program_hashes(names: tuple[str, ...]) -> dict[str, str]:
    """Return the SHA-256 of each program with its shared libraries; "missing" if it is not installed."""
    paths = {name: program_path(name) for name in sorted(set(names))}
    libraries = _libraries_of(path for path in paths.values() if path)
    stored = _read_stored_hashes()
    before = dict(stored)
    hashes = {}
    for name, path in paths.items():
        files = [path, *libraries.get(path, ())] if path else []
        digest = hashlib.sha256("".join(_hash_of(file, stored) for file in files).encode())
        hashes[name] = digest.hexdigest() if path else "missing"
    if stored != before:
        _write_stored_hashes(stored)
    return hashes


def experiments_folder() -> Path:
    """Return the user's folder for the data that experiments keep between processes."""
    return user_cache_folder() / "experiments"


def _libraries_of(programs: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths of the libraries of each program, as ldd(1) lists them."""
    paths = list(programs)
    try:
        output = subprocess.run(
            ["ldd", *paths], capture_output=True, text=True, check=False, env={"LANG": "C"}
        ).stdout
    except OSError:
        return {}
    libraries: dict[str, list[str]] = {}
    program = paths[0] if len(paths) == 1 else ""
    for line in output.splitlines():
        if line.endswith(":") and not line.startswith(("\t", " ")):
            program = line[:-1]
        elif match := re.search(r"(/\S+) \(0x", line):
            libraries.setdefault(program, []).append(match[1])
    return {program: sorted(set(files)) for program, files in libraries.items()}


def _hash_of(path: str, stored: dict[str, StoredHash]) -> str:
    """Return the stored hash if the file still has the same change time and size, or compute it."""
    try:
        real_path = os.path.realpath(path)
        status = Path(real_path).stat()
        known = stored.get(real_path)
        if known and known[:2] == (status.st_ctime_ns, status.st_size):
            return known[2]
        digest = hashlib.sha256(Path(real_path).read_bytes()).hexdigest()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    stored[real_path] = (status.st_ctime_ns, status.st_size, digest)
    return digest


def _read_stored_hashes() -> dict[str, StoredHash]:
    """Return the stored hashes by path; a file that is damaged counts as empty."""
    try:
        data = json.loads((experiments_folder() / "programs.json").read_text(encoding="utf-8"))
        return {
            str(path): (int(changed_ns), int(size), str(digest))
            for path, (changed_ns, size, digest) in data.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write_stored_hashes(hashes: Mapping[str, StoredHash]) -> None:
    folder = experiments_folder()
    with contextlib.suppress(OSError):  # without a writable home it only takes longer
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"programs.{os.getpid()}"
        unfinished.write_text(json.dumps(hashes, indent=1, sort_keys=True), encoding="utf-8")
        unfinished.replace(folder / "programs.json")
