"""A sandbox: where the programs of a submission run while they are graded.

These programs share the network with the rest of the machine, and nothing else. When all of them have
ended, the checks measure the network from outside, with files that no submission could change.

    processes    a separate PID namespace: they see and signal only each other
    files        a separate overlay over the machine's root, so nobody else sees what they write, delete
                 or replace. Of the computer they see its programs (/usr, /etc, ...), the folders in
                 `visible`, and the working folder; /home, /root, /srv, ... are empty
    /proc/sys    read-only, but for /proc/sys/net
    /dev         without the agent's channel
    system calls and capabilities: see `seccomp`

Network namespaces are the nodes': tc, ip, sysctl and the rest work as without a sandbox.
"""

from __future__ import annotations

import hashlib
import os
import select
import signal
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NoReturn

from . import system
from .namespaces import ROOT, Namespaces
from .root import NETNS_FOLDER, RUN_FOLDER, links_of_dev
from .seccomp import restrict

FOLDER = "/run/sandbox"
SHARED = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "sys", "dev"}
"""Top-level folders that are not emptied."""
SECRETS = (
    *("etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d"),
    *("etc/ssh", "etc/ssl/private", "etc/wireguard", "etc/NetworkManager", "etc/krb5.keytab"),
    *("usr/local/src", "usr/src"),
)
DEVICES = {
    **{"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)},
    **{"tty": (5, 0), "net/tun": (10, 200)},
}
PROGRAM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "run/wanlab/bin", "etc/ld.so")
"""Paths below which a change in the overlay is one of programs or of what they load."""
END_LIMIT_S = 10.0
END_POLL_S = 0.001
MAX_CHANGES = 20
OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/root", "/opt", "/srv", "/run/wanlab/home")
"""Folders of the sandbox in which there is nothing at its start."""
MAX_SEARCHED_FILES = 10_000
MAX_PROGRAM_BYTES = 1 << 26


