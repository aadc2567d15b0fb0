"""Test the confinement of the kernel's processes with a process that is confined in the same way.

The process attempts what a program could do after it has taken over the machine's kernel. Each attempt
is made under every combination of layers that computers offer: with and without the seccomp filter, and
with each version of Landlock up to this computer's.
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from process_tree import kernels

from wanlab import Network, Topology
from wanlab.machine.embedded import confinement as confinement_module
from wanlab.machine.embedded.confinement import (
    Confinement,
    landlock_version,
    missing_parts,
    prepare_confinement,
    warn_once,
)
from wanlab.machine.embedded.host_calls import ALLOWED_CALLS

NEWEST = landlock_version()
NEVER = 99
PREAMBLE = """
import ctypes, fcntl, os, resource, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    words = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), "")
def datagrams(kind):
    return socket.socketpair(socket.AF_UNIX, kind)[0]
def reading(path):
    return os.open(path, os.O_RDONLY)
def peek(pid):
    address = int(open(f"/proc/{pid}/maps").read().split("-")[0], 16)
    there = struct.pack("QQ", address, 8)
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 8)
    call(310, pid, here, 1, there, 1, 0)  # process_vm_readv
"""

needs_landlock = pytest.mark.skipif(not NEWEST, reason="no Landlock here")


class Layers(NamedTuple):
    """What a computer offers to confine a process."""

    landlock: int
    seccomp: bool

    def __str__(self) -> str:
        return f"landlock{self.landlock}{'-seccomp' if self.seccomp else ''}"


COMPUTERS = [
    *(Layers(version, True) for version in sorted({0, 1, 2, 3, NEWEST}) if version <= NEWEST),
    *(Layers(version, False) for version in sorted({1, 2, 3, NEWEST}) if version <= NEWEST),
]


class Attempt(NamedTuple):
    """A statement that must fail.

    since     the version of Landlock that refuses it; NEVER if none does
    filtered  whether the seccomp filter refuses it
    """

    statement: str
    since: int
    filtered: bool = True


ATTEMPTS = [
    # contents
    Attempt("os.open(there, os.O_WRONLY)", 1),
    Attempt("os.open(there, os.O_RDWR | os.O_APPEND)", 1),
    Attempt("os.open(there, 3)", NEVER),  # neither reading nor writing, only ioctl
    Attempt("os.open(there, os.O_RDONLY | os.O_TRUNC)", 3),
    Attempt("call(85, there.encode(), 0o644)", 1),  # creat
    Attempt(
        "call(437, -100, there.encode(), struct.pack('QQQ', os.O_RDWR, 0, 0), 24)", 1
    ),  # openat2
    Attempt("os.truncate(there, 0)", 3),
    Attempt("os.ftruncate(reading(there), 0)", 1),
    Attempt("os.posix_fallocate(reading(there), 0, 100)", 1),
    Attempt("call(326, reading('/etc/passwd'), 0, reading(there), 0, 10, 0)", 1),  # copy_file_range
    Attempt("call(40, reading(there), reading('/etc/passwd'), 0, 10)", 1),  # sendfile
    Attempt("open('/proc/{parent}/mem', 'r+b', buffering=0)", 1),
    Attempt("open('/proc/{parent}/oom_score_adj', 'w')", 1),
    Attempt("open('/proc/sys/kernel/core_pattern', 'w')", 1),
    Attempt("os.open('/dev/ptmx', os.O_RDWR)", 1),
    # devices, which may act when they are opened; who reads from a terminal takes what was typed
    Attempt("os.open('/dev/ptmx', os.O_RDONLY)", 1, filtered=False),
    Attempt("os.open('/dev/null', os.O_RDONLY)", 1, filtered=False),
    # names
    Attempt("os.open(outside + '/new', os.O_RDONLY | os.O_CREAT)", 1),
    Attempt("os.open(outside, os.O_TMPFILE | os.O_RDWR)", 1),
    Attempt("os.unlink(there)", 1),
    Attempt("os.mkdir(outside + '/folder')", 1),
    Attempt("os.rmdir(outside + '/empty')", 1),
    Attempt("os.symlink('x', outside + '/link')", 1),
    Attempt("os.link(there, outside + '/link')", 1),
    Attempt("os.rename(there, outside + '/else')", 1),
    Attempt("os.mkfifo(outside + '/fifo')", 1),
    Attempt("os.mknod(outside + '/device', 0o20666, os.makedev(1, 3))", 1),
    # modes, owners, times, attributes: by path, by descriptor, through /proc
    Attempt("os.chmod(there, 0o4755)", NEVER),
    Attempt("os.fchmod(reading(there), 0o666)", NEVER),
    Attempt("os.chmod('/proc/self/fd/%d' % os.open(there, os.O_PATH), 0o666)", NEVER),
    Attempt("call(452, os.open(there, os.O_PATH), b'', 0o666, 0x1000)", NEVER),  # fchmodat2
    Attempt("os.chown(there, -1, {group})", NEVER),
    Attempt("os.fchown(reading(there), -1, {group})", NEVER),
    Attempt("os.chown(there, -1, {group}, follow_symlinks=False)", NEVER),
    Attempt("os.utime(there, (1, 1))", NEVER),
    Attempt("os.utime(reading(there), (1, 1))", NEVER),
    Attempt("call(132, there.encode(), None)", NEVER),  # utime
    Attempt("call(235, there.encode(), None)", NEVER),  # utimes
    Attempt("os.setxattr(there, 'user.x', b'1')", NEVER),
    Attempt("os.setxattr(reading(there), 'user.x', b'1')", NEVER),
    Attempt("fcntl.ioctl(reading(there), 0x40086602, struct.pack('l', 0x80))", NEVER),  # chattr +A
    Attempt("call(260, -100, there.encode(), -1, {group}, 0)", NEVER),  # fchownat
    # locks
    Attempt("fcntl.flock(reading(there), fcntl.LOCK_SH)", NEVER),
    Attempt("fcntl.lockf(reading(there), fcntl.LOCK_SH)", NEVER),
    Attempt("fcntl.fcntl(reading(there), 1024, fcntl.F_RDLCK)", NEVER),  # F_SETLEASE
    # other processes
    Attempt("os.kill({parent}, signal.SIGCONT)", 6),
    Attempt("os.kill(0, 0)", NEVER),
    Attempt("call(200, {parent}, signal.SIGCONT)", 6),  # tkill
    Attempt("call(234, {parent}, {parent}, signal.SIGCONT)", 6),  # tgkill
    Attempt("fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, {parent})", NEVER),
    Attempt("call(101, 16, {sleeper}, 0, 0)", 1),  # PTRACE_ATTACH
    Attempt("call(101, 0x4206, {sleeper}, 0, 0)", 1),  # PTRACE_SEIZE
    Attempt("peek({sleeper})", 1),
    Attempt("open('/proc/{sleeper}/mem', 'rb')", 1, filtered=False),
    Attempt("resource.prlimit({sleeper}, resource.RLIMIT_CORE, (0, 0))", NEVER),
    Attempt("os.setpriority(os.PRIO_PROCESS, {sleeper}, 19)", NEVER),
    Attempt("os.sched_setaffinity({sleeper}, {{0}})", NEVER),
    Attempt("os.sched_setscheduler({sleeper}, os.SCHED_BATCH, os.sched_param(0))", NEVER),
    Attempt("os.pidfd_open({sleeper})", NEVER),
    # sockets
    Attempt("socket.socket()", NEVER),
    Attempt("socket.socket(socket.AF_UNIX)", NEVER),
    Attempt("datagrams(socket.SOCK_DGRAM).sendto(b'x', log)", NEVER),
    Attempt("datagrams(socket.SOCK_RAW).sendto(b'x', log)", NEVER),
    Attempt("datagrams(socket.SOCK_SEQPACKET).sendto(b'x', log)", 0, filtered=False),
    Attempt("datagrams(socket.SOCK_STREAM).sendto(b'x', log)", 0, filtered=False),
    # namespaces, in which the process would be root
    Attempt("call(56, 0x10000000 | 17, 0, 0, 0, 0)", NEVER),  # clone
    Attempt("call(272, 0x10000000)", NEVER),  # unshare
]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "empty").mkdir(parents=True)
    (folder / "there").write_text("unchanged")
    os.utime(folder / "there", (1_600_000_000, 1_600_000_000))
    return folder


@pytest.fixture
def sleeper() -> Iterator[int]:
    """Run another process of the user, and return its pid."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def log(outside: Path) -> Iterator[socket.socket]:
    """Make a socket to which the user's processes send datagrams, as to the system's log."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.setblocking(False)
        folder = os.open(outside, os.O_PATH)  # a socket's path has at most 107 bytes
        end.bind(f"/proc/self/fd/{folder}/log")
        os.close(folder)
        yield end


@pytest.fixture
def confinement() -> Iterator[Confinement]:
    prepared = prepare_confinement()
    yield prepared
    prepared.close()


def offer(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this computer offer only these layers to what is confined from now on."""
    monkeypatch.setattr(confinement_module, "landlock_version", lambda: layers.landlock)
    if not layers.seccomp:
        monkeypatch.setattr(confinement_module, "_PR_SET_SECCOMP", -1)


