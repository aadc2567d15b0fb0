"""Test the mininet> prompt on a terminal: its line editor, and the terminals of programs."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.machine

PROMPT = "mininet>"  # the editor moves the cursor instead of printing a blank after it
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """Runs `wanlab mn` in a terminal; its output is read without escape sequences."""

    def __init__(self, wanlab: Any, *arguments: str, **environment: str) -> None:
        self._master, slave = pty.openpty()
        self.resize(40, 100)
        self._process = wanlab.start(
            "mn",
            *arguments,
            before=["sh", "-c", f'exec "$@" <>{os.ttyname(slave)} >&0 2>&0', "sh"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            environment={
                "TERM": "xterm-256color",
                "XDG_STATE_HOME": str(wanlab.folder / "state"),
                **environment,
            },
        )
        self._slave = slave
        self._raw = b""
        self.folder: Path = wanlab.folder

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize_and_notify(self, rows: int, columns: int) -> None:
        self.resize(rows, columns)
        self._process.send_signal(signal.SIGWINCH)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, text: str) -> str:
        """Wait for a text; return the output before it since the last call."""
        give_up = time.monotonic() + PATIENCE_S
        while text not in self._shown():
            left = give_up - time.monotonic()
            assert left > 0, f"{text!r} was not printed: {self._shown()!r}"
            if select.select([self._master], [], [], left)[0]:
                self._raw += os.read(self._master, 65536)
        found, _, rest = self._shown().partition(text)
        self._raw = rest.encode()
        return found

    def line(self, text: str) -> str:
        """Type a line at the prompt; return the output until the next prompt."""
        self.type(f"{text}\r")
        self.until("\n")
        return self.until(PROMPT)

    def read_soon(self) -> None:
        """Read the output that arrives within a moment."""
        if select.select([self._master], [], [], 0.05)[0]:
            self._raw += os.read(self._master, 65536)

    def status(self) -> int:
        give_up = time.monotonic() + PATIENCE_S
        while self._process.poll() is None:
            assert time.monotonic() < give_up, f"it has not ended: {self._shown()!r}"
            self.read_soon()
        return int(self._process.returncode)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _shown(self) -> str:
        return CODES.sub("", self._raw.decode(errors="replace"))


@pytest.fixture
def prompt(wanlab: Any) -> Iterator[Terminal]:
    terminal = Terminal(wanlab)
    terminal.until(PROMPT)
    yield terminal
    terminal.end()


def test_lines_are_completed_remembered_and_interrupted(prompt: Terminal) -> None:
    assert prompt.line("nod\t") == "available nodes are: \nh1 h2 s1\n"
    prompt.type("\x1b[A")  # cursor up: the last line again
    prompt.until("nodes")
    prompt.type("\x03")
    prompt.until("\nInterrupt\n")
    prompt.until(PROMPT)
    assert "h1 h2 s1" in prompt.line("nodes")
    prompt.type("\x04")
    assert prompt.status() == 0
    history = (prompt.folder / "state" / "wanlab" / "mininet_history").read_text()
    assert history.count("+nodes\n") >= 1


def test_enter_runs_the_line_that_ctrl_r_has_found(prompt: Terminal) -> None:
    assert "h1 h2 s1" in prompt.line("nodes")
    prompt.line("links")
    prompt.type("\x12nod")
    prompt.until("nodes")
    prompt.type("\r")
    prompt.until("available nodes are: \nh1 h2 s1\n")
    prompt.until(PROMPT)
    assert prompt.line("py 6 * 7") == "42\n"


def test_ctrl_c_ends_the_command_and_not_the_network(prompt: Terminal) -> None:
    prompt.type("h1 ping h2\r")
    prompt.until("icmp_seq=2 ")
    prompt.type("\x03")
    assert " 0% packet loss" in prompt.until(PROMPT)
    prompt.type("sh echo ready; sleep 1e12\r")
    prompt.until("\nready\n")
    prompt.type("\x03")
    prompt.until("Interrupt")
    prompt.until(PROMPT)
    assert "0% dropped" in prompt.line("pingpair")


def test_a_shell_in_a_node_has_a_terminal_like_ours(prompt: Terminal) -> None:
    prompt.type("h1 env PS1='in> ' bash --norc\r")
    prompt.until("\n")
    prompt.until("in> ")
    prompt.type("stty size\r")
    prompt.until("\n40 100\n")
    prompt.until("in> ")
    prompt.type("trap 'echo resized' WINCH\r")
    prompt.until("\n")
    prompt.until("in> ")
    prompt.resize_and_notify(30, 90)
    prompt.until("resized")
    prompt.type("\rstty size\r")
    prompt.until("\n30 90\n")
    prompt.type("\x1b[200~echo pasted $((6 * 7))\x1b[201~\r")
    prompt.until("\npasted 42\n")
    prompt.type("exit\r")
    prompt.until(PROMPT)


@pytest.mark.parametrize("command", ["h1 cat", "h1 read x", "py input()", "sh cat"])
def test_time_keeps_to_the_clock_while_a_program_waits_for_a_line(
    prompt: Terminal, command: str
) -> None:
    def network_s() -> float:
        return float(prompt.line("sh date +%s.%N"))

    if "known" not in prompt.line("sh test -e /proc/self/syscall && echo kno''wn"):
        pytest.skip("this kernel does not tell in which system calls programs wait")
    began_s, began_real_s = network_s(), time.monotonic()
    prompt.type(f"{command}\r")
    prompt.until("\n")
    time.sleep(0.5)  # hours passed in this time
    prompt.type("hello\r" if "cat" not in command else "\x04")
    prompt.until(PROMPT)
    passed_s = network_s() - began_s
    assert passed_s < time.monotonic() - began_real_s + 5


def test_a_program_that_waits_for_no_line_takes_no_real_time(prompt: Terminal) -> None:
    """`until` gives up long before the program ends on a real clock."""
    prompt.line(f"h1 sleep {20 * PATIENCE_S:.0f}")


def test_keys_typed_to_a_program_are_echoed_once_and_reach_it(prompt: Terminal) -> None:
    prompt.type("h2 echo ready; cat\r")
    # Keys go to the node from here on; an earlier Ctrl-D would go to the prompt's terminal.
    prompt.until("\nready\n")
    prompt.type("some words\r")
    assert prompt.until("some words\nsome words\n") == ""
    prompt.type("\x04")
    prompt.until(PROMPT)
    prompt.type("noecho h2 echo ready; head -n 1\r")
    prompt.until("\nready\n")
    prompt.type("secret\r")
    assert prompt.until(PROMPT).count("secret") == 1


def test_keys_typed_while_a_command_runs_belong_to_the_next_line(prompt: Terminal) -> None:
    prompt.type("sh read word; echo got $word\r")
    prompt.until("\n")
    prompt.type("it\rnodes\rpx print(6 *")
    prompt.until("got it\n")
    assert "h1 h2 s1" in prompt.until("px print(6 *")
    prompt.type(" 7)\r")
    prompt.until("\n42\n")


def test_pasted_lines_are_commands(prompt: Terminal) -> None:
    prompt.type("\x1b[200~px print(1 + 1)\npx print(2 + 2)\npx print(3 + 3)\x1b[201~\r")
    for answer in ("2", "4", "6"):
        prompt.until(f"\n{answer}\n")
    prompt.until(PROMPT)


def test_no_time_passes_at_the_prompt(prompt: Terminal) -> None:
    prompt.line("px import time; began = time.time()")
    output = prompt.line("py 0 <= time.time() - began < 0.001")
    assert "True\n" in output


def test_at_real_pace_time_passes_at_the_prompt(wanlab: Any) -> None:
    terminal = Terminal(wanlab, "--pace", "real")
    terminal.until(PROMPT)
    terminal.line("sh (sleep 0.3; echo meanwhile) &")
    terminal.until("meanwhile")
    terminal.until(PROMPT)
    terminal.line("px import time; began = time.time()")
    real_s = time.monotonic()
    terminal.line("h1 sleep 0.5")
    assert time.monotonic() - real_s >= 0.5
    terminal.end()


def test_a_window_shows_a_shell_of_a_node(wanlab: Any) -> None:
    """A fake xterm types a line into the shell and records the output."""
    programs = wanlab.folder / "programs"
    programs.mkdir()
    (programs / "xterm.py").write_text(XTERM.format(folder=wanlab.folder))
    # "#!" does not work with an interpreter whose path has spaces.
    line = f"exec '{sys.executable}' '{programs}/xterm.py' \"$@\""
    (programs / "xterm").write_text(f"#!/bin/sh\n{line}\n")
    (programs / "xterm").chmod(0o755)
    terminal = Terminal(wanlab, DISPLAY=":0", PATH=f"{programs}:{os.environ['PATH']}")
    terminal.until(PROMPT)
    terminal.line("xterm h1")
    seen = wanlab.folder / "seen"
    give_up = time.monotonic() + PATIENCE_S
    while not seen.exists():  # the prompt waits, and time goes on
        terminal.read_soon()
        assert time.monotonic() < give_up
    assert "10.0.0.1/8" in seen.read_text()
    assert "h1 h2 s1" in terminal.line("nodes")
    terminal.end()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/no/such/interpreter\n", "No such file or directory: "),
        ("#!/bin/sh\nsleep 1000 &\necho no display 'at :0' >&2\nexit 1\n", "no display at :0"),
        ("#!/bin/sh\nexit 3\n", "xterm ended with status 3"),
    ],
    ids=["no-interpreter", "words", "status"],
)
def test_a_window_that_cannot_be_opened_does_not_end_the_prompt(
    wanlab: Any, tmp_path_factory: pytest.TempPathFactory, script: str, reason: str
) -> None:
    """Another xterm comes later in PATH, as on a computer that has one."""
    for folder, text in (("programs", script), ("others", "#!/bin/sh\nexec sleep 1000\n")):
        (wanlab.folder / folder).mkdir()
        (wanlab.folder / folder / "xterm").write_text(text)
        (wanlab.folder / folder / "xterm").chmod(0o755)
    temporary = tmp_path_factory.mktemp("t")  # the path of a socket in it must be short
    programs = f"{wanlab.folder}/programs:{wanlab.folder}/others:{os.environ['PATH']}"
    terminal = Terminal(wanlab, DISPLAY=":0", PATH=programs, TMPDIR=str(temporary))
    terminal.until(PROMPT)
    said = terminal.line("xterm h1")
    assert "Error: Cannot connect to display: " in said
    assert reason in said
    assert "h1 h2 s1" in terminal.line("nodes")
    assert not list(temporary.glob("wanlab-window-*"))
    terminal.type("exit\r")
    assert terminal.status() == 0
    assert wanlab.end(terminal._process).left_behind == []
    terminal.end()


def test_a_window_that_waits_for_its_display_ends_with_a_killed_prompt(wanlab: Any) -> None:
    os.mkfifo(wanlab.folder / "started")
    (wanlab.folder / "xterm").write_text("#!/bin/sh\necho >started\nexec sleep 1000\n")
    (wanlab.folder / "xterm").chmod(0o755)
    terminal = Terminal(wanlab, DISPLAY=":0", PATH=f"{wanlab.folder}:{os.environ['PATH']}")
    terminal.until(PROMPT)
    terminal.type("xterm h1\r")
    assert (wanlab.folder / "started").read_text() == "\n"
    terminal.end()
    assert wanlab.end(terminal._process).left_behind == []


XTERM = """\
import os, pty, sys

output = bytearray()
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[sys.argv.index("-e") + 1], sys.argv[sys.argv.index("-e") + 1 :])
os.write(terminal, b"ip -brief address show h1-eth0; exit\\r")
try:
    while data := os.read(terminal, 4096):
        output += data
except OSError:
    pass
with open("{folder}/seen.new", "wb") as file:
    file.write(output)
os.rename("{folder}/seen.new", "{folder}/seen")
"""
