"""Checks whether this computer has what machines need, and says how to get what is missing.

It starts a machine, which takes a second, and changes nothing.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from wanlab.errors import MachineError, RequirementError, WanlabError

from .guest_environment import ENVIRONMENT

Area = Literal["programs", "embedded"]

GIB = 1 << 30
MEMORY_BYTES = 2 * GIB
"""The memory of the machine that is started."""
PROGRAM_REAL_S = 2.0
ENOUGH_OPEN_FILES = 1024

VM = Path("/proc/sys/vm")
MEMINFO = Path("/proc/meminfo")
STRICT_OVERCOMMIT = "2"
# The machine's memory is a shared file, which does not count; wanlab and the kernel's own data do.
COMMITTED_BYTES = 256 << 20

UNCONFINED = "a container may need --security-opt seccomp=unconfined"
WITHOUT_PTRACE = "use another mode, which does not need it (wanlab docs kernels)"
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
# Linux, Documentation/admin-guide/LSM/Yama.rst. With 1, a process may trace its children, as the
# machine's kernel does.
YAMA_FORBIDS = {
    "2": "as root: sysctl kernel.yama.ptrace_scope=1, or give the container --cap-add SYS_PTRACE",
    "3": "as root: write kernel.yama.ptrace_scope=1 into /etc/sysctl.d/10-ptrace.conf, then reboot "
    "(3 cannot be changed while the computer runs)",
}


@dataclass(frozen=True)
class Program:
    """A program of the computer that is used in machines."""

    name: str
    version: tuple[str, ...]
    package: str
    is_needed: bool = False


PROGRAMS = (
    Program("bash", ("--version",), "bash", is_needed=True),
    Program("ip", ("-V",), "iproute2", is_needed=True),
    Program("tc", ("-V",), "iproute2", is_needed=True),
    Program("ping", ("-V",), "iputils-ping"),
    Program("iperf3", ("--version",), "iperf3"),
    Program("ethtool", ("--version",), "ethtool"),
    Program("nsenter", ("--version",), "util-linux"),
    Program("tcpdump", ("--version",), "tcpdump"),
    Program("traceroute", ("--version",), "traceroute"),
    Program("ovs-vswitchd", ("--version",), "openvswitch-switch"),
    Program("xterm", ("-version",), "xterm"),
)


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    `says` describes the result, `remedy` what to do if the thing is missing. If it `is_needed`, machines
    of this `area` cannot run without it.
    """

    area: Area
    name: str
    is_there: bool
    says: str
    remedy: str = ""
    is_needed: bool = False


@dataclass(frozen=True)
class Checkup:
    """The results of all checks."""

    findings: tuple[Finding, ...]

    @property
    def can_run(self) -> bool:
        """Whether nothing is missing that machines cannot run without."""
        return all(finding.is_there for finding in self.findings if finding.is_needed)


def checkup() -> Checkup:
    """Run all checks."""
    return Checkup((*_programs(), *_embedded()))


# -- programs -----------------------------------------------------------------------------------------


def _programs() -> Iterator[Finding]:
    # All are started before the first is waited for, so that they run at the same time.
    started = {program: _start(program) for program in PROGRAMS}
    for program, process in started.items():
        is_there = not isinstance(process, str)
        says = process if isinstance(process, str) else _version(process)
        remedy = f"install {program.package}"
        yield Finding("programs", program.name, is_there, says, remedy, program.is_needed)


