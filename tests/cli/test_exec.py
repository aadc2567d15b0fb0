"""Test `wanlab exec`: streams, statuses and signals are as if the command ran here."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import pytest
from patience import PATIENCE_S

from wanlab.cli import execute
from wanlab.cli.streams import IPERF3_HINT

pytestmark = pytest.mark.machine

MEGABYTES_10 = random.Random(1).randbytes(10_000_000)
DONE: tuple[int, bytes, str, list[str]] = (0, b"", "", [])


class Ran(Protocol):
    status: int
    output: bytes
    errors: str
    left_behind: list[str]


def outcome(ran: Ran) -> tuple[int, bytes, str, list[str]]:
    return ran.status, ran.output, ran.errors, list(ran.left_behind)


# -- streams --------------------------------------------------------------------------------------


def test_a_pipe_is_passed_through(wanlab: Any) -> None:
    assert outcome(wanlab("exec", "--", "cat", input=b"a\0\xff\n")) == (0, b"a\0\xff\n", "", [])


def test_ten_megabytes_of_binary_data_pass_unchanged(wanlab: Any) -> None:
    assert wanlab("exec", "--", "cat", input=MEGABYTES_10).output == MEGABYTES_10


def test_the_machine_has_the_memory_that_was_asked_for(wanlab: Any) -> None:
    ran = wanlab("exec", "--memory", "512MB", "--", "head", "-n1", "/proc/meminfo")
    assert 300_000 < int(ran.output.split()[1]) < 500_000  # in kB; the kernel keeps a part


def test_a_file_is_read_to_its_end(wanlab: Any, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(MEGABYTES_10)
    with (tmp_path / "in").open("rb") as file:
        ran = wanlab("exec", "--", "sh", "-c", "cat > out; wc -c < out", stdin=file)
    assert outcome(ran) == (0, b"10000000\n", "", [])
    assert (tmp_path / "out").read_bytes() == MEGABYTES_10


def test_empty_input_ends_at_once(wanlab: Any) -> None:
    assert outcome(wanlab("exec", "--", "cat")) == DONE


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_stream_stays_closed(wanlab: Any, number: int) -> None:
    ran = wanlab(
        "exec", "--", "sh", "-c", "cat; exit 3", before=["sh", "-c", f'exec "$@" {number}>&-', "sh"]
    )
    assert outcome(ran) == (3, b"", "", [])


def test_endless_input_does_not_keep_a_command_from_ending(wanlab: Any) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        assert outcome(wanlab("exec", "--", "sleep", "1", stdin=zeros)) == DONE
        assert outcome(wanlab("exec", "--", "sh", "-c", "exec <&-; sleep 1", stdin=zeros)) == DONE
        assert len(wanlab("exec", "--", "head", "-c", "3000000", stdin=zeros).output) == 3_000_000


def test_a_reset_between_two_iperf3_clients_is_explained(wanlab: Any) -> None:
    said = "iperf3: error - unable to receive control message: Connection reset by peer"
    for stream in ("", " >&2"):
        ran = wanlab("exec", "--", "sh", "-c", f"echo '{said}'{stream}; exit 1")
        assert ran.errors.endswith(f"wanlab: {IPERF3_HINT}\n")
    assert "sleep 0.001" in IPERF3_HINT


def test_a_shaper_that_is_faster_than_its_cable_is_a_warning(wanlab: Any) -> None:
    command = "tc qdisc add dev s1-eth1 root tbf rate 90gbit burst 100m limit 100m"
    ran = wanlab("exec", "--topo", "single,2", "--", "sh", "-c", command)
    words = "wanlab: warning: s1-eth1: its shaper allows 90Gbps, but its cable carries 40Gbps ("
    assert (ran.status, ran.errors.count("\n")) == (0, 1)
    assert ran.errors.startswith(words)


@pytest.mark.skipif("7.3" in os.environ.get("WANLAB_KERNEL", ""), reason="Linux 7.3 lacks both")
@pytest.mark.parametrize(
    "command",
    [
        ["unshare", "-Urpf", "--mount-proc", "true"],
        ["ip", "tunnel", "add", "t1", "mode", "ipip", "local", "10.0.0.1", "remote", "10.0.0.2"],
    ],
)
def test_sandboxes_and_tunnels_of_linux_work(wanlab: Any, command: list[str]) -> None:
    assert outcome(wanlab("exec", "--", *command)) == DONE
    assert wanlab("exec", "--", "cat", "/proc/cmdline").output.strip() == b""


def test_a_new_interface_has_an_ipv6_address_as_on_any_linux(wanlab: Any) -> None:
    script = "ip link add d0 type dummy; ip link set d0 up; ip -6 -br address show dev d0"
    assert b"fe80::" in wanlab("exec", "--", "sh", "-c", script).output


def test_stdout_and_stderr_are_kept_apart(wanlab: Any) -> None:
    ran = wanlab("exec", "--", "sh", "-c", "echo out; echo err >&2")
    assert outcome(ran) == (0, b"out\n", "err\n", [])


@pytest.mark.parametrize(
    "command",
    [
        ["yes"],
        ["sh", "-c", "while :; do echo y; sleep 1; done"],
        ["sh", "-c", "trap '' PIPE; while :; do echo y; sleep 1; done"],
    ],
)
def test_the_command_ends_quietly_if_its_reader_disappears(wanlab: Any, command: list[str]) -> None:
    process = wanlab.start("exec", "--", *command, stdin=subprocess.DEVNULL)
    assert process.stdout.readline() == b"y\n"
    process.stdout.close()
    process.stdout = None
    ran = wanlab.end(process)
    assert ran.status in (128 + signal.SIGPIPE, 128 + signal.SIGHUP)
    assert (ran.errors, ran.left_behind) == ("", [])


def test_output_to_a_full_disk_is_an_error(wanlab: Any) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = wanlab("exec", "--", "echo", "hello", stdout=full)
    error = "wanlab: cannot write to standard output: No space left on device\n"
    assert outcome(ran) == (1, b"", error, [])


# -- statuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 2, 77, 255])
def test_the_status_is_the_commands(wanlab: Any, status: int) -> None:
    assert wanlab("exec", "--", "sh", "-c", f"exit {status}").status == status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_the_status_after_a_signal_is_128_plus_its_number(wanlab: Any, number: int) -> None:
    assert wanlab("exec", "--", "sh", "-c", f"kill -{number} $$").status == 128 + number


def test_a_command_that_does_not_exist_is_127(wanlab: Any) -> None:
    ran = wanlab("exec", "--", "nonesuch")
    assert ran.status == 127
    assert ran.errors.startswith("wanlab: nonesuch: command not found (the machine's PATH is /")
    ran = wanlab("exec", "--", "./nonesuch")
    assert ran.status == 127
    assert ran.errors.startswith("wanlab: ./nonesuch: the machine does not have this file")


def test_a_file_that_may_not_be_executed_is_126(wanlab: Any, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    ran = wanlab("exec", "--", "./text")
    assert (ran.status, "Permission denied" in ran.errors) == (126, True)


# -- time and place -------------------------------------------------------------------------------


def test_sleeping_takes_no_time(wanlab: Any) -> None:
    ran = wanlab("exec", "--", "sh", "-c", "date +%s; sleep 5000; date +%s", stdin=subprocess.PIPE)
    first, last = map(int, ran.output.split())
    assert last - first == 5000


def test_runs_with_the_same_seed_are_equal_and_with_another_seed_differ(wanlab: Any) -> None:
    command = ("--", "sh", "-c", "date; head -c 20 /dev/urandom | od -x")
    once, again, other = (
        wanlab("exec", "--seed", seed, *command).output for seed in ("1", "1", "2")
    )
    assert (once == again, once == other) == (True, False)


def test_it_runs_in_a_host_of_a_topology(wanlab: Any) -> None:
    command = ["ping", "-c", "1", "h2"]
    ran = wanlab("exec", "--topo", "single,2,delay=5ms", "--node", "h1", "--", *command)
    assert (ran.status, b"1 received" in ran.output) == (0, True)


def test_it_is_root_and_writes_only_to_the_working_folder(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("exec", "--", "sh", "-c", "id -u; pwd; touch made; touch /etc/made && echo yes")
    assert ran.output.decode().split() == ["0", str(tmp_path), "yes"]
    assert (tmp_path / "made").stat().st_uid == os.getuid()
    assert not Path("/etc/made").exists()


@pytest.mark.parametrize("name", ["with blank", "außerdem", "quote'd", "semi;colon"])
def test_a_working_folder_may_have_an_odd_name(wanlab: Any, name: str) -> None:
    wanlab.folder /= name
    wanlab.folder.mkdir()
    ran = wanlab("exec", "--", "sh", "-c", "pwd; echo hello > 'a file'")
    assert outcome(ran) == (0, f"{wanlab.folder}\n".encode(), "", [])
    assert (wanlab.folder / "a file").read_text() == "hello\n"


# -- signals --------------------------------------------------------------------------------------


def start_and_wait(wanlab: Any, script: str) -> Any:
    """Start a shell script on the real clock, and wait until it prints "ready"."""
    process = wanlab.start(
        "exec", "--clock", "real", "--", "sh", "-c", script, stdin=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"ready\n"
    return process


def test_the_command_can_handle_ctrl_c_and_choose_its_status(wanlab: Any) -> None:
    process = start_and_wait(
        wanlab, "trap 'echo heard; exit 7' INT; echo ready; while :; do sleep 0.1; done"
    )
    process.send_signal(signal.SIGINT)
    assert outcome(wanlab.end(process)) == (7, b"heard\n", "", [])


def test_ctrl_c_ends_a_command_without_a_handler(wanlab: Any) -> None:
    process = start_and_wait(wanlab, "echo ready; exec sleep 1000")
    process.send_signal(signal.SIGINT)
    assert outcome(wanlab.end(process)) == (130, b"", "", [])


def test_a_second_ctrl_c_ends_the_machine(wanlab: Any) -> None:
    process = start_and_wait(
        wanlab, "trap 'echo heard' INT; echo ready; while :; do sleep 0.1; done"
    )
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"heard\n"
    process.send_signal(signal.SIGINT)
    assert outcome(wanlab.end(process)) == (130, b"", "wanlab: interrupted\n", [])


def test_ctrl_c_ends_a_busy_loop(wanlab: Any) -> None:
    script = ": > ready; while :; do :; done"
    process = wanlab.start("exec", "--", "sh", "-c", script, stdin=subprocess.DEVNULL)
    give_up = time.monotonic() + PATIENCE_S
    while not (wanlab.folder / "ready").exists():
        assert process.poll() is None
        assert time.monotonic() < give_up, "the loop has not begun"
    process.send_signal(signal.SIGINT)
    ran = wanlab.end(process)
    assert (ran.status, ran.left_behind) == (130, [])


def test_a_ctrl_c_that_has_not_been_received_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(execute, "DELIVERY_REAL_S", 0.001)
    give_up = time.monotonic() + PATIENCE_S
    with execute.Interrupts():
        signal.raise_signal(signal.SIGINT)
        while not errors.getvalue() and time.monotonic() < give_up:
            time.sleep(0.001)  # in a bare loop, CPython 3.11 can miss that a handler must run
    assert "has not received Ctrl-C yet; press it again" in errors.getvalue()


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")]
)
def test_other_signals_end_the_machine_at_once(wanlab: Any, number: int, word: str) -> None:
    process = start_and_wait(wanlab, "trap '' TERM INT HUP; echo ready; sleep 1000")
    process.send_signal(number)
    assert outcome(wanlab.end(process)) == (128 + number, b"", f"wanlab: {word}\n", [])


def test_an_interrupt_while_it_boots_leaves_nothing(wanlab: Any) -> None:
    process = wanlab.start("exec", "--", "sleep", "1000000000", stdin=subprocess.DEVNULL)
    give_up = time.monotonic() + PATIENCE_S
    while not children_of(process):
        assert process.poll() is None
        assert time.monotonic() < give_up, "no kernel has been started"
    process.send_signal(signal.SIGINT)
    ran = wanlab.end(process)
    assert (ran.status, ran.left_behind) == (130, [])


def children_of(process: Any) -> str:
    """Return the main thread's children in /proc; empty until it has started a kernel."""
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
