"""Test `wanlab exec` on a terminal: a shell in the machine behaves like a shell here."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.machine

PROMPT = b"> "


class Terminal:
    """Runs a program in a terminal, and types and reads at the other end."""

    def __init__(self, wanlab: Any, *command: str) -> None:
        self._master, slave = pty.openpty()
        self.resize(33, 77)
        self._process = wanlab.start(
            "exec",
            "--",
            *command,
            # The session leader opens the terminal, which makes it the controlling terminal.
            before=["sh", "-c", f'exec "$@" <>{os.ttyname(slave)} >&0 2>&0', "sh"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            environment={"TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
        self._slave = slave
        self.folder: Path = wanlab.folder
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize_and_notify(self, rows: int, columns: int) -> None:
        self.resize(rows, columns)
        self._process.send_signal(signal.SIGWINCH)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read_until(self, text: bytes) -> bytes:
        """Wait for a text; return the output before it since the last call."""
        give_up = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            left = give_up - time.monotonic()
            assert left > 0, f"{text!r} was not printed: {self.seen!r}"
            if select.select([self._master], [], [], left)[0]:
                self.seen += os.read(self._master, 65536)
        found, _, self.seen = self.seen.partition(text)
        return found

    def command(self, line: str) -> bytes:
        """Type a line into a shell; return its output without the echo of the line."""
        self.type(line + "\r")
        self.read_until(b"\n")
        return self.read_until(PROMPT).replace(b"\r", b"")

    def status(self) -> int:
        self.read_rest()
        return int(self._process.wait(PATIENCE_S))

    def read_rest(self) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while self._process.poll() is None:
            assert time.monotonic() < give_up, f"it has not ended: {self.seen!r}"
            if select.select([self._master], [], [], 0.05)[0]:
                self.seen += os.read(self._master, 65536)

    def is_raw(self) -> bool:
        return not termios.tcgetattr(self._master)[3] & termios.ICANON

    def hang_up(self) -> None:
        os.close(self._slave)
        os.close(self._master)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def shell(wanlab: Any) -> Iterator[Terminal]:
    """Start bash and wait for its prompt."""
    terminal = Terminal(wanlab, "env", "PS1=> ", "bash", "--norc", "--noediting")
    terminal.read_until(PROMPT)
    yield terminal
    terminal.end()


def test_the_command_has_a_terminal_like_ours(shell: Terminal) -> None:
    assert shell.command("test -t 0 -a -t 1 -a -t 2; echo $?") == b"0\n"
    assert shell.command("stty size; echo $TERM $COLORTERM") == b"33 77\nxterm-256color truecolor\n"


def test_resizing_is_passed_on(shell: Terminal) -> None:
    shell.command("trap 'echo resized' WINCH")
    shell.resize_and_notify(50, 132)
    shell.type("\r")
    shell.read_until(b"resized")
    shell.type("stty size\r")
    shell.read_until(b"\n50 132\r\n")


def test_ctrl_c_ends_the_command_and_not_the_shell(shell: Terminal) -> None:
    shell.type("sleep 1000\r")
    shell.read_until(b"\n")
    shell.type("\x03")
    shell.read_until(PROMPT)
    assert shell.command("echo $?") == b"130\n"


def test_ctrl_d_ends_the_shell_with_the_last_status(shell: Terminal) -> None:
    shell.command("(exit 42)")
    shell.type("\x04")
    assert shell.status() == 42


def test_the_terminals_settings_are_restored(shell: Terminal) -> None:
    assert shell.is_raw()
    shell.type("exit 5\r")
    assert shell.status() == 5
    assert not shell.is_raw()


def test_ctrl_c_ends_a_busy_loop_and_not_the_shell(shell: Terminal) -> None:
    # The loop makes a file when it runs, because a Ctrl-C before the loop would end the shell as
    # usual. So does one that comes while the file is being made: then try again.
    seen, attempt = b"", 0
    while b"ended a process that computed without a pause" not in seen:
        attempt += 1
        file = f"ready{attempt}"
        shell.type(f"""sh -c 'while :; do case $r in "") : >{file}; r=1;; esac; done'\r""")
        give_up = time.monotonic() + PATIENCE_S
        while not (shell.folder / file).exists():
            assert shell.is_raw()
            assert time.monotonic() < give_up, "the loop has not begun"
        shell.type("\x03")
        seen = shell.read_until(PROMPT)
    assert shell.command("echo $?") == b"137\n"


def test_a_shell_edits_lines_and_completes_words(wanlab: Any) -> None:
    terminal = Terminal(wanlab, "env", "PS1=> ", "bash", "--norc")
    terminal.read_until(PROMPT)
    terminal.type("ech\t yz\x1b[D\x1b[Dx\r")  # Tab, and cursor left twice
    terminal.read_until(b"\n")
    assert terminal.read_until(PROMPT).endswith(b"xyz\r\n\x1b[?2004h")
    terminal.end()


def test_a_command_runs_on_virtual_time_without_delay(wanlab: Any) -> None:
    terminal = Terminal(wanlab, "sleep", "5000")
    assert terminal.status() == 0


def test_virtual_time_does_not_run_ahead_while_nobody_types(wanlab: Any) -> None:
    terminal = Terminal(wanlab, "env", "PS1=> ", "bash", "--norc")
    terminal.read_until(PROMPT)
    began = time.monotonic()
    shown = terminal.command("echo at $(cut -d. -f1 /proc/uptime) s")
    aged_s = int(shown.split(b"at ")[-1].split()[0])
    assert aged_s <= 12 + time.monotonic() - began  # a network begins at 10 s
    terminal.end()


def test_hanging_up_the_terminal_ends_the_machine(wanlab: Any) -> None:
    terminal = Terminal(wanlab, "env", "PS1=> ", "bash", "--norc")
    terminal.read_until(PROMPT)
    terminal.hang_up()
    assert terminal._process.wait(PATIENCE_S) == 128 + signal.SIGHUP
