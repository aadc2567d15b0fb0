"""The sandbox in which the programs of a submission run while they are graded.

These programs share the nodes' networks with the rest of the machine, and nothing else. When all of
them have ended, the checks measure the network from outside, with files that no submission could
change.

    processes    a separate PID namespace: they see and signal only each other
    files        a separate overlay over the machine's root, so their changes are visible to them alone.
                 Of the computer they see its programs (/usr, /etc, ...), the folders in
                 `visible`, and the working folder; /home, /root, /srv, ... are empty
    /proc/sys    read-only, but for /proc/sys/net
    /dev         without the agent's channel
    system calls and capabilities: see `seccomp`

Network namespaces are the nodes': tc, ip, sysctl and the rest work as without a sandbox.

The agent stays outside. To start a process in the sandbox, it sets the PID namespace of its next child
(setns(2)), and the child enters the mount namespace. To look for changed programs, the agent enters the
mount namespace for a moment.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from . import system
from .namespaces import ROOT, Namespaces
from .program_files import changed_in_overlay, programs_below, sha256_of
from .program_path import find_program
from .root import NETNS_FOLDER, RUN_FOLDER, links_of_dev
from .seccomp import restrict

FileAction = tuple[int, ...] | tuple[int, int, str, int, int]
"""A file action of posix_spawn(): (POSIX_SPAWN_DUP2, from, to), or OPEN with path and flags."""
FOLDER = "/run/sandbox"
"""A folder outside the sandbox, with the overlay's layers and its root."""
UPPER, WORK, NEW_ROOT = f"{FOLDER}/upper", f"{FOLDER}/work", f"{FOLDER}/root"
SHOWN_FOLDERS = {
    *("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"),
    *("etc", "proc", "sys", "dev"),
}
"""Top-level folders that are not empty in the sandbox; /proc, /sys and /dev are its own."""
SECRETS = (
    *("etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d"),
    *("etc/ssh", "etc/ssl/private", "etc/wireguard", "etc/NetworkManager", "etc/krb5.keytab"),
    *("usr/local/src", "usr/src"),
)
"""Files and folders below SHOWN_FOLDERS that are empty in the sandbox."""
WRITABLE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/root", "/opt", "/srv", "/run/wanlab/home")
"""Outside the overlay, and empty at first: a submission may leave programs here."""
DEVICES = {
    **{"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)},
    **{"tty": (5, 0), "net/tun": (10, 200)},
}
"""Files in /dev, with major and minor number (Linux, Documentation/admin-guide/devices.txt)."""
MAX_CHANGES = 20
"""The most changed programs that are reported."""
END_LIMIT_S = 10.0
"""How long `end` waits for the processes to end, in the machine's time."""
END_POLL_S = 0.001
READY = b"ok"
"""The first process reports this when the sandbox is complete."""


class Sandbox:
    """A sandbox, from its first process until `end`."""

    def __init__(
        self,
        namespaces: Namespaces,
        working_folder: str,
        home: str,
        visible: Iterable[str],
        hidden: Iterable[str],
    ) -> None:
        """Make a sandbox, which is ready when this returns. OSError if that fails.

        working_folder   is read and written in the sandbox, at the same path
        home             another path of the working folder; may be the same
        visible          folders of the machine that can be read, besides its programs
        hidden           paths that are empty in the sandbox
        """
        self._namespaces = namespaces
        self._home = home
        self._visible = sorted(visible, key=len)  # a folder before those in it
        self._agents_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        # The agent shares its root with kernel threads; setns(2) needs one of its own.
        system.unshare(system.CLONE_FS)
        _let_new_nodes_appear()
        os.makedirs(FOLDER, exist_ok=True)
        system.mount("sandbox", FOLDER, "tmpfs", options="mode=755,size=50%")
        for folder in (UPPER, WORK, NEW_ROOT):
            os.mkdir(folder)
        self._first_pid = self._start_first_process(working_folder, list(hidden))
        self._pids = os.open(f"/proc/{self._first_pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._mounts = os.open(f"/proc/{self._first_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def spawn(
        self,
        node: str,
        program: str,
        arguments: Sequence[str],
        folder: str,
        environment: dict[str, str],
        actions: Sequence[FileAction],
        default_signals: Iterable[int],
    ) -> int:
        """Start a program in the sandbox, in the network of a node, and return its pid.

        `actions` are those of os.posix_spawn. OSError if it cannot be started.
        """

        def become_program() -> None:
            if node != ROOT:
                system.unshare(system.CLONE_NEWNS)
                system.mount("sys", "/sys", "sysfs")  # shows the interfaces of this node
            os.setsid()
            os.chdir(folder)
            for action in actions:
                _perform(action)
            for number in default_signals:
                signal.signal(number, signal.SIG_DFL)
            restrict()
            os.execve(program, list(arguments), environment)

        error_end, child_end = os.pipe()
        try:
            try:
                with self._namespaces.inside_net(node):
                    pid = self.fork(become_program, child_end)
            finally:
                os.close(child_end)
            # Starting the program closes the child's end, so nothing to read means success.
            error = os.read(error_end, 4096).decode(errors="replace")
        finally:
            os.close(error_end)
        if error:
            number, _, text = error.partition(":")
            raise OSError(int(number), text)
        return pid

    def fork(self, begin: Callable[[], None], error_end: int) -> int:
        """Fork a process of the sandbox that calls `begin`, and return its pid.

        The process exits when `begin` returns. If `begin` raises OSError, it writes this error to the
        descriptor `error_end` first, as "errno:text".
        """
        system.setns(self._pids, system.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                _run_child(self._mounts, begin, error_end)
        finally:
            system.setns(self._agents_pids, system.CLONE_NEWPID)
        return pid

    def changed_programs(self, programs: Sequence[dict[str, str]], path: str) -> list[str]:
        """Return the paths of programs, and of files that they load, that differ in the sandbox.

        `programs` is the result of `program_files` outside, and `path` the PATH of the sandbox. Programs
        of the same names count, too, wherever the sandbox can write. At most MAX_CHANGES are returned.
        """
        changed = set(changed_in_overlay(UPPER))
        agents_mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        system.setns(self._mounts, system.CLONE_NEWNS)
        try:
            for program in programs:
                name = os.path.basename(program["path"])
                first = find_program(name, path)
                if first is None or sha256_of(first) != program["sha256"]:
                    changed.add(first or program["path"])
            names = {os.path.basename(program["path"]) for program in programs}
            # Visible folders are read-only. One may lie in a home folder: wanlab's own environment.
            folders = (*WRITABLE_FOLDERS, self._home)
            changed.update(programs_below(folders, names, skipped=self._visible))
        finally:
            system.setns(agents_mounts, system.CLONE_NEWNS)
            os.close(agents_mounts)
        return sorted(changed)[:MAX_CHANGES]

    def end(self, reap: Callable[[], None]) -> None:
        """Kill every process of the sandbox and remove its files. `reap` collects dead children.

        OSError if a process is still there after END_LIMIT_S.
        """
        os.kill(self._first_pid, signal.SIGKILL)  # the kernel kills the others with it
        attempts = int(END_LIMIT_S / END_POLL_S)
        while attempts and os.path.exists(f"/proc/{self._first_pid}"):
            reap()
            time.sleep(END_POLL_S)
            attempts -= 1
        for descriptor in (self._pids, self._mounts, self._agents_pids):
            os.close(descriptor)
        system.unmount(FOLDER)
        if not attempts:
            raise OSError("a process of the submission does not end")

    def _start_first_process(self, working_folder: str, hidden: Sequence[str]) -> int:
        """Start the process that makes the sandbox's files and keeps its namespaces; return its pid.

        OSError if it cannot make them.
        """
        report_end, child_end = os.pipe()
        system.unshare(system.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                _run_first_process(child_end, working_folder, self._home, self._visible, hidden)
        finally:
            system.setns(self._agents_pids, system.CLONE_NEWPID)
        os.close(child_end)
        report = os.read(report_end, 4096)
        os.close(report_end)
        if report != READY:
            raise OSError(f"cannot make the sandbox: {report.decode(errors='replace')}")
        return pid


def _let_new_nodes_appear() -> None:
    """Make nodes that are added later appear in the sandbox, too: see `_make_run`."""
    system.mount(NETNS_FOLDER, NETNS_FOLDER, flags=system.MS_BIND | system.MS_REC)
    system.mount("none", NETNS_FOLDER, flags=system.MS_SHARED)


# -- in processes of the sandbox ------------------------------------------------------------------


def _run_child(mounts: int, begin: Callable[[], None], error_end: int) -> NoReturn:
    """Call `begin` in the sandbox's files, and exit. See `Sandbox.fork`."""
    try:
        system.setns(mounts, system.CLONE_NEWNS)
        begin()
    except OSError as error:
        os.write(error_end, f"{error.errno or 0}:{error.strerror or error}".encode())
    finally:
        os._exit(127)  # as a shell does if it cannot start a program


def _perform(action: FileAction) -> None:
    """Perform a file action of os.posix_spawn."""
    if action[0] == os.POSIX_SPAWN_DUP2:
        os.dup2(int(action[1]), int(action[2]))
        return
    _, target, path, flags, mode = action
    assert isinstance(path, str)
    descriptor = os.open(path, flags, mode)
    if descriptor != target:
        os.dup2(descriptor, target)
        os.close(descriptor)


def _run_first_process(
    report_end: int, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
) -> NoReturn:
    """Make the sandbox's files, report that, and wait to be killed.

    READY, or the error, is written to the descriptor `report_end`.
    """
    try:
        system.unshare(system.CLONE_NEWNS)
        _make_root(NEW_ROOT, working_folder, home, visible, hidden)
        signal.set_wakeup_fd(-1)  # it is the agent's
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans leave nothing to collect
        restrict()
        os.write(report_end, READY)
    except OSError as error:
        os.write(report_end, str(error).encode()[:4000])
        os._exit(1)
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    while True:
        select.select([], [], [])


# -- the sandbox's files --------------------------------------------------------------------------


def _make_root(
    root: str, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
) -> None:
    """Build the files that the module describes in the folder `root`, and make it this process's /."""
    options = f"lowerdir=/,upperdir={UPPER},workdir={WORK},xino=off"
    system.mount("sandbox", root, "overlay", options=options)
    _empty_folders(root)
    _make_proc(f"{root}/proc")
    system.mount("sys", f"{root}/sys", "sysfs")
    _make_dev(root)
    _make_run(f"{root}/run")
    for folder in ("var/tmp", "var/log", "var/run", "var/lock"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    for folder in visible:
        if folder.split("/")[1] not in SHOWN_FOLDERS:
            _bind(folder, root + folder, is_writable=False)
    for folder in dict.fromkeys((working_folder, home)):
        _bind(working_folder, root + folder, is_writable=True)
    for path in (*SECRETS, *(path.lstrip("/") for path in hidden)):
        _hide(f"{root}/{path}")
    _change_root(root)


def _empty_folders(root: str) -> None:
    """Make all folders of the root but SHOWN_FOLDERS empty, and remove its files and links."""
    for name in set(os.listdir(root)) - SHOWN_FOLDERS:
        path = f"{root}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            mode = "1777" if name == "tmp" else "755"
            system.mount("sandbox", path, "tmpfs", options=f"mode={mode}")
        else:
            os.unlink(path)


def _make_proc(folder: str) -> None:
    """Mount /proc, which shows this PID namespace only, with kernel parameters read-only."""
    system.mount("proc", folder, "proc")
    for name in ("sys", "sysrq-trigger"):
        if os.path.exists(f"{folder}/{name}"):
            _bind(f"{folder}/{name}", f"{folder}/{name}", is_writable=False)
    # Those of a network namespace are the nodes'. The bind mount is read-only as /proc/sys is, until
    # it is remounted.
    network = f"{folder}/sys/net"
    system.mount(network, network, flags=system.MS_BIND)
    system.mount("none", network, flags=system.MS_BIND | system.MS_REMOUNT)


def _make_dev(root: str) -> None:
    """Make /dev with DEVICES and terminals only."""
    system.mount("sandbox", f"{root}/dev", "tmpfs", options="mode=755")
    links_of_dev(root)
    for name, (major, minor) in DEVICES.items():
        path = f"{root}/dev/{name}"
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path, 0o666)  # mknod(2) applies the umask
    _bind("/dev/pts", f"{root}/dev/pts", is_writable=True)
    os.mkdir(f"{root}/dev/shm")
    system.mount("sandbox", f"{root}/dev/shm", "tmpfs", options="mode=1777")


def _make_run(folder: str) -> None:
    """Fill /run: the nodes' namespaces, wanlab's folder, and the sockets of Open vSwitch."""
    os.makedirs(f"{folder}/netns")
    system.mount(NETNS_FOLDER, f"{folder}/netns", flags=system.MS_BIND | system.MS_REC)
    # Mounts of the agent appear here, but not the other way round (mount_namespaces(7)).
    system.mount("none", f"{folder}/netns", flags=system.MS_SLAVE)
    writable = ("home", "matplotlib")
    for name in writable:
        os.makedirs(f"{RUN_FOLDER}/{name}", exist_ok=True)
    _bind(RUN_FOLDER, f"{folder}/wanlab", is_writable=False)
    for name in writable:
        system.mount("sandbox", f"{folder}/wanlab/{name}", "tmpfs")
    if os.path.isdir("/run/openvswitch"):
        _bind("/run/openvswitch", f"{folder}/openvswitch", is_writable=True)


def _bind(source: str, target: str, *, is_writable: bool) -> None:
    """Show a file or folder at another path, or at the same one to make it read-only there."""
    if source != target:
        os.makedirs(target, exist_ok=True)
    system.mount(source, target, flags=system.MS_BIND)
    if not is_writable:
        # mount(2) ignores MS_RDONLY when it makes a bind mount.
        flags = system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY
        system.mount("none", target, flags=flags)


def _hide(path: str) -> None:
    """Make a file or folder empty, if it exists."""
    if os.path.isdir(path):
        system.mount("sandbox", path, "tmpfs", flags=system.MS_RDONLY, options="mode=755")
    elif os.path.exists(path):
        system.mount("/dev/null", path, flags=system.MS_BIND)


def _change_root(root: str) -> None:
    """Make a folder this process's /, and release the old one."""
    old_root = "run/old-root"
    os.mkdir(f"{root}/{old_root}")
    system.pivot_root(root, f"{root}/{old_root}")
    os.chdir("/")
    # /run/netns is shared: unless its copy is made private first, unmounting it would unmount the
    # nodes' namespaces everywhere.
    system.mount("none", f"/{old_root}", flags=system.MS_REC | system.MS_PRIVATE)
    system.unmount(f"/{old_root}")
    os.rmdir(f"/{old_root}")