def run_confined(confinement: Confinement, script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PREAMBLE + script],
        preexec_fn=confinement.apply,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def refused(confinement: Confinement, statements: list[str], outside: Path) -> list[bool]:
    """Perform statements in a confined process, and return which of them fail."""
    script = [f"outside = {str(outside)!r}; there = outside + '/there'"]
    # a socket's path has at most 107 bytes
    script.append("log = '/proc/self/fd/%d/log' % os.open(outside, os.O_PATH)")
    for statement in statements:
        script.append(f"try:\n    {statement}\n    print('done')\nexcept OSError: print('refused')")
    return [word == "refused" for word in run_confined(confinement, "\n".join(script)).split()]


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all about the files in a folder that a process can change, but for the time of reading."""
    return {
        path.name: (
            path.lstat().st_mode,
            path.lstat().st_uid,
            path.lstat().st_gid,
            path.lstat().st_mtime_ns,
            path.lstat().st_nlink,
            os.listxattr(path),
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("layers", COMPUTERS, ids=str)
def test_each_layer_refuses_what_the_documentation_says(
    layers: Layers,
    outside: Path,
    sleeper: int,
    log: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What no layer refuses is not attempted: it would succeed."""
    offer(layers, monkeypatch)
    names = {"parent": os.getpid(), "sleeper": sleeper, "group": os.getegid()}
    expected = [
        attempt.statement.format(**names)
        for attempt in ATTEMPTS
        if layers.landlock >= attempt.since or (layers.seccomp and attempt.filtered)
    ]
    before = state(outside)
    confinement = prepare_confinement()
    try:
        results = refused(confinement, expected, outside)
    finally:
        confinement.close()
    assert [each for each, failed in zip(expected, results, strict=True) if not failed] == []
    assert state(outside) == before
    with pytest.raises(BlockingIOError):
        log.recv(1)
    assert resource.prlimit(sleeper, resource.RLIMIT_CORE) == resource.getrlimit(
        resource.RLIMIT_CORE
    )


