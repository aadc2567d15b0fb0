"""Debian packages: which are needed, which of them are missing, and how to install them."""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import DevError
from .places import ROOT
from .progress import run, run_quietly

KERNEL_SOURCE = "linux-source-6.12"
_SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"  # on Debian, users have no sbin in PATH
# iperf3 asks whether to run as a service; the default answer, no, is right.
_QUIET = ("env", "DEBIAN_FRONTEND=noninteractive")
_INSTALL = ("apt-get", "install", "--no-install-recommends", "-y")


@dataclass(frozen=True)
class Package:
    """A Debian package. Its sign, a program, file or library, shows that other systems have it."""

    name: str
    sign: str
    is_debian_only: bool = False
    """Other systems, including Ubuntu, have no such package, and do not need it."""


TO_PREPARE = (Package("python3-venv", "python3"),)
# The Node that pip installs needs a library that comes with gcc only.
FOR_NODE = (Package("libatomic1", "libatomic.so.1"),)
FOR_DEMO = (
    Package("iproute2", "tc"),
    Package("iperf3", "iperf3"),
    Package("iputils-ping", "ping"),
    Package("ethtool", "ethtool"),
    Package("procps", "sysctl"),
    Package("kmod", "lsmod"),
)
BUILD_TOOLS = (
    Package("gcc", "gcc"),
    Package("binutils", "ld"),
    Package("libc6-dev", "/usr/include/stdio.h"),
    Package("make", "make"),
    Package("flex", "flex"),
    Package("bison", "bison"),
    Package("bc", "bc"),
    Package("xz-utils", "xz"),
    Package("patch", "patch"),
)
TO_BUILD = (
    # On other systems the build says how to get it.
    Package(KERNEL_SOURCE, f"/usr/src/{KERNEL_SOURCE}.tar.xz", is_debian_only=True),
    *BUILD_TOOLS,
)
FOR_TESTS = (
    *BUILD_TOOLS,  # tests build small kernels, and programs that simulate other processors
    Package("tcpdump", "tcpdump"),
    Package("openvswitch-switch", "ovs-vswitchd"),
    Package("net-tools", "ifconfig"),
    Package("iptables", "iptables"),
    Package("tmux", "tmux"),
    Package("frr", "/usr/lib/frr/zebra"),
    Package("tshark", "tshark"),
    # Programs that wait in ways that once stopped virtual time.
    Package("hping3", "hping3"),
    Package("memcached", "memcached"),
    Package("netcat-openbsd", "nc"),
    # A server under load. nginx and openssh-server are left out: they open the computer to others.
    Package("redis-tools", "redis-check-rdb"),
    # The recipe for DNS and DHCP.
    Package("dnsmasq-base", "dnsmasq"),
    Package("busybox", "busybox"),
    # Completion of the command line; bash is part of Debian.
    Package("zsh", "zsh"),
    Package("fish", "fish"),
    # Tests of the browser front end. Ubuntu has both as snaps only.
    Package("chromium", "chromium", is_debian_only=True),
    Package("firefox-esr", "firefox-esr", is_debian_only=True),
)
FOR_SELFTESTS = (
    *TO_BUILD,  # the tests are in the kernel's source
    Package("rsync", "rsync"),
    Package("git", "git"),
    Package("libcap-dev", "/usr/include/sys/capability.h"),
    Package("libmnl-dev", "/usr/include/libmnl/libmnl.h"),
    Package("libnuma-dev", "/usr/include/numa.h"),
    Package("python3-scapy", "/usr/lib/python3/dist-packages/scapy"),
    Package("python3-pyroute2", "/usr/lib/python3/dist-packages/pyroute2"),
    Package("socat", "socat"),
    Package("nftables", "nft"),
    Package("jq", "jq"),
    Package("netsniff-ng", "mausezahn"),
)


def count(names: Collection[object]) -> str:
    """Return the number of packages as text: "1 package", "2 packages"."""
    return f"{len(names)} package" + ("" if len(names) == 1 else "s")


def wanted(
    *, kernel: bool, build: bool, tests: bool, selftests: bool = False
) -> tuple[Package, ...]:
    """Return the packages needed for Python, to run the kernel, to build it, and for the tests.

    `tests` includes the checks of the page, which need no kernel; `selftests` are the kernel's own.
    """
    # Only the system's Python needs the package for venv; others include it.
    prepare = TO_PREPARE if Path(sys.executable).parent == Path("/usr/bin") else ()
    every: tuple[Package, ...] = prepare + (FOR_NODE if tests else ())
    if kernel:
        every += FOR_DEMO + (FOR_TESTS if tests else ()) + (TO_BUILD if build else ())
    if selftests:
        every += FOR_SELFTESTS
    chosen = (package for package in every if is_debian() or not package.is_debian_only)
    return tuple(dict.fromkeys(chosen))


def is_debian() -> bool:
    """Whether this is Debian itself, not a derivative."""
    try:
        return platform.freedesktop_os_release().get("ID") == "debian"
    except OSError:
        return False


