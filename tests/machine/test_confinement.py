"""Test the confinement of the kernel's process with a process that is confined in the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.machine.embedded import confinement as confinement_module
from wanlab.machine.embedded.confinement import (
    FORBIDDEN_CALLS,
    Confinement,
    landlock_version,
    missing_parts,
    prepare_confinement,
    warn_once,
)

PTRACE, PTRACE_SEIZE = 101, 0x4206

needs_landlock = pytest.mark.skipif(not landlock_version(), reason="no Landlock here")


@pytest.fixture
def confinement(tmp_path: Path) -> Iterator[Confinement]:
    folder = tmp_path / "work"
    folder.mkdir()
    prepared = prepare_confinement([folder])
    yield prepared
    prepared.close()


def attempt(confinement: Confinement, statement: str) -> str:
    """Run a statement in a confined Python; return the name of its error, or "done"."""
    return run_confined(
        confinement,
        "import os, signal, socket\n"
        f"try:\n    {statement}\nexcept OSError as error:\n    print(type(error).__name__)\n"
        "else:\n    print('done')\n",
    )


def refused_calls(confinement: Confinement, calls: list[tuple[int, int, int]]) -> list[int]:
    """Return the numbers of the system calls, each with two arguments, that fail with EPERM."""
    output = run_confined(
        confinement,
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"for number, first, second in {calls}:\n"
        "    if libc.syscall(number, first, second, 0, 0, 0) == -1 and ctypes.get_errno() == 1:\n"
        "        print(number)\n",
    )
    return [int(line) for line in output.splitlines()]


def run_confined(confinement: Confinement, script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        preexec_fn=confinement.apply,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@needs_landlock
@pytest.mark.parametrize(
    "statement",
    [
        "open('{outside}/new', 'w')",
        "open('{outside}/there', 'w')",
        "open('{outside}/there', 'r+')",
        "os.truncate('{outside}/there', 0)" if landlock_version() >= 3 else "open('/etc/x', 'w')",
        "os.unlink('{outside}/there')",
        "os.mkdir('{outside}/folder')",
        "os.symlink('x', '{outside}/link')",
        "os.rename('{outside}/there', '{work}/there')",
        "os.link('{outside}/there', '{work}/there')",
        "os.mknod('{work}/device', 0o20666, os.makedev(1, 3))",
        "os.mknod('{work}/disk', 0o60666, os.makedev(254, 0))",
        "open('{work}/link/new', 'w')",
        "open('/proc/{parent}/mem', 'r+b', buffering=0)",
        "open('/proc/{parent}/mem', 'rb')",
        "open('/proc/{parent}/oom_score_adj', 'w')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
    ],
)
def test_the_kernel_cannot_change_files_outside_the_working_folder(
    confinement: Confinement, tmp_path: Path, statement: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there").write_text("unchanged")
    link = tmp_path / "work" / "link"
    link.symlink_to(outside)
    words = {"outside": outside, "work": tmp_path / "work", "parent": os.getpid()}
    assert attempt(confinement, statement.format(**words)) in ("PermissionError", "OSError")
    assert [path.name for path in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "unchanged"
    assert list((tmp_path / "work").iterdir()) == [link]


@pytest.mark.parametrize(
    "statement",
    [
        "open('{work}/file', 'w').write('x')",
        "os.mkdir('{work}/folder'); os.rmdir('{work}/folder')",
        "os.mkfifo('{work}/fifo')",
        "open('/etc/passwd').read()",
        "os.listdir('/')",
        "socket.socketpair()",
    ],
)
def test_the_kernel_can_do_what_it_needs(
    confinement: Confinement, tmp_path: Path, statement: str
) -> None:
    assert attempt(confinement, statement.format(work=tmp_path / "work")) == "done"


@pytest.mark.parametrize(
    "statement",
    [
        "socket.socket()",
        "socket.socket(socket.AF_UNIX)",
        "os.kill({parent}, signal.SIGCONT)" if landlock_version() >= 6 else "socket.socket()",
    ],
)
def test_the_kernel_reaches_no_sockets_and_no_processes_of_the_user(
    confinement: Confinement, statement: str
) -> None:
    assert attempt(confinement, statement.format(parent=os.getpid())) == "PermissionError"


@needs_landlock
def test_the_kernel_traces_no_process_of_the_user(confinement: Confinement) -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            assert refused_calls(confinement, [(PTRACE, PTRACE_SEIZE, sleeper.pid)]) == [PTRACE]
        finally:
            sleeper.kill()


def test_forbidden_system_calls_fail_with_eperm(confinement: Confinement) -> None:
    numbers = list(FORBIDDEN_CALLS.values())
    assert refused_calls(confinement, [(number, -1, -1) for number in numbers]) == numbers


@needs_landlock
def test_a_confined_process_cannot_free_itself(confinement: Confinement, tmp_path: Path) -> None:
    """Programs that a confined process executes are confined too."""
    outside = tmp_path / "outside"
    outside.mkdir()
    statement = f"os.execv('/bin/sh', ['sh', '-c', 'echo x > {outside}/new; echo ended'])"
    assert attempt(confinement, statement) == "ended"
    assert list(outside.iterdir()) == []


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
        "wanlab: this computer does not offer no_new_privs, landlock, seccomp, so only wanlab's own"
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
    with Network(Topology(), folder=tmp_path) as net:
        assert net.root.run("echo up").output == "up\n"
        assert net.warnings == []
    assert "does not offer no_new_privs, landlock, seccomp" in capsys.readouterr().err