def test_the_attempts_succeed_without_confinement(
    outside: Path, sleeper: int, log: socket.socket
) -> None:
    """This shows that it is the confinement that refuses them."""
    names = {"parent": os.getpid(), "sleeper": sleeper, "group": os.getegid()}
    statements = [
        "os.chmod(there, 0o600)",
        "os.utime(there, (1, 1))",
        "fcntl.flock(reading(there), fcntl.LOCK_SH)",
        "os.open(there, os.O_RDONLY | os.O_TRUNC)",
        "os.open('/dev/null', os.O_RDONLY)",
        "os.chdir(outside); datagrams(socket.SOCK_DGRAM).sendto(b'x', 'log')",
        "os.kill({parent}, signal.SIGCONT)",
        "peek({sleeper})",
        "os.setpriority(os.PRIO_PROCESS, {sleeper}, 19)",
        "os.unlink(there)",
    ]
    words = f"outside = {str(outside)!r}; there = outside + '/there'"
    script = "\n".join([PREAMBLE, words, *(each.format(**names) for each in statements)])
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"{PREAMBLE}\noutside={str(outside)!r}; there=outside+'/there'\n{script}",
        ],
        check=True,
    )
    assert log.recv(9) == b"x"
    assert sorted(path.name for path in outside.iterdir()) == ["empty", "log"]


@pytest.mark.parametrize(
    "statement",
    [
        "open('/etc/passwd').read()",
        "os.listdir('/')",
        "socket.socketpair()",
        "os.stat('/proc/self/exe')",
        "os.wait4(os.fork() or os._exit(0), 0)",
    ],
)
def test_the_kernel_can_do_what_it_needs(
    confinement: Confinement, outside: Path, statement: str
) -> None:
    assert refused(confinement, [statement], outside) == [False]


