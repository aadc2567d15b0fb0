"""Checks whether this computer has what machines need, and says how to get what is missing.

It starts one machine of each kind, which takes a second. It changes nothing, except that the computer's
kernel may load modules when it is asked about their features.
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

Area = Literal["programs", "embedded", "native"]

QDISCS = (
    *("netem", "tbf", "pfifo", "bfifo", "red", "codel", "fq_codel", "fq", "fq_pie", "pie", "sfq"),
    *("choke", "cake", "sfb", "gred", "hhf", "htb", "hfsc", "prio", "drr", "qfq", "ets"),
    *("ingress", "clsact"),
)
ALGORITHMS = (
    *("reno", "cubic", "bbr", "bic", "htcp", "vegas", "westwood", "highspeed", "hybla", "veno"),
    *("scalable", "lp", "yeah", "illinois", "dctcp", "cdg", "nv"),
)
NODE_ALGORITHM = "net.ipv4.tcp_congestion_control"
NETFILTER = "net.bridge.bridge-nf-call-iptables"
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
WITHOUT_PTRACE = "use Linux 7.3, which does not need it: in a checkout, WANLAB_KERNEL=7.3"
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

    def can_run(self, area: Literal["embedded", "native"]) -> bool:
        """Whether nothing is missing that this kind of machine cannot run without."""
        return all(
            finding.is_there
            for finding in self.findings
            if finding.is_needed and finding.area in (area, "programs")
        )


def checkup() -> Checkup:
    """Run all checks."""
    return Checkup((*_programs(), *_embedded(), *_native()))


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
    yield finding("overcommit", _overcommit, is_needed=True)
    yield finding("open files", _open_files, "raise the hard limit (ulimit -Hn) to 4096 or more")
    yield finding(
        "landlock",
        _landlock,
        "use Linux 5.13 or newer with Landlock enabled: without it your files are protected "
        "by wanlab's kernel alone (docs/security.md)",
    )
    yield finding(
        "seccomp",
        _seccomp,
        "allow prctl(PR_SET_NO_NEW_PRIVS) and seccomp filters (docs/security.md)",
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


def _mode_without_ptrace() -> str:
    """Return how the kernel that this computer would boot runs without ptrace; "" if it cannot."""
    from .embedded.image import find_image
    from .embedded.traps import has_seccomp_mode

    try:
        image = find_image()
    except WanlabError:
        return ""  # the finding "kernel" says why
    return f"Linux {image.name} uses its seccomp mode" if has_seccomp_mode(image) else ""


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
    from .embedded.confinement import landlock_version, missing_parts

    version = landlock_version()
    if not version:
        raise RequirementError("this computer's kernel does not offer Landlock")
    if "landlock" in missing_parts():
        raise RequirementError(f"version {version}, but it cannot be used here")
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


# -- the native machine -------------------------------------------------------------------------------


def _native() -> Iterator[Finding]:
    """Start a machine, and try in it each feature of the computer's kernel."""
    from .native import NativeMachine

    machines: list[NativeMachine] = []

    def namespaces() -> str:
        machines.append(NativeMachine(_trial_folder()))
        return "a user namespace" if machines[0].has_user_namespace else "as root"

    yield _check("native", "namespaces", namespaces, is_needed=True)
    if not machines:
        return
    (machine,) = machines
    try:
        why_not = machine.agent.probe(
            qdiscs=QDISCS,
            links=("veth", "bridge", "ifb", "vxlan", "vlan"),
            algorithms=ALGORITHMS,
            sysctls=[(NETFILTER, "1"), *((NODE_ALGORITHM, name) for name in ALGORITHMS)],
        )
    finally:
        machine.close()
    # The probe gives the reason why the kernel lacks each feature; "" if it has the feature.
    for kind in ("veth", "bridge"):
        yield _device(kind, why_not["links"][kind])
    yield _backpressure(why_not["sysctls"][f"{NETFILTER} = 1"])
    for kind in QDISCS:
        yield _queue(kind, why_not["qdiscs"][kind])
    for name in ALGORITHMS:
        why_no_default = why_not["sysctls"][f"{NODE_ALGORITHM} = {name}"]
        yield _algorithm(name, why_not["algorithms"][name], why_no_default)


def _device(kind: str, why_not: str) -> Finding:
    remedy = f"use a kernel with CONFIG_{kind.upper()}"
    return Finding("native", kind, not why_not, why_not or "available", remedy, is_needed=True)


def _backpressure(why_not: str) -> Finding:
    effect = "backpressure on senders" if why_not else "no backpressure"
    remedy = "as root: modprobe br_netfilter"
    return Finding("native", "br_netfilter", not why_not, f"switches exert {effect}", remedy)


def _queue(kind: str, why_not: str) -> Finding:
    from .native.requirements import kernel_option

    remedy = f"use --machine embedded, or a kernel with {kernel_option(kind)}"
    says = "not available" if why_not else "available"
    return Finding("native", f"queue {kind}", not why_not, says, remedy)


def _algorithm(name: str, why_not: str, why_no_default: str) -> Finding:
    if why_not:
        remedy = f"use --machine embedded, or as root: modprobe tcp_{name}"
        return Finding("native", f"tcp {name}", False, "not available", remedy)
    if why_no_default:
        return Finding(
            "native",
            f"tcp {name}",
            False,
            "for single connections only (iperf3 -C), not as a node's default",
            f"as root: add {name} to sysctl net.ipv4.tcp_allowed_congestion_control",
        )
    return Finding("native", f"tcp {name}", True, "available")
