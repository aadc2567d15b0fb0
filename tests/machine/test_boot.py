import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab.errors import RequirementError
from wanlab.machine.embedded import boot
from wanlab.machine.embedded.boot import (
    BootOptions,
    Descriptors,
    command_line,
    is_stopped,
    processor_ns,
)
from wanlab.machine.embedded.image import Image
from wanlab.machine.embedded.machine import explain_stall
from wanlab.machine.traits import Traps

PTRACE_TRACEME = 0
OPTIONS = BootOptions(
    image=Image(Path("/cache/with space/abc"), "abc", "6.12", "6.12"),
    memory_bytes=1 << 30,
    memory_folder=Path("/dev/shm"),
    working_folder=Path("/home/user/work"),
    cpu=1,
    virtual=True,
    seed=17,
    line_rate_mbps=40_000,
    traps="ptrace",
)
INHERITED = Descriptors(calendar=5, channel_in=6, channel_out=7, broker=8, memory=9)


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "agent_folder", lambda: Path("/lib/wanlab/agent"))
    monkeypatch.setattr(sys, "executable", "/opt/python")


def test_a_virtual_machine_gets_its_descriptors_and_its_seed() -> None:
    words = command_line(OPTIONS, INHERITED)
    assert words[0] == "/cache/with space/abc/linux"
    assert [
        word for word in words if word.startswith(("channel", "hostfs", "time-", "random", "mem"))
    ] == [
        "mem=1048576k",
        "memory_file=9",
        "channel=6,7",
        "hostfs_broker=8",
        "random_seed=17",
        "time-travel=ext:fd:5",
        "time-travel-start=1767225600000000000",
    ]


def test_the_memory_is_whole_pages() -> None:
    words = command_line(replace(OPTIONS, memory_bytes=(1 << 30) + 1024), INHERITED)
    assert "mem=1048580k" in words


def test_on_the_real_clock_there_is_no_calendar() -> None:
    words = command_line(replace(OPTIONS, virtual=False), INHERITED._replace(calendar=-1))
    assert [word for word in words if "time-travel" in word] == []


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("ptrace", []),
        ("seccomp", ["seccomp=on"]),
        ("inprocess", ["traps=inprocess"]),
        ("inprocess-nopatch", ["traps=inprocess,nopatch"]),
    ],
)
def test_the_kernel_is_told_how_to_take_over_system_calls(mode: Traps, words: list[str]) -> None:
    arguments = command_line(replace(OPTIONS, traps=mode), INHERITED)
    assert [word for word in arguments if word.startswith(("seccomp", "traps"))] == words


def test_init_is_python_with_the_agents_folder() -> None:
    words = command_line(OPTIONS, INHERITED)
    assert words[words.index("init=/opt/python") :] == [
        "init=/opt/python", "--", "-I", "-S", "-B", "-X", "utf8", "/lib/wanlab/agent"
    ]  # fmt: skip


def test_a_path_with_spaces_is_one_word_for_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "agent_folder", lambda: Path("/my things/wanlab/agent"))
    monkeypatch.setattr(sys, "executable", "/my things/python")
    words = command_line(OPTIONS, INHERITED)
    assert 'init="/my things/python"' in words
    assert words[-1] == '"/my things/wanlab/agent"'


def test_a_path_with_a_quotation_mark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "agent_folder", lambda: Path('/my "things"/agent'))
    with pytest.raises(RequirementError) as caught:
        command_line(OPTIONS, INHERITED)
    assert str(caught.value) == (
        'the path /my "things"/agent contains a quotation mark, which the kernel\'s command line cannot '
        "hold (move wanlab or its Python to another folder)"
    )


def test_a_program_below_dev_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "agent_folder", lambda: Path("/dev/shm/wanlab/agent"))
    with pytest.raises(RequirementError, match=r"cannot start /dev/shm/wanlab/agent: .* at /dev"):
        command_line(OPTIONS, INHERITED)


@contextmanager
def stopped_child(*, traced: bool) -> Iterator[int]:
    """Start a process that stops itself; if it is traced, the test, its tracer, may continue it."""
    libc = ctypes.CDLL(None)
    pid = os.fork()
    if pid == 0:
        if traced:
            libc.ptrace(PTRACE_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.waitpid(pid, os.WUNTRACED)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_only_a_kernel_that_was_stopped_counts_as_suspended() -> None:
    with stopped_child(traced=False) as pid:
        assert is_stopped(pid)
    with stopped_child(traced=True) as pid:
        assert not is_stopped(pid)
    assert not is_stopped(pid), "it has ended"
    assert not is_stopped(os.getpid())


def test_the_processor_time_of_a_kernel_contains_that_of_its_children() -> None:
    before_ns = processor_ns(os.getpid())
    with stopped_child(traced=False) as pid:
        childs_ns = processor_ns(pid)
        assert 0 < before_ns < before_ns + childs_ns <= processor_ns(os.getpid())
    assert processor_ns(pid) == 0, "it has ended"


def test_a_stall_on_a_busy_computer_is_not_attributed_to_a_program() -> None:
    program = "process 65 (iperf3)"
    assert explain_stall(10.0, program, 0.95) == (
        "virtual time has hardly passed for 10 s: process 65 (iperf3) computes without a pause or "
        "makes very many system calls (Ctrl-C interrupts the run; a program can call "
        "Network.end_stalled_process())"
    )
    assert explain_stall(10.0, program, 0.0) == explain_stall(10.0, program, 1.0)
    assert explain_stall(10.0, program, 0.07) == (
        "virtual time has hardly passed for 10 s: this computer is busy and gives the machine 7% "
        "of a processor (process 65 (iperf3) runs in it)"
    )
    for share in (0.07, 1.0):
        assert "a storm if switches form a loop" in explain_stall(10.0, "", share)