def test_calls_that_are_not_listed_fail_with_eperm(confinement: Confinement) -> None:
    """All numbers are tried up to the last one of Linux 6.12, and some beyond."""
    tested = {2, 16, 53, 56, 72, 101, 157, 257, 302}
    never_filtered = {335, 336}  # uretprobe, uprobe: they end a process that calls them itself
    numbers = sorted(
        {*range(480), *range(512, 548)} - {*ALLOWED_CALLS.values(), *tested, *never_filtered}
    )
    output = run_confined(
        confinement,
        f"for number in {numbers}:\n"
        "    if libc.syscall(number, -1, -1, 0, 0, 0) != -1 or ctypes.get_errno() != 1:\n"
        "        print(number, ctypes.get_errno())\n",
    )
    assert output == ""


def test_a_confined_process_cannot_free_itself(confinement: Confinement, outside: Path) -> None:
    """Programs that a confined process executes are confined too."""
    statement = f"os.execv('/bin/sh', ['sh', '-c', 'echo x > {outside}/new; echo ended'])"
    assert run_confined(confinement, statement) == "ended"
    assert {path.name for path in outside.iterdir()} == {"there", "empty"}


def test_no_set_user_id_program_helps_a_confined_process(confinement: Confinement) -> None:
    flags = run_confined(confinement, "print(open('/proc/self/status').read())")
    assert "NoNewPrivs:\t1" in flags


class Forbidding:
    """Simulates the C library in a container that forbids prctl and Landlock."""

    def prctl(self, *arguments: object) -> int:
        return -1

    def syscall(self, *arguments: object) -> int:
        return -1


def test_missing_protections_are_reported_once_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(confinement_module, "_libc", Forbidding())
    monkeypatch.setattr(confinement_module, "_has_warned", False)
    assert missing_parts() == ["no_new_privs", "landlock", "seccomp"]
    warn_once(missing_parts())
    warn_once(missing_parts())
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "wanlab: this computer does not offer no_new_privs, landlock, seccomp, so your files are less"
    )


@needs_landlock
def test_nothing_is_reported_if_all_protections_are_available(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert missing_parts() == []
    warn_once([])
    assert capsys.readouterr().err == ""


@pytest.mark.machine
def test_a_machine_that_starts_unconfined_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(confinement_module, "_libc", Forbidding())
    monkeypatch.setattr(confinement_module, "_has_warned", False)
    monkeypatch.setenv("WANLAB_TRAPS", "ptrace")  # the other modes refuse to start
    with Network(Topology(), folder=tmp_path) as net:
        assert net.root.run("echo up").output == "up\n"
        assert net.warnings == []
        assert net.provenance().warnings == (
            "the machine ran without no_new_privs, landlock, seccomp (see wanlab docs security)",
        )
    assert "does not offer no_new_privs, landlock, seccomp" in capsys.readouterr().err


@pytest.mark.machine
def test_the_memory_and_the_sockets_of_a_machine_have_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no other user of the computer can open them."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setenv("TMPDIR", str(memory))
    others = kernels(os.getpid())
    with Network(Topology(), folder=tmp_path):
        assert list(memory.iterdir()) == []
        (kernel,) = kernels(os.getpid()) - others
        files = {str(file.readlink()) for file in Path(f"/proc/{kernel}/fd").iterdir()}
        inodes = {file[8:-1] for file in files if file.startswith("socket:[")}
        named = [line.split()[7:] for line in unix_sockets() if line.split()[6] in inodes]
    assert any(file.endswith(" (deleted)") for file in files)  # the memory
    assert len(inodes) == 4
    assert named == [[], [], [], []]


@pytest.mark.machine
@pytest.mark.skipif(
    "[vsyscall]" not in Path("/proc/self/maps").read_text(), reason="no vsyscall page here"
)
def test_the_vsyscall_page_does_not_tell_the_computers_time(tmp_path: Path) -> None:
    """Programs linked statically with an old C library call it; the computer itself answers."""
    call = "ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xffffffffff600400)(None)"
    with Network(Topology(), folder=tmp_path) as net:
        output = net.root.run([sys.executable, "-c", f"import ctypes; print({call})"]).output
    assert output == "-1\n"


def unix_sockets() -> list[str]:
    return Path("/proc/net/unix").read_text().splitlines()[1:]
