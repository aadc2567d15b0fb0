"""Provides the tests: unpacks them from the kernel's source archive and compiles their programs.

Everything is kept in the user's cache, in a folder for each archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.errors import DevError
from dev.progress import run, run_quietly
from kernelbuild import RECIPE_FOLDER, cache_folder, load_recipe
from kernelbuild.progress import Progress
from kernelbuild.source import archive_hash, provide_archive

# What the tests need of the kernel to be compiled: its headers, and the tools that install them.
_UNPACKED = (
    "Makefile",
    "Kbuild",
    "Documentation/netlink",
    "arch/x86",
    "include",
    "lib",
    "scripts",
    "tools",
)
COMPILED = ("net", "net/mptcp", "net/af_unix", "net/netfilter", "net/tcp_ao")
PACKETDRILL_ADDRESS = "https://github.com/google/packetdrill"
# Later versions need Linux 6.16: they abort if the kernel's tcp_info is shorter than theirs.
PACKETDRILL_COMMIT = "f88d6e64ffbee1c893e60d33c043f8ec9027f642"


@dataclass(frozen=True)
class Sources:
    """Where the tests are: `selftests` is the kernel's tools/testing/selftests."""

    selftests: Path
    packetdrill: Path | None
    """The folder of google's packetdrill, with its own tests; None if it could not be fetched."""


def provide(packetdrill_address: str = PACKETDRILL_ADDRESS) -> Sources:
    """Return the tests, and prepare them first if this user's cache does not have them.

    The first time, this takes some minutes. Raises DevError if the source or a tool is missing.
    """
    cache = cache_folder()
    recipe = load_recipe(RECIPE_FOLDER)
    archive = provide_archive(recipe, None, cache, Progress(sys.stderr, 0))
    folder = cache.parent / "selftests" / archive_hash(archive, cache)[:16]
    if not folder.is_dir():
        with _made(folder) as made:
            _unpack(archive, made)
            _compile(made)
    return Sources(
        selftests=folder / "tools" / "testing" / "selftests",
        packetdrill=_provide_packetdrill(cache.parent / "selftests", packetdrill_address),
    )


def _unpack(archive: Path, folder: Path) -> None:
    members = [f"*/{name}" for name in _UNPACKED]
    command = ["tar", "xf", str(archive), "--strip-components=1", "--wildcards"]
    run(
        "unpack the kernel's tests",
        [*command, "--no-wildcards-match-slash", *members],
        folder=folder,
    )


def _compile(folder: Path) -> None:
    """Compile what can be compiled: some programs need newer headers than this computer has."""
    headers = ["make", "headers_install", "INSTALL_HDR_PATH=usr"]
    run("install the kernel's headers", headers, folder=folder)
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    include = f"KHDR_INCLUDES=-isystem {folder / 'usr' / 'include'}"
    for name in COMPILED:
        command = ["make", "-k", jobs, "-C", f"tools/testing/selftests/{name}", include]
        run_quietly(f"compile {name}", command, folder=folder)


def _provide_packetdrill(cache: Path, address: str) -> Path | None:
    folder = cache / f"packetdrill-{PACKETDRILL_COMMIT[:12]}"
    if folder.is_dir():
        return folder
    try:
        with _made(folder) as made:
            # A commit's hash proves its content, wherever it comes from.
            clone = ["git", "clone", "--quiet", "--no-checkout", address, "."]
            run("fetch packetdrill", clone, folder=made)
            run("check out packetdrill", ["git", "checkout", "-q", PACKETDRILL_COMMIT], folder=made)
            source = made / "gtests" / "net" / "packetdrill"
            run("configure packetdrill", ["./configure"], folder=source)
            run("compile packetdrill", ["make", "packetdrill"], folder=source)
    except DevError:
        return None
    return folder


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `folder` at the end, unless an error occurs."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as name:
        made = Path(name) / "made"
        made.mkdir()
        yield made
        made.rename(folder)


def names_of(folder: Path) -> Sequence[str]:
    """Return the names of the tests that the Makefile of a folder lists."""
    command = ["make", "-s", "--no-print-directory", "COLLECTION=.", "emit_tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"the tests of {folder.name} cannot be listed", done.stderr.strip())
    return sorted({line.partition(":")[2] for line in done.stdout.splitlines() if ":" in line})
