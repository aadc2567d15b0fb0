"""The file system of the embedded machine.

The computer's `/` lies below, read-only (hostfs). Changes go to memory above it (overlayfs on tmpfs)
and disappear with the machine. Only the working folder is mounted for writing.

    /                overlay: tmpfs over the computer's /
    /proc /sys /dev  of our kernel
    /tmp /run        empty
    WORKING FOLDER   the computer's, read and written, at the same path or at another
    VISIBLE FOLDERS  the computer's, read-only, if they lie below /tmp, /run or /dev, where the
                     machine has its own: wanlab and its Python may be below /tmp
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from . import integrity, system
from .integrity import RUN_FOLDER

if TYPE_CHECKING:
    from typing import TypedDict

    class EmbeddedRoot(TypedDict):
        """The arguments of `prepare`."""

        working_folder: str
        host_name: str
        kernel_config: str
        built_in: list[str]
        visible_folders: list[str]
        guest_folder: str

    class GuestEnvironment(TypedDict):
        """The arguments of `install`."""

        programs: dict[str, str]
        packages: dict[str, str]
        about: dict[str, object]


PROGRAMS_FOLDER, PYTHON_FOLDER = integrity.INSTALLED_FOLDERS
HOME_FOLDER = "/run/wanlab/home"
NETNS_FOLDER = "/run/netns"
NETNS_FILES = "/etc/netns"
TIME_ZONE = "Etc/UTC"
COMMAND_LINE_FILE = "/run/wanlab/cmdline"
ABOUT_FILE = "/run/wanlab/machine.json"
SLASH = ord("/")
HIDDEN = ("/tmp/", "/run/", "/dev/")

MOUNTS_IN_SYS = (
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
    ("cgroup2", "/sys/fs/cgroup"),
)
"""Kernel file systems that guides look for below /sys, each with its folder."""

NAME_LENGTHS = (60, 90, 120, 180, 250)
"""One for each cache of the kernel for names, which are of more than 40 bytes."""
KNOWN_FOLDERS = [
    f"/proc/sys/{name}"
    for name in (
        *("fs/inotify", "fs/mqueue", "kernel/keys", "kernel/pty", "kernel/random", "net/core"),
        *("net/ipv4", "net/unix", "debug", "dev", "fs", "kernel", "net", "user", "vm"),
    )
]
"""Folders that the root of every computer has, and that are covered in a machine."""

MEMORY = "/tmp"  # exists on every computer; the tmpfs with the upper layer is mounted there


def prepare(
    working_folder: str,
    host_name: str,
    kernel_config: str,
    built_in: list[str],
    visible_folders: list[str],
    guest_folder: str = "",
) -> None:
    """Build the root described above and move into it.

    `kernel_config` is a path on the computer. `built_in` names the drivers in the kernel, for modprobe.
    `guest_folder` is where the working folder is mounted; "" means at the same path. If
    `working_folder` is "", none is mounted. `visible_folders` names none that is in it.
    """
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    kernel_text = _read_of_computer(kernel_config)  # /tmp, where it may be, is hidden next
    system.mount("memory", MEMORY, "tmpfs", options="mode=755,size=100%")
    upper, work, root = (f"{MEMORY}/{name}" for name in ("upper", "work", "root"))
    for folder in (upper, work, root):
        os.mkdir(folder)
    integrity.keep_computer(upper)
    release = os.uname().release

    system.mount(
        "overlay", root, "overlay", options=f"lowerdir=/,upperdir={upper},workdir={work},xino=off"
    )
    _fill_caches(root, guest_folder or working_folder)
    _mount_kernel_file_systems(root)
    for folder in visible_folders:
        if folder.startswith(HIDDEN):
            os.makedirs(root + folder, exist_ok=True)
            system.mount("visible", root + folder, "hostfs", flags=system.MS_RDONLY, options=folder)
    if working_folder:
        _mount_working_folder(working_folder, root + (guest_folder or working_folder))
    os.makedirs(f"{root}/boot", exist_ok=True)
    _write(f"{root}/boot/config-{release}", kernel_text)
    _replace(
        f"{root}/etc/resolv.conf",
        "# Names are in /etc/hosts: there is no name server.\n",
    )
    # A new file, which keeps its inode number: that of a changed one is the computer's until the
    # kernel drops the file from its cache, and it does so when file descriptors run out.
    _replace(f"{root}/etc/hosts", "")
    _set_time_zone(root)
    if os.path.isdir(root + NETNS_FILES):  # those of the computer's namespaces
        system.mount("netns", root + NETNS_FILES, "tmpfs")
    _move_into(root)

    _write_built_in(built_in)
    _hide_command_lines()
    _seal_hostfs()
    system.set_host_name(host_name)
    _allow_algorithms(built_in)


def _fill_caches(root: str, mount_point: str) -> None:
    """Look up names and folders, so that `Slab` in /proc/meminfo does not depend on the working folder.

    With those that it is in, there are as many of the computer's folders in the kernel's caches.
    """
    depth = 1 if mount_point.startswith(HIDDEN) else sum(map(bool, mount_point.split("/")))
    for length in NAME_LENGTHS:
        os.path.lexists(f"{root}/{'_' * length}")
    for folder in KNOWN_FOLDERS[depth:]:
        os.path.lexists(root + folder)


def _mount_kernel_file_systems(root: str) -> None:
    """Mount /proc, /sys, /dev and the file systems in them, and /tmp and /run in memory."""
    system.mount("proc", f"{root}/proc", "proc")
    system.mount("sys", f"{root}/sys", "sysfs")
    system.mount("dev", f"{root}/dev", "devtmpfs")
    for folder in ("/dev/pts", "/dev/shm", "/dev/mqueue"):
        os.makedirs(root + folder, exist_ok=True)
    system.mount("pts", f"{root}/dev/pts", "devpts", options="ptmxmode=0666,mode=0620,gid=5")
    system.mount("shm", f"{root}/dev/shm", "tmpfs", options="mode=1777")
    system.mount("mqueue", f"{root}/dev/mqueue", "mqueue")
    system.mount("tmp", f"{root}/tmp", "tmpfs", options="mode=1777")
    system.mount("run", f"{root}/run", "tmpfs", options="mode=755")
    os.mkdir(f"{root}/run/sshd")  # an SSH server wants it, and its package makes it at boot
    for kind, folder in MOUNTS_IN_SYS:
        if os.path.isdir(root + folder):
            system.mount(kind, root + folder, kind)
    links_of_dev(root)


def _move_into(root: str) -> None:
    """Make `root` the root file system of this process, and release the old one."""
    old = f"{root}/run/old-root"
    os.mkdir(old)
    system.pivot_root(root, old)
    os.chdir("/")
    system.unmount("/run/old-root")
    os.rmdir("/run/old-root")


def install(programs: dict[str, str], packages: dict[str, str], about: dict[str, object]) -> None:
    """Install wanlab's programs, links to Python packages, and a description of the machine."""
    for folder in (PROGRAMS_FOLDER, PYTHON_FOLDER, HOME_FOLDER, NETNS_FOLDER):
        os.makedirs(folder, exist_ok=True)
    for name, text in programs.items():
        _write(f"{PROGRAMS_FOLDER}/{name}", text, 0o755)
    for name, folder in packages.items():
        os.symlink(folder, f"{PYTHON_FOLDER}/{name}")
    _write(ABOUT_FILE, json.dumps(about, indent=2, sort_keys=True) + "\n")
    integrity.keep_mounts()


