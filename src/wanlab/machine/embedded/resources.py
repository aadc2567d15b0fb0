"""Checks and claims a machine's share of the computer: memory, disk and one CPU.

The kernel's memory is one sparse file, unlinked as soon as it is made, in a folder that allows shared
executable mappings. Its size is the same on every computer, because results could depend on it. How
much of it is used depends on the network. So a machine requires only the memory that every network
needs, and a computer with 2 GB can run small networks.

The kernel and its processes run on one CPU, because a system call of a guest process is a switch
between two processes of the computer, which costs several times more across CPUs.
"""

from __future__ import annotations

import mmap
import os
import resource
import socket
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from wanlab.errors import RequirementError
from wanlab.units import format_size

from ..control_group import available_memory_bytes

MIN_OPEN_FILES = 30
ADDRESS_SPACE_BYTES = 256 << 20
"""Address space that the kernel's process maps besides its memory."""
MIN_MEMORY_BYTES = 100 << 20
"""The memory of a machine with two nodes, and a reserve."""
FREE_SHARE = 16
"""In addition, a sixteenth of the machine's memory has to be free: larger networks get and need more."""
RAISE_MEMORY_LIMIT = "give the container, job or systemd unit more memory"
PROCESS_BYTES = 400 << 10
"""The memory of a machine for each process that it may have."""
MEMORY_FOLDERS = ("/dev/shm", "/tmp", "/var/tmp")


def max_processes(memory_bytes: int) -> int:
    """Return how many processes, threads included, a machine may have: about 5000 in 2 GiB.

    Each of them is a process of the computer. Without a limit, a fork bomb reaches the computer's.
    """
    return memory_bytes // PROCESS_BYTES


def min_memory_bytes(memory_bytes: int) -> int:
    """Return how much of a machine's memory has to be available at its start.

    `./dev bench start` measured 68 MB of 2 GB with two hosts, and 500 MB of 4 GB with 1000.
    """
    return MIN_MEMORY_BYTES + memory_bytes // FREE_SHARE


def choose_memory_folder(memory_bytes: int, working_folder: Path | None) -> Path:
    """Return a folder for the kernel's memory file: the first that can hold all of it.

    If none can, return the one with the most space. If that is too little even for a small network,
    RequirementError says what is wrong with each. The working folder comes last: in a container it
    may be the only one that can be written to.
    """
    reasons = []
    free_bytes: dict[str, int] = {}
    named = os.environ.get("TMPDIR")
    last = "" if working_folder is None else str(working_folder)
    for name in dict.fromkeys(filter(None, (named, *MEMORY_FOLDERS, last))):
        try:
            free_bytes[name] = _free_for_memory_bytes(name)
        except OSError as error:
            reasons.append(f"{name}: {error.strerror or error}")
            continue
        if free_bytes[name] >= memory_bytes:
            return Path(name).absolute()  # the kernel starts in another folder
        reasons.append(f"{name}: only {format_size(free_bytes[name])} free")
    largest = max(free_bytes, key=free_bytes.__getitem__, default="")
    min_bytes = min_memory_bytes(memory_bytes)
    if largest and free_bytes[largest] >= min_bytes:
        return Path(largest).absolute()
    raise RequirementError(
        f"no folder can hold {format_size(min_bytes)} of memory for the machine: "
        f"{'; '.join(reasons)}",
        "set TMPDIR to a folder with enough space, on a file system mounted without noexec",
    )


def memory_file(folder: Path | str) -> BinaryIO:
    """Return a new, empty file without a name in a folder, for a kernel's memory."""
    return cast(BinaryIO, tempfile.TemporaryFile(dir=folder, buffering=0))


def _free_for_memory_bytes(folder: str) -> int:
    """Return the free space of a folder; OSError if it cannot hold a kernel's memory file."""
    file_system = os.statvfs(folder)
    with memory_file(folder) as file:
        file.truncate(mmap.PAGESIZE)
        protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, protection).close()
    return file_system.f_bavail * file_system.f_frsize


def check_memory_available(memory_bytes: int) -> None:
    """Raise RequirementError if even a network of two nodes would make the computer swap."""
    min_bytes = min_memory_bytes(memory_bytes)
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            available_bytes = int(rest.split()[0]) * 1024
            if available_bytes < min_bytes:
                raise RequirementError(
                    f"the machine needs at least {min_bytes >> 20} MiB of memory, "
                    f"and {available_bytes >> 20} MiB are available",
                    "end other programs, or ask for less "
                    "(memory= in Python; --memory of wanlab mn, python and exec)",
                )


def check_limits(memory_bytes: int) -> None:
    """Raise RequirementError if limits of this process (`ulimit`) are too low for a machine."""
    _, open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    if open_files != resource.RLIM_INFINITY and open_files < MIN_OPEN_FILES:
        raise RequirementError(
            f"only {open_files} open files are allowed, and a machine needs {MIN_OPEN_FILES}",
            "raise the limit: ulimit -n 1024",
        )
    if low := too_low_limit(memory_bytes):
        raise low
    available_bytes = available_memory_bytes()
    min_bytes = min_memory_bytes(memory_bytes)
    if available_bytes is not None and available_bytes < min_bytes:
        raise RequirementError(
            f"this control group allows only {available_bytes >> 20} MiB more memory, "
            f"and a machine needs at least {min_bytes >> 20} MiB",
            RAISE_MEMORY_LIMIT,
        )


def too_low_limit(memory_bytes: int) -> RequirementError | None:
    """Return the error about a limit of this process that is too low for a machine's memory file."""
    for number, what, option, more_bytes in (
        (resource.RLIMIT_AS, "address space", "-v", ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_FSIZE, "size of files", "-f", 0),
    ):
        limit_bytes, _ = resource.getrlimit(number)
        needed_bytes = memory_bytes + more_bytes
        if limit_bytes != resource.RLIM_INFINITY and limit_bytes < needed_bytes:
            return RequirementError(
                f"the {what} is limited to {limit_bytes >> 20} MiB, "
                f"and a machine needs {needed_bytes >> 20} MiB",
                f"raise the limit: ulimit {option} unlimited",
            )
    return None


def warn_of_processor_limit() -> None:
    """Say on standard error, once per process, that the computer will end what computes too long."""
    global _has_warned
    limit_s, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if limit_s != resource.RLIM_INFINITY and not _has_warned:
        _has_warned = True
        print(
            f"wanlab: the processor time of each process is limited to {limit_s} s, the machine's "
            "too: it and its programs end without a reason then (raise the limit: ulimit -t unlimited)",
            file=sys.stderr,
        )


_has_warned = False


class ClaimedCpu:
    """Claims one of the CPUs that we may use, different ones for parallel machines if possible.

    A claim is an abstract socket name. It is released when the process that holds it ends.
    """

    def __init__(self) -> None:
        self._claim: socket.socket | None = None
        allowed = sorted(os.sched_getaffinity(0))
        # Other programs tend to run on the first CPU.
        for cpu in [*allowed[1:], allowed[0]]:
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                claim.bind(f"\0wanlab-cpu-{cpu}")
            except OSError:
                claim.close()
                continue
            self._claim = claim
            self.number = cpu
            return
        self.number = allowed[os.getpid() % len(allowed)]

    def release(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None