def _start(program: Program) -> subprocess.Popen[bytes] | str:
    """Start a program so that it prints its version. If it cannot be started, return the reason."""
    path = shutil.which(program.name, path=ENVIRONMENT["PATH"])
    if path is None:
        return "not found"
    try:
        return subprocess.Popen(
            [path, *program.version],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        return f"{path} cannot be started: {error.strerror}"


def _version(process: subprocess.Popen[bytes]) -> str:
    """Return the version in a program's output.

    That is the first number with dots, in parentheses ("XTerm(379)"), or of 8 digits (a date).
    """
    try:
        output = process.communicate(timeout=PROGRAM_REAL_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "did not print its version in time"
    number = re.search(r"\d+(\.\d+)+\S*|\(\d+\)|\b\d{8}\b", output)
    return number[0].strip("(),") if number else "unknown version"


# -- the embedded machine -----------------------------------------------------------------------------


def _embedded() -> Iterator[Finding]:
    finding = partial(_check, "embedded")
    yield finding("kernel", _image, is_needed=True)
    yield finding("memory folder", _memory_folder, is_needed=True)
    yield finding("memory", _memory, is_needed=True)
    yield finding("memory limit", _memory_limit)
    yield finding(
        "cpu pinning", _pin, "machines are several times slower without it; allow sched_setaffinity"
    )
    yield finding("ptrace", _ptrace, UNCONFINED, is_needed=True)
    yield finding("traps", _traps, is_needed=True)
    yield finding("overcommit", _overcommit, is_needed=True)
    yield finding("open files", _open_files, "raise the hard limit (ulimit -Hn) to 4096 or more")
    yield finding(
        "landlock",
        _landlock,
        "use Linux 5.13 or newer with Landlock enabled: without it your files are protected "
        "by wanlab's kernel alone (wanlab docs security)",
    )
    yield finding(
        "seccomp",
        _seccomp,
        "allow prctl(PR_SET_NO_NEW_PRIVS) and seccomp filters (wanlab docs security)",
    )
    yield finding("boot", _boot, is_needed=True)


def _check(
    area: Area, name: str, check: Callable[[], str], remedy: str = "", is_needed: bool = False
) -> Finding:
    """Call `check`, which returns a description, or raises WanlabError or OSError."""
    try:
        return Finding(area, name, True, check(), remedy, is_needed)
    except WanlabError as error:
        what = error.what.splitlines()[0].rstrip(":")
        return Finding(area, name, False, what, error.hint or remedy, is_needed)
    except OSError as error:
        return Finding(area, name, False, error.strerror or str(error), remedy, is_needed)


def _image() -> str:
    from .embedded.image import find_image

    kernel = find_image()
    return f"Linux {kernel.release}, manifest {kernel.manifest_hash[:12]}"


def _memory_folder() -> str:
    from .embedded.resources import choose_memory_folder

    path = choose_memory_folder(MEMORY_BYTES, Path.cwd())
    return f"{path}, {shutil.disk_usage(path).free / GIB:.1f} GiB free{_about_tmpdir(path)}"


def _about_tmpdir(chosen: Path) -> str:
    """Say whether the chosen folder is that of TMPDIR, if that is set."""
    named = os.environ.get("TMPDIR")
    if not named:
        return ""
    return " (TMPDIR)" if str(chosen) == named else f" (TMPDIR={named} cannot be used)"


def _memory() -> str:
    from .embedded.resources import check_limits, check_memory_available

    check_limits(MEMORY_BYTES)
    check_memory_available(MEMORY_BYTES)
    return "enough for a network of a few nodes is available"


def _memory_limit() -> str:
    from .control_group import memory_groups
    from .embedded.resources import RAISE_MEMORY_LIMIT

    for group in memory_groups():
        if group.available_bytes < MEMORY_BYTES:
            left = f"{group.available_bytes >> 20} of {group.limit_bytes >> 20} MiB"
            raise RequirementError(
                f"this control group has {left} left: the kernel kills networks that need more",
                RAISE_MEMORY_LIMIT,
            )
    return "the control group allows enough"


def _pin() -> str:
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    return f"{len(cpus)} CPUs"


def _ptrace() -> str:
    from .embedded.traps import try_tracing

    try:
        try_tracing()
    except OSError as error:
        what, remedy = _why_not_traced(error)
        if mode := _mode_without_ptrace():
            return f"{what}; {mode}"
        raise RequirementError(what, f"{remedy}; or {WITHOUT_PTRACE}") from None
    return "allowed"


def _why_not_traced(error: OSError) -> tuple[str, str]:
    """Return what forbids ptrace on this computer, and a remedy."""
    try:
        scope = YAMA.read_text(encoding="ascii").strip()
    except OSError:
        scope = ""
    if scope in YAMA_FORBIDS:
        return f"forbidden by kernel.yama.ptrace_scope={scope}", YAMA_FORBIDS[scope]
    return (
        f"the processes of a machine cannot be traced: {error.strerror}",
        f"allow ptrace; {UNCONFINED}, or --cap-add SYS_PTRACE before Linux 4.8",
    )


def _traps() -> str:
    """Return the mode in which machines take over system calls on virtual time, and why."""
    from .defaults import TRAPS_VARIABLE
    from .embedded.image import find_image
    from .embedded.traps import NAMES, choose_traps, chosen_mode, why_not_in_process

    image = find_image()
    mode = choose_traps(image)
    if chosen_mode():
        reason = f" ({TRAPS_VARIABLE})"
    else:
        reason = "" if mode == "inprocess" else f", not in-process: {why_not_in_process(image)}"
    return f"{NAMES[mode]} mode{reason}"


def _mode_without_ptrace() -> str:
    """Return how the kernel that this computer would boot runs without ptrace; "" if it cannot."""
    from .embedded.image import find_image
    from .embedded.traps import NAMES, choose_traps

    try:
        image = find_image()
        mode = choose_traps(image)
    except WanlabError:
        return ""  # the findings "kernel" and "traps" say why
    return "" if mode == "ptrace" else f"Linux {image.name} runs in {NAMES[mode]} mode"


def _overcommit() -> str:
    """Check that the kernel may reserve memory (Linux, Documentation/mm/overcommit-accounting.rst)."""
    if (VM / "overcommit_memory").read_text(encoding="ascii").strip() != STRICT_OVERCOMMIT:
        return "allowed"
    sizes = dict(line.split(":") for line in MEMINFO.read_text(encoding="ascii").splitlines())
    limit, used = (int(sizes[name].split()[0]) << 10 for name in ("CommitLimit", "Committed_AS"))
    if limit - used < COMMITTED_BYTES:
        raise RequirementError(
            f"forbidden (vm.overcommit_memory=2), and only {max(0, limit - used) >> 20} MiB are left",
            "end other programs, or as root: sysctl vm.overcommit_ratio=90 (or more swap)",
        )
    return f"forbidden (vm.overcommit_memory=2), {(limit - used) / GIB:.1f} GiB are left"


def _open_files() -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < ENOUGH_OPEN_FILES:
        raise RequirementError(f"only {hard} open files are allowed: large programs run slowly")
    return f"{hard} (raised from {soft} when a machine starts)" if soft < hard else str(hard)


def _landlock() -> str:
    from .embedded.confinement import SIGNALS_VERSION, landlock_version, missing_parts

    version = landlock_version()
    if not version:
        raise RequirementError("this computer's kernel does not offer Landlock")
    if "landlock" in missing_parts():
        raise RequirementError(f"version {version}, but it cannot be used here")
    if version < SIGNALS_VERSION:
        return (
            f"version {version} (signals of a hostile program: since {SIGNALS_VERSION}, Linux 6.12)"
        )
    return f"version {version}"


def _seccomp() -> str:
    from .embedded.confinement import missing_parts

    if missing := [part for part in missing_parts() if part != "landlock"]:
        raise RequirementError(f"{' and '.join(missing)} cannot be set here")
    return "allowed"


def _boot() -> str:
    from .embedded import EmbeddedMachine

    began = time.monotonic()
    try:
        machine = EmbeddedMachine(_trial_folder(), memory_bytes=MEMORY_BYTES)
    except MachineError as error:  # its hint is this command
        raise RequirementError(error.what, "see what is missing above") from None
    took_s = time.monotonic() - began
    machine.close()
    return f"{took_s:.2f} s"


def _trial_folder() -> Path:
    """Return a working folder for the trial: a temporary one, or the current one.

    In a container, the current folder may be the only one with space for the machine's memory.
    """
    from .embedded.resources import choose_memory_folder

    try:
        folder = Path(tempfile.gettempdir())
        choose_memory_folder(MEMORY_BYTES, folder)
    except (FileNotFoundError, RequirementError):
        return Path.cwd()
    return folder
