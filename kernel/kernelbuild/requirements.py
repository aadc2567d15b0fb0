"""Check, before a build starts, that the computer has everything that the build needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from .errors import BuildError
from .programs import run

# Each program, and the Debian package that contains it.
PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "objcopy": "binutils",
    "strip": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "patch": "patch",
    "gzip": "gzip",
    "awk": "mawk",
}


def missing_packages(programs: Iterable[str]) -> list[str]:
    """Return the Debian packages of the programs that this computer lacks, without repetition."""
    wanted = (PROGRAMS[program] for program in programs if shutil.which(program) is None)
    packages = list(dict.fromkeys(wanted))
    if "gcc" not in packages and not _headers_present():
        packages.append("libc6-dev")
    return packages


def _headers_present() -> bool:
    """Return whether the C library's headers are installed; User-Mode Linux includes them."""
    command = ["gcc", "-x", "c", "-fsyntax-only", "-"]
    source = b"#include <sys/ptrace.h>\n#include <asm/ptrace.h>\n"
    try:
        return run(command, input=source, capture_output=True).returncode == 0
    except OSError:
        return False


def check_programs(extra_packages: Iterable[str] = ()) -> None:
    """Raise BuildError with the command that installs what is missing."""
    packages = [*missing_packages(PROGRAMS), *extra_packages]
    if packages:
        raise BuildError(
            f"to build the kernel this computer lacks: {', '.join(packages)}",
            install_hint(packages),
        )


def check_tools(programs: Iterable[str]) -> None:
    """Raise BuildError unless this computer has these programs; a compiler is not needed."""
    lacking = [program for program in programs if shutil.which(program) is None]
    if lacking:
        packages = dict.fromkeys(PROGRAMS.get(program, program) for program in lacking)
        raise BuildError(f"this computer lacks: {', '.join(lacking)}", install_hint(packages))


def install_hint(packages: Iterable[str]) -> str:
    """Return the command that installs packages on Debian and Ubuntu."""
    return f"on Debian or Ubuntu: sudo apt-get install {' '.join(packages)}"


def check_disk(folder: Path, needed_bytes: int) -> None:
    """Raise BuildError if the disk of a folder has less free space than a build needs."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise BuildError(
            f"{folder} has {free_bytes / 1e9:.1f} GB free, a build needs {needed_bytes / 1e9:.1f}",
            "free some space, or set XDG_CACHE_HOME to a folder on another disk",
        )
