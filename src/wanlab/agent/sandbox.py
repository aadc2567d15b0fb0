"""The sandbox in which the programs of a submission run while they are graded.

These programs share the nodes' networks with the rest of the machine, and nothing else. When all of
them have ended, the checks measure the network from outside, with files that no submission could
change.

    processes    a separate PID namespace: they see and signal only each other
    files        a separate overlay over the machine's root, so their changes are visible to them alone.
                 Of the computer they see its programs (/usr, /etc, ...), the folders in
                 `visible`, and the working folder; /home, /root, /srv, ... are empty
    /proc, /sys  read-only, but for processes, /proc/sys/net and network interfaces
    /dev         without the agent's channel
    IPC, names   System V IPC, message queues and the host name are the sandbox's own
    system calls and capabilities: see `seccomp`

Network namespaces are the nodes': tc, ip, sysctl and the rest work as without a sandbox.

The agent stays outside. A program gets into the sandbox in three steps, so that no process of the
sandbox ever sees one that is not restricted yet:

    1. a fork of the agent, outside, enters the namespaces of the node and of the sandbox. For the PID
       namespace, that concerns only its children (setns(2))
    2. it hides its memory, gives up capabilities and system calls, and forks
    3. its child, the first process inside, runs the program

While the sandbox exists, the file system of the machine's root is read-only for everybody, the agent's
own operations excepted.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from . import system
from .integrity import MAX_CHANGES, RUN_FOLDER
from .namespaces import ROOT, Namespaces
from .program_files import changed_in_overlay, programs_below, sha256_of
from .program_path import find_program
from .root import COMMAND_LINE_FILE, NETNS_FOLDER, links_of_dev, shows_command_line
from .seccomp import hide_memory, restrict

FileAction = tuple[int, ...] | tuple[int, int, str, int, int]
"""A file action of posix_spawn(): (POSIX_SPAWN_DUP2, from, to), or OPEN with path and flags."""
FOLDER = "/run/sandbox"
"""A folder outside the sandbox, with the overlay's layers and its root."""
UPPER, WORK, NEW_ROOT = f"{FOLDER}/upper", f"{FOLDER}/work", f"{FOLDER}/root"
SHOWN_FOLDERS = {
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "etc",
    "proc",
    "sys",
    "dev",
}
"""Top-level folders that are not empty in the sandbox; /proc, /sys and /dev are its own."""
SECRETS = (
    "etc/shadow",
    "etc/shadow-",
    "etc/gshadow",
    "etc/gshadow-",
    "etc/sudoers",
    "etc/sudoers.d",
    "etc/ssh",
    "etc/ssl/private",
    "etc/wireguard",
    "etc/NetworkManager",
    "etc/krb5.keytab",
    "usr/local/src",
    "usr/src",
)
"""Files and folders below SHOWN_FOLDERS that are empty in the sandbox."""
WRITABLE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/root", "/opt", "/srv", "/run/wanlab/home")
"""Outside the overlay, and empty at first: a submission may leave programs here."""
DEVICES = {
    **{"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)},
    **{"tty": (5, 0), "net/tun": (10, 200)},
}
"""Files in /dev, with major and minor number (Linux, Documentation/admin-guide/devices.txt)."""
LOADER_FILES = (
    "/etc/ld.so.preload",
    "/etc/ld.so.cache",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/etc/environment",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/inputrc",
)
"""What decides which code a program runs and which names it finds, besides its own file."""
LIMIT_S = 10.0
"""How long a program may take to start, and all processes to end, in the machine's time."""
END_POLL_S = 0.001
READY = b"ok"
"""The first process reports this when the sandbox is complete."""
FIRST_PROGRAM = ("/bin/sleep", "infinity")
"""What the first process runs then. It keeps the namespaces, and none of the agent's memory."""
READ_ONLY_BIND = system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY
NAMESPACES = system.CLONE_NEWNS | system.CLONE_NEWIPC | system.CLONE_NEWUTS
PID, ERROR = "pid", "error"
"""The lines of a report; see `_enter`."""
GUEST_CHANNEL = 3
"""The descriptor at which an agent in the sandbox has its channel."""
MAX_DESCRIPTORS = 1 << 20


class Sandbox:
    """A sandbox, from its first process until `end`."""

    def __init__(
        self,
        namespaces: Namespaces,
        reap: Callable[[], None],
        working_folder: str,
        home: str,
        visible: Iterable[str],
        hidden: Iterable[str],
    ) -> None:
        """Make a sandbox, which is ready when this returns. OSError if that fails.

        reap             collects the dead children of this process
        working_folder   is read and written in the sandbox, at the same path
        home             another path of the working folder; may be the same
        visible          folders of the machine that can be read, besides its programs
        hidden           paths that are empty in the sandbox
        """
        self._namespaces = namespaces
        self._reap = reap
        self._home = home
        self._visible = sorted(visible, key=len)  # a folder before those in it
        self._agents_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        # The agent shares its root with kernel threads; setns(2) needs one of its own.
        system.unshare(system.CLONE_FS)
        _let_new_nodes_appear(namespaces)
        os.makedirs(FOLDER, exist_ok=True)
        system.mount("sandbox", FOLDER, "tmpfs", options="mode=755,size=50%")
        for folder in (UPPER, WORK, NEW_ROOT):
            os.mkdir(folder)
        self._first_pid = self._start_first_process(working_folder, list(hidden))
        self._first = os.pidfd_open(self._first_pid)
        self._mounts = os.open(f"/proc/{self._first_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._is_running = True
        self._loader_files = {path: sha256_of(path) for path in LOADER_FILES}
        _set_read_only("/", True)

    @contextmanager
    def writable_root(self) -> Iterator[None]:
        """Run the body, which is an operation of the agent, with a writable root outside."""
        _set_read_only("/", False)
        try:
            yield
        finally:
            _set_read_only("/", True)

    def start_agent(self, connection: int) -> None:
        """Start an agent in the sandbox, for the program at the other end of a connection.

        OSError if it cannot be started.
        """
        folder = os.path.dirname(os.path.abspath(__file__))
        options = ("-I", "-S", "-B", "-X", "utf8")
        actions: list[FileAction] = [
            *((os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1, 2)),
            (os.POSIX_SPAWN_DUP2, connection, GUEST_CHANNEL),
        ]
        arguments = ["wanlab-agent", *options, folder, str(GUEST_CHANNEL), "guest"]
        self.spawn(ROOT, sys.executable, arguments, "/", {}, actions, [])

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
            os.setsid()
            os.chdir(folder)
            for action in actions:
                _perform(action)
            for number in default_signals:
                signal.signal(number, signal.SIG_DFL)
            os.execve(program, list(arguments), environment)

        net = self._namespaces.net(node) if node != ROOT else None
        report_end, child_end = os.pipe()
        try:
            entering = os.fork()
            if entering == 0:
                _enter(self._first, net, become_program, child_end)
            os.close(child_end)
            pid, error = _read_report(report_end)
            os.waitpid(entering, 0)  # from now on the program is our child
        finally:
            os.close(report_end)
        if error is not None:
            raise error
        return pid

    def changed_programs(self, programs: Sequence[dict[str, str]], path: str) -> list[str]:
        """Kill all processes, and return the paths of programs, and of files that they load, that differ
        in the sandbox.

        `programs` is the result of `program_files` outside, and `path` the PATH of the sandbox. Programs
        of the same names count, too, wherever the sandbox can write. At most MAX_CHANGES are returned.
        """
        self._kill()
        self._check_outside({program["path"]: program["sha256"] for program in programs})
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

    def end(self) -> None:
        """Kill every process of the sandbox and remove its files.

        OSError if a process is still there after LIMIT_S, or a file outside has changed.
        """
        self._kill()
        self._check_outside(self._loader_files)
        for descriptor in (self._first, self._mounts, self._agents_pids):
            os.close(descriptor)
        system.unmount(FOLDER)
        _set_read_only("/", False)

    def _check_outside(self, digests: dict[str, str]) -> None:
        """Raise OSError if a file outside has another SHA-256 than before the sandbox existed."""
        changed = [path for path, digest in digests.items() if sha256_of(path) != digest]
        if changed:
            raise OSError(f"changed outside of the sandbox: {', '.join(changed)}")

    def _kill(self) -> None:
        """Kill every process of the sandbox, and wait until they have ended.

        The first process becomes a zombie when all others are gone (pid_namespaces(7)).
        """
        if not self._is_running:
            return
        self._is_running = False
        os.kill(self._first_pid, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._first, select.POLLIN)
        for _ in range(int(LIMIT_S / END_POLL_S)):
            self._reap()  # the programs that we started are our children
            if poll.poll(END_POLL_S * 1000):
                return
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
        # Running FIRST_PROGRAM closes the other end.
        with os.fdopen(report_end, "rb") as report_file:
            report = report_file.read()
        if report != READY:
            raise OSError(f"cannot make the sandbox: {report.decode(errors='replace')}")
        return pid


def _let_new_nodes_appear(namespaces: Namespaces) -> None:
    """Make nodes that are added later appear in the sandbox, too: see `_make_run`.

    The mounts of the present nodes move to the new mount. Below it, they could not be removed.
    """
    paths = {f"{NETNS_FOLDER}/{name}": namespaces.net(name) for name in namespaces.names()}
    for path in paths:
        system.unmount(path)
    system.mount(NETNS_FOLDER, NETNS_FOLDER, flags=system.MS_BIND)
    system.mount("none", NETNS_FOLDER, flags=system.MS_SHARED)
    for path, net in paths.items():
        system.mount(f"/proc/self/fd/{net}", path, flags=system.MS_BIND)


def _set_read_only(path: str, is_read_only: bool) -> None:
    """Make a whole file system read-only, or writable, wherever it is mounted."""
    flags = system.MS_REMOUNT | (system.MS_RDONLY if is_read_only else 0)
    system.mount("none", path, flags=flags)


def _read_report(report_end: int) -> tuple[int, OSError | None]:
    """Return the pid that `_enter` reports, and the error if there was one.

    A program of the sandbox can stop a process that has just entered it, so the wait has a limit.
    """
    poll = select.poll()
    poll.register(report_end, select.POLLIN)
    report = b""
    while True:
        if not poll.poll(LIMIT_S * 1000):
            error: OSError | None = OSError("the program does not start")
            break
        data = os.read(report_end, 4096)
        if not data:
            error = None
            break
        report += data
    pid = 0
    for line in report.decode(errors="replace").splitlines():
        what, _, text = line.partition(" ")
        if what == PID:
            pid = int(text)
        else:
            number, _, reason = text.partition(" ")
            error = OSError(int(number), reason)
    if error is not None and pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pid, error


# -- in processes of the sandbox ------------------------------------------------------------------


def _enter(first: int, net: int | None, begin: Callable[[], None], report_end: int) -> NoReturn:
    """Enter the sandbox and call `begin` there, in a child. This runs in a fork of the agent.

    first   a descriptor of the sandbox's first process
    net     the network namespace; None for the machine's

    The descriptor `report_end` gets a line with the child's pid, and one with the error, if there is
    one. It is closed when the program runs.
    """
    try:
        hide_memory()
        signal.set_wakeup_fd(-1)  # it is the agent's
        if net is not None:
            system.setns(net, system.CLONE_NEWNET)
        system.setns(first, NAMESPACES | system.CLONE_NEWPID)
        if net is not None:
            system.unshare(system.CLONE_NEWNS)
            _mount_sys("/sys")  # shows the interfaces of this node
        restrict()
        pid = os.fork()
        if pid:
            os.write(report_end, f"{PID} {pid}\n".encode())
        else:
            begin()
    except OSError as error:
        os.write(report_end, f"{ERROR} {error.errno or 0} {error.strerror or error}\n".encode())
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
    """Make the sandbox's files, report that, and run FIRST_PROGRAM.

    READY, or the error, is written to the descriptor `report_end`.
    """
    try:
        hide_memory()
        signal.set_wakeup_fd(-1)  # it is the agent's
        system.unshare(NAMESPACES)
        _make_root(NEW_ROOT, working_folder, home, visible, hidden)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans leave nothing to collect
        restrict()
        os.dup2(report_end, 0, inheritable=False)
        os.closerange(1, MAX_DESCRIPTORS)
        os.write(0, READY)
        os.execve(FIRST_PROGRAM[0], ["init", *FIRST_PROGRAM[1:]], {})
    except OSError as error:
        os.write(report_end, str(error).encode()[:4000])
    finally:
        os._exit(1)


# -- the sandbox's files --------------------------------------------------------------------------


def _make_root(
    root: str, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
) -> None:
    """Build the files that the module describes in the folder `root`, and make it this process's /."""
    options = f"lowerdir=/,upperdir={UPPER},workdir={WORK},xino=off"
    system.mount("sandbox", root, "overlay", options=options)
    _empty_folders(root)
    _make_proc(f"{root}/proc")
    _mount_sys(f"{root}/sys")
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
    """Mount /proc, which shows this PID namespace only; nothing but processes can be changed there."""
    system.mount("proc", folder, "proc")
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        mode = os.lstat(path).st_mode
        is_changeable = stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and mode & 0o222)
        if is_changeable and not name.isdigit():
            _bind(path, path, is_writable=False)
    if shows_command_line():
        system.mount(COMMAND_LINE_FILE, f"{folder}/cmdline", flags=system.MS_BIND)
        system.mount("none", f"{folder}/cmdline", flags=READ_ONLY_BIND)
    # The parameters of a network namespace are the nodes'.
    _make_writable(f"{folder}/sys/net")


def _mount_sys(folder: str) -> None:
    """Mount a /sys that shows the interfaces of this network namespace; nothing else can be changed."""
    system.mount("sys", folder, "sysfs")
    _bind(folder, folder, is_writable=False)
    _make_writable(f"{folder}/devices/virtual/net")


def _make_writable(folder: str) -> None:
    """Make a folder writable that lies in a read-only bind mount."""
    system.mount(folder, folder, flags=system.MS_BIND)  # read-only, as what surrounds it
    system.mount("none", folder, flags=system.MS_BIND | system.MS_REMOUNT)


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
    system.mount("none", f"{folder}/netns", flags=READ_ONLY_BIND)
    writable = ("home", "matplotlib")
    for name in writable:
        os.makedirs(f"{RUN_FOLDER}/{name}", exist_ok=True)
    _bind(RUN_FOLDER, f"{folder}/wanlab", is_writable=False)
    for name in writable:
        system.mount("sandbox", f"{folder}/wanlab/{name}", "tmpfs")
    if os.path.isdir("/run/openvswitch"):
        _bind("/run/openvswitch", f"{folder}/openvswitch", is_writable=False)


def _bind(source: str, target: str, *, is_writable: bool) -> None:
    """Show a file or folder at another path, or at the same one to make it read-only there."""
    if source != target:
        os.makedirs(target, exist_ok=True)
    system.mount(source, target, flags=system.MS_BIND)
    if not is_writable:
        # mount(2) ignores MS_RDONLY when it makes a bind mount.
        system.mount("none", target, flags=READ_ONLY_BIND)


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