def _hide_command_lines() -> None:
    """Hide the command lines of the kernel and of this program.

    Both contain paths of the computer, so `ps` would print something different on every computer.
    Our Linux 6.12 shows no command line. Where one must be covered, user namespaces cannot mount /proc.
    """
    if shows_command_line():
        _write(COMMAND_LINE_FILE, "\n")
        system.mount(COMMAND_LINE_FILE, "/proc/cmdline", flags=system.MS_BIND)
    system.show_arguments("wanlab-agent")


def shows_command_line() -> bool:
    """Whether the kernel shows its command line."""
    return _read("/proc/cmdline").strip() != ""


def _seal_hostfs() -> None:
    """Forbid further mounts of the computer's files: every process in the machine is root."""
    _write("/proc/sys/fs/hostfs_sealed", "1\n")


def _set_time_zone(root: str) -> None:
    """Replace the computer's time zone, so that programs print the same times on every computer."""
    _replace(f"{root}/etc/timezone", f"{TIME_ZONE}\n")
    path = f"{root}/etc/localtime"
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(f"/usr/share/zoneinfo/{TIME_ZONE}", path)


def _write_built_in(built_in: list[str]) -> None:
    os.makedirs(RUN_FOLDER, exist_ok=True)
    _write(f"{RUN_FOLDER}/built_in", "".join(f"{name}\n" for name in built_in))


def _allow_algorithms(built_in: list[str]) -> None:
    """Allow nodes to choose their TCP algorithm by sysctl, as the course does: the kernel reserves most
    of them for the root namespace. Listing an algorithm here does not load it."""
    allowed = "reno"
    for name in built_in:
        if name.startswith("tcp_"):
            more = f"{allowed} {name.removeprefix('tcp_')}"
            try:
                _write("/proc/sys/net/ipv4/tcp_allowed_congestion_control", more)
            except OSError:  # tcp_diag and others are not congestion control algorithms
                continue
            allowed = more


def _mount_working_folder(folder: str, mount_point: str) -> None:
    """Mount it. The paths have slashes behind them, up to a fixed length.

    Here and below, no string is as long as a path: programs see this one's memory (`ps`, `free`), which
    must not depend on it.
    """
    _make_folders(os.fsencode(mount_point))
    path = bytearray(os.fsencode(folder))
    for position in range(len(path) - 1, 0, -1):
        if path[position] != SLASH:
            break
        path[position] = 0  # where the kernel sees the end
    system.mount("working-folder", mount_point, "hostfs", options=bytes(path))


def _make_folders(path: bytes) -> None:
    """Make a folder and those that it is in. Slashes stand for the names that follow."""
    part = bytearray(path.translate(bytes([SLASH]) * 256))
    for position, byte in enumerate(path):
        if byte == SLASH and part[position - 1] != SLASH:
            with contextlib.suppress(FileExistsError):
                os.mkdir(bytes(part))
        part[position] = byte


def links_of_dev(root: str) -> None:
    """Make the links of /dev below a root."""
    for name, target in (
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        path = f"{root}/dev/{name}"
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target, path)
    os.makedirs(f"{root}/dev/net", exist_ok=True)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _read_of_computer(path: str) -> str:
    """Read a file of the computer, also below /dev, where our kernel has mounted its own at boot."""
    if not path.startswith("/dev/"):
        return _read(path)
    folder, name = os.path.split(path)
    system.mount("computer", MEMORY, "hostfs", flags=system.MS_RDONLY, options=folder)
    try:
        return _read(f"{MEMORY}/{name}")
    finally:
        system.unmount(MEMORY)


def _replace(path: str, content: str) -> None:
    """Replace a file by a new one, without following a link."""
    if os.path.lexists(path):
        os.unlink(path)
    _write(path, content)


def _write(path: str, content: str, mode: int | None = None) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    if mode is not None:
        os.chmod(path, mode)