def missing(packages: Iterable[Package]) -> list[str]:
    """Return the names of the packages that are not installed."""
    packages = list(packages)
    if shutil.which("dpkg-query") is None:
        return [package.name for package in packages if not _sign_exists(package.sign)]
    return names_missing([package.name for package in packages], _ask_dpkg(packages))


def names_missing(names: Iterable[str], dpkg_output: str) -> list[str]:
    """Return the names that dpkg-query's lines (`name<TAB>status`) do not show as installed."""
    lines = (line.split("\t") for line in dpkg_output.splitlines())
    # Status "ii": wanted and installed; "hi": installed and held at its version.
    there = {line[0] for line in lines if len(line) == 2 and line[1][1:2] == "i"}
    return [name for name in names if name not in there]


def _ask_dpkg(packages: Iterable[Package]) -> str:
    names = [package.name for package in packages]
    command = ["dpkg-query", "-W", "-f=${Package}\t${db:Status-Abbrev}\n", *names]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _sign_exists(sign: str) -> bool:
    if sign.startswith("/"):
        return Path(sign).exists()
    if ".so." in sign:
        return _can_load(sign)
    path = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}"
    return shutil.which(sign, path=path) is not None


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def install_command(names: Sequence[str]) -> str:
    """Return the command that an administrator would type."""
    return shlex.join(["apt-get", "update"]) + " && " + shlex.join([*_QUIET, *_INSTALL, *names])


def install(names: Sequence[str], source_versions: Sequence[str]) -> None:
    """Install packages, as root or with sudo; the kernel's source in one of `source_versions`."""
    if shutil.which("apt-get") is None:
        raise DevError(
            f"this computer lacks the contents of these Debian packages: {', '.join(names)}",
            "install them with your distribution's package manager, then run this again",
        )
    prefix = _become_root(names)
    is_updated = not unknown(names, _ask_apt(names))
    if not is_updated:
        _update(prefix)
        _refuse_unknown(unknown(names, _ask_apt(names)))
    chosen = [_with_version(name, source_versions) for name in names]
    command = [*prefix, *_QUIET, *_INSTALL, *chosen]
    what = f"apt-get install ({count(names)})"
    if is_updated:  # the package lists may be out of date
        status, _ = run_quietly(what, command, folder=ROOT, ends_children=False)
        if status == 0:
            return
        _update(prefix)
    run(what, command, folder=ROOT, ends_children=False)  # dpkg must finish what it has begun


def _become_root(names: Sequence[str]) -> list[str]:
    """Return the words before a command that make it run as root: none, or sudo."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is not None:
        if subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0:
            return ["sudo", "-n"]
        if sys.stdin.isatty() and subprocess.run(["sudo", "-v"], check=False).returncode == 0:
            return ["sudo"]
    raise DevError(
        "packages must be installed, but you cannot use sudo here",
        f"ask an administrator to run this line, then run this again:\n  {install_command(names)}",
    )


def _update(prefix: Sequence[str]) -> None:
    run("apt-get update", [*prefix, "apt-get", "update"], folder=ROOT, ends_children=False)


def _ask_apt(names: Iterable[str]) -> str:
    environment = os.environ | {"LC_ALL": "C"}
    command = ["apt-cache", "policy", *names]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    ).stdout


def unknown(names: Iterable[str], policy: str) -> list[str]:
    """Return the names for which `apt-cache policy` shows no candidate."""
    known: set[str] = set()
    name = ""
    for line in policy.splitlines():
        if line and not line[0].isspace():
            name = line.removesuffix(":")
        elif line.strip().startswith("Candidate:") and "(none)" not in line:
            known.add(name)
    return [name for name in names if name not in known]


def _refuse_unknown(names: Collection[str]) -> None:
    if not names:
        return
    hint = "enable the distribution's usual package sources, then run this again"
    if KERNEL_SOURCE in names:
        every = [package.name for package in (*FOR_DEMO, *FOR_TESTS, *TO_BUILD)]
        hint = (
            "Debian 12 has the kernel's source as a package. Elsewhere bring an archive of it,\n"
            "install the other packages, and run: ./dev kernel build --source ARCHIVE\n"
            f"  {install_command([name for name in every if name not in names])}"
        )
    raise DevError(f"apt does not know: {', '.join(names)}", hint)


def _with_version(name: str, source_versions: Sequence[str]) -> str:
    """Choose a version of the kernel's source that the recipe supports, if apt has one."""
    if name != KERNEL_SOURCE:
        return name
    listing = subprocess.run(
        ["apt-cache", "madison", name], capture_output=True, text=True, check=False
    )
    return choose_version(name, source_versions, listing.stdout)


def choose_version(name: str, wanted_versions: Iterable[str], madison: str) -> str:
    """Return `name=VERSION` with the first version that `apt-cache madison` lists, or `name`."""
    rows = (line.split("|") for line in madison.splitlines())
    offered = {row[1].strip() for row in rows if len(row) > 1}
    version = next((version for version in wanted_versions if version in offered), None)
    return f"{name}={version}" if version else name