class Sandbox:
    """A sandbox with its first process, which holds it until `end`."""

    def __init__(
        self,
        namespaces: Namespaces,
        working_folder: str,
        home: str,
        visible: Iterable[str],
        hidden: Iterable[str],
    ) -> None:
        self._namespaces = namespaces
        self._home = home
        self._visible = sorted(visible, key=len)
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        system.unshare(system.CLONE_FS)  # kernel threads share the root of the first process
        self._share_nodes()
        os.makedirs(FOLDER, exist_ok=True)
        system.mount("sandbox", FOLDER, "tmpfs", options="mode=755,size=50%")
        for name in ("upper", "work", "root"):
            os.mkdir(f"{FOLDER}/{name}")
        ready, done = os.pipe()
        system.unshare(system.CLONE_NEWPID)
        try:
            self._holder = os.fork()
            if self._holder == 0:
                _hold(done, working_folder, home, self._visible, list(hidden))
        finally:
            system.setns(self._own_pids, system.CLONE_NEWPID)
        os.close(done)
        problem = os.read(ready, 4096)
        os.close(ready)
        if problem != b"ok":
            raise OSError(f"cannot make the sandbox: {problem.decode(errors='replace')}")
        self._pids = os.open(f"/proc/{self._holder}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._mounts = os.open(f"/proc/{self._holder}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def _share_nodes(self) -> None:
        """Let the namespaces of nodes that are made later appear in the sandbox, too."""
        system.mount(NETNS_FOLDER, NETNS_FOLDER, flags=system.MS_BIND | system.MS_REC)
        system.mount("none", NETNS_FOLDER, flags=system.MS_SHARED)

    # -- starting ---------------------------------------------------------------------------------

    def spawn(
        self,
        node: str,
        program: str,
        arguments: Sequence[str],
        folder: str,
        environment: dict[str, str],
        actions: Sequence[tuple[int, ...] | tuple[int, int, str, int, int]],
        default_signals: Iterable[int],
    ) -> int:
        """Start a program in the sandbox, in the network of a node, and return its pid.

        `actions` are those of os.posix_spawn. OSError if it cannot be started.
        """
        failed, failure = os.pipe()

        def begin() -> None:
            if node != ROOT:
                system.unshare(system.CLONE_NEWNS)
                system.mount("sys", "/sys", "sysfs")
            os.setsid()
            os.chdir(folder)
            for action in actions:
                _act(action)
            for number in default_signals:
                signal.signal(number, signal.SIG_DFL)
            restrict()
            os.execve(program, list(arguments), environment)

        try:
            with self._namespaces.inside_net(node):
                pid = self.fork(begin, failure)
            os.close(failure)
            failure = -1
            problem = os.read(failed, 4096).decode(errors="replace")
        finally:
            os.close(failed)
            if failure >= 0:
                os.close(failure)
        if problem:
            number, _, text = problem.partition(":")
            raise OSError(int(number), text)
        return pid

    def fork(self, begin: Callable[[], None], failure: int) -> int:
        """Fork a process of the sandbox that calls `begin`; write its error to a descriptor."""
        system.setns(self._pids, system.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                _run_child(self._mounts, begin, failure)
        finally:
            system.setns(self._own_pids, system.CLONE_NEWPID)
        return pid

    # -- what a submission has changed ------------------------------------------------------------

    def changed_programs(self, programs: Sequence[dict[str, str]], path: str) -> list[str]:
        """Return the paths of programs and of their libraries that differ in the sandbox.

        `programs` were found outside; `path` is the PATH that a shell looks them up in. Programs of
        the same names count, too, wherever the sandbox can write.
        """
        changed = set(_changed_files(f"{FOLDER}/upper"))
        own_mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        system.setns(self._mounts, system.CLONE_NEWNS)
        try:
            for program in programs:
                name = os.path.basename(program["path"])
                first = find_program(name, path)
                if first is None or digest(first) != program["sha256"]:
                    changed.add(first or program["path"])
            names = {os.path.basename(program["path"]) for program in programs}
            changed.update(_programs_in((*OWN_FOLDERS, self._home), names, self._visible))
        finally:
            system.setns(own_mounts, system.CLONE_NEWNS)
            os.close(own_mounts)
        return sorted(changed)[:MAX_CHANGES]

    # -- the end ----------------------------------------------------------------------------------

    def end(self, reap: Callable[[], None]) -> None:
        """Kill every process of the sandbox and remove its files. `reap` collects dead children."""
        os.kill(self._holder, signal.SIGKILL)
        attempts = int(END_LIMIT_S / END_POLL_S)
        while attempts and os.path.exists(f"/proc/{self._holder}"):
            reap()
            time.sleep(END_POLL_S)
            attempts -= 1
        for descriptor in (self._pids, self._mounts, self._own_pids):
            os.close(descriptor)
        system.unmount(FOLDER)
        if not attempts:
            raise OSError("a process of the submission does not end")


def program_files(names: Iterable[str], path: str) -> list[dict[str, str]]:
    """Return where each program is found, and the digest of its file."""
    files: list[dict[str, str]] = []
    for name in sorted(set(names)):
        found = find_program(name, path)
        if found is not None:
            files.append({"path": found, "sha256": digest(found)})
    return files


def find_program(name: str, path: str) -> str | None:
    for folder in path.split(os.pathsep):
        program = os.path.join(folder, name)
        if os.access(program, os.X_OK) and not os.path.isdir(program):
            return program
    return None


def digest(path: str) -> str:
    """Return the SHA-256 of a file; empty if there is none, or if it is too large for a program."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PROGRAM_BYTES:
            return ""
        return hashlib.sha256(file.read()).hexdigest()


def _programs_in(folders: Iterable[str], names: set[str], visible: Sequence[str]) -> Iterable[str]:
    """Yield the programs with one of these names in folders, as far as these can be searched.

    The sandbox cannot write in visible folders. One of them may lie in a home folder: wanlab's own
    virtual environment.
    """
    left = MAX_SEARCHED_FILES
    for top in folders:
        for folder, below, files in os.walk(top):
            if folder in visible:
                below.clear()
                continue
            left -= 1 + len(files)
            if left < 0:
                return
            for name in names.intersection(files):
                path = f"{folder}/{name}"
                if os.access(path, os.X_OK) and not os.path.isdir(path):
                    yield path


def _changed_files(upper: str) -> Iterable[str]:
    for folder, folders, files in os.walk(upper):
        for name in (*files, *(f for f in folders if os.path.islink(f"{folder}/{f}"))):
            path = os.path.relpath(f"{folder}/{name}", upper)
            if path.startswith(PROGRAM_FOLDERS) and not path.endswith((".pyc", "~")):
                yield f"/{path}"


# -- inside ---------------------------------------------------------------------------------------


def _run_child(mounts: int, begin: Callable[[], None], failure: int) -> NoReturn:
    try:
        system.setns(mounts, system.CLONE_NEWNS)
        begin()
    except OSError as error:
        os.write(failure, f"{error.errno or 0}:{error.strerror or error}".encode())
    finally:
        os._exit(127)


def _act(action: tuple[int, ...] | tuple[int, int, str, int, int]) -> None:
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


def _hold(
    done: int, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
) -> NoReturn:
    """Make the sandbox's files and stay, as its first process."""
    try:
        system.unshare(system.CLONE_NEWNS)
        _make_root(f"{FOLDER}/root", working_folder, home, visible, hidden)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans leave nothing to collect
        restrict()
        os.write(done, b"ok")
    except OSError as error:
        os.write(done, str(error).encode()[:4000])
        os._exit(1)
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    while True:
        select.select([], [], [])


def _make_root(
    root: str, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
) -> None:
    upper, work = f"{FOLDER}/upper", f"{FOLDER}/work"
    options = f"lowerdir=/,upperdir={upper},workdir={work},xino=off"
    system.mount("sandbox", root, "overlay", options=options)
    for name in set(os.listdir(root)) - SHARED:
        path = f"{root}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            mode = "1777" if name == "tmp" else "755"
            system.mount("sandbox", path, "tmpfs", options=f"mode={mode}")
        else:
            os.unlink(path)
    _make_proc(f"{root}/proc")
    system.mount("sys", f"{root}/sys", "sysfs")
    _make_dev(root)
    _make_run(f"{root}/run")
    for folder in ("var/tmp", "var/log", "var/run", "var/lock"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    for folder in visible:
        if folder.split("/")[1] not in SHARED:
            _bind(folder, root + folder, is_writable=False)
    for folder in dict.fromkeys((working_folder, home)):
        _bind(working_folder, root + folder, is_writable=True)
    for path in (*SECRETS, *(path.lstrip("/") for path in hidden)):
        _hide(f"{root}/{path}")
    old = f"{root}/run/old-root"
    os.mkdir(old)
    system.pivot_root(root, old)
    os.chdir("/")
    # Otherwise the nodes' namespaces would be unmounted here as well.
    system.mount("none", "/run/old-root", flags=system.MS_REC | system.MS_PRIVATE)
    system.unmount("/run/old-root")
    os.rmdir("/run/old-root")


def _make_proc(folder: str) -> None:
    system.mount("proc", folder, "proc")
    for name in ("sys", "sysrq-trigger"):
        if os.path.exists(f"{folder}/{name}"):
            _bind(f"{folder}/{name}", f"{folder}/{name}", is_writable=False)
    network = f"{folder}/sys/net"
    system.mount(network, network, flags=system.MS_BIND)
    system.mount("none", network, flags=system.MS_BIND | system.MS_REMOUNT)


def _make_dev(root: str) -> None:
    system.mount("sandbox", f"{root}/dev", "tmpfs", options="mode=755")
    links_of_dev(root)
    for name, (major, minor) in DEVICES.items():
        path = f"{root}/dev/{name}"
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path, 0o666)
    _bind("/dev/pts", f"{root}/dev/pts", is_writable=True)
    os.mkdir(f"{root}/dev/shm")
    system.mount("sandbox", f"{root}/dev/shm", "tmpfs", options="mode=1777")


def _make_run(folder: str) -> None:
    os.makedirs(f"{folder}/netns")
    system.mount(NETNS_FOLDER, f"{folder}/netns", flags=system.MS_BIND | system.MS_REC)
    system.mount("none", f"{folder}/netns", flags=system.MS_SLAVE)
    for name in ("home", "matplotlib"):
        os.makedirs(f"{RUN_FOLDER}/{name}", exist_ok=True)
    _bind(RUN_FOLDER, f"{folder}/wanlab", is_writable=False)
    for name in ("home", "matplotlib"):
        system.mount("sandbox", f"{folder}/wanlab/{name}", "tmpfs")
    if os.path.isdir("/run/openvswitch"):
        _bind("/run/openvswitch", f"{folder}/openvswitch", is_writable=True)


def _bind(source: str, target: str, *, is_writable: bool) -> None:
    if source != target:
        os.makedirs(target, exist_ok=True)
    system.mount(source, target, flags=system.MS_BIND)
    if not is_writable:
        flags = system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY
        system.mount("none", target, flags=flags)


def _hide(path: str) -> None:
    if os.path.isdir(path):
        system.mount("sandbox", path, "tmpfs", flags=system.MS_RDONLY, options="mode=755")
    elif os.path.exists(path):
        with suppress(OSError):
            system.mount("/dev/null", path, flags=system.MS_BIND)
