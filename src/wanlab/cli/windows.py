"""Terminal windows on the user's desktop, each with a program of the machine in it: `xterm h1`.

A program in the machine sends the request {"do": "terminal", "title", "command", "folder", "term"}.
The answer is {"opened": true} when the window shows its relay, or {"error"} if it ends before that.
The window closes when the connection ends, and vice versa. While a window is open, time passes at the
pace of the real clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import cast

from wanlab import Network, Process
from wanlab.errors import CommandError
from wanlab.network import Connection
from wanlab.parent_death import ending_with_us
from wanlab.temporary import TemporaryFolder

from .display import has_display

CHUNK = 65536
GRACE_REAL_S = 1.0
RELAY = Path(__file__).with_name("relay.py")
SIZE = b"s"
MAX_WINDOWS = 200
"""A program inside could otherwise fill the desktop."""
NO_TERMINAL = "windows can be opened only if wanlab was started in a terminal"
HEADER_BYTES = 5  # the kind of message, and four bytes


class Windows:
    """The open windows, and the host service that opens them."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._open: list[TerminalWindow] = []
        network.host_service["terminal"] = self._on_request

    @property
    def are_open(self) -> bool:
        return bool(self._open)

    def have_keys(self) -> bool:
        """Whether `pass_on` has something to do: keys were typed, or a window has ended."""
        if any(window.has_ended for window in self._open):
            return True
        ends = [window.end for window in self._open]
        return bool(ends) and bool(select.select(ends, [], [], 0)[0])

    def pass_on(self) -> None:
        """Pass keys on to the programs and close windows that have ended.

        Handlers of the host service must not call this method, because it starts programs.
        """
        for window in list(self._open):
            if not window.pass_on(self._network):
                self._open.remove(window)
                window.close()

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def _on_request(self, connection: Connection) -> None:
        request = connection.request
        problem = _problem(str(request["term"]))
        if len(self._open) >= MAX_WINDOWS:
            problem = f"{MAX_WINDOWS} windows are open already"
        if problem:
            connection.answer({"error": problem})
            return
        try:
            self._open.append(TerminalWindow(connection))
        except OSError as error:  # such as a script whose interpreter is missing
            connection.answer({"error": str(error)})


def refuse(network: Network) -> None:
    """Refuse requests for windows, for a session without a terminal."""

    def on_request(connection: Connection) -> None:
        connection.answer({"error": _problem(str(connection.request["term"])) or NO_TERMINAL})

    network.host_service["terminal"] = on_request


def _problem(term: str) -> str:
    if not has_display():
        return "there is no display ($DISPLAY is not set)"
    program = _program(term)
    return "" if shutil.which(program) else f"the program {program} is not installed"


def _program(term: str) -> str:
    return "gnome-terminal" if term == "gterm" else "xterm"


def _command(term: str, title: str) -> list[str]:
    name = _program(term)
    # By its path: if the program cannot be executed, execvp(3) would try others of that name.
    program = shutil.which(name) or name
    if term == "gterm":
        return [program, "--wait", "--title", title, "--"]
    return [program, "-T", title, "-e"]


class TerminalWindow:
    """A window, its relay, and the program in it. `end` is our socket to the relay."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._request = connection.request
        self._is_connected = False
        self._received = bytearray()
        self._process: Process | None = None
        self._has_failed = False
        """Whether the program could not be started."""
        self._folder = TemporaryFolder("window")
        self._errors = self._folder.path / "errors"
        self.end = socket.socket(socket.AF_UNIX)
        try:
            self._window, self._handle = self._open_window()
        except BaseException:
            self.end.close()
            self._folder.remove()
            raise

    def _open_window(self) -> tuple[subprocess.Popen[bytes], int]:
        """Start the window's program, whose relay will connect to `end`; return it and its pidfd."""
        address = f"{self._folder.path}/socket"
        self.end.bind(address)
        self.end.listen(1)
        relay = [sys.executable, "-I", "-S", str(RELAY), address]
        with self._errors.open("wb") as errors:
            window = subprocess.Popen(
                [*_command(str(self._request["term"]), str(self._request["title"])), *relay],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=ending_with_us(),
            )
        try:
            return window, os.pidfd_open(window.pid)
        except OSError:
            window.kill()
            window.wait()
            raise

    @property
    def has_ended(self) -> bool:
        return (
            self._has_failed
            or self._connection.is_over
            or self._has_window_ended(0)
            or (self._process is not None and not self._process.is_running)
        )

    def pass_on(self, network: Network) -> bool:
        """Pass on the typed keys; return false if the window has ended."""
        if self.has_ended:
            return False
        while select.select([self.end], [], [], 0)[0]:
            if not self._is_connected:
                listening, self.end = self.end, self.end.accept()[0]
                listening.close()
                self._is_connected = True
                self._connection.send(json.dumps({"opened": True}).encode() + b"\n")
                continue
            try:
                data = self.end.recv(CHUNK)
            except OSError:
                return False
            if not data:
                return False
            self._received += data
        self._handle_messages(network)
        return True

    def _handle_messages(self, network: Network) -> None:
        """Handle the complete messages of the relay."""
        while len(self._received) >= HEADER_BYTES:
            if self._received[:1] == SIZE:
                rows, columns = struct.unpack_from(">HH", self._received, 1)
                del self._received[:HEADER_BYTES]
                self._resize(network, rows, columns)
                continue
            (length,) = struct.unpack_from(">I", self._received, 1)
            if len(self._received) < HEADER_BYTES + length:
                return
            keys = bytes(self._received[HEADER_BYTES : HEADER_BYTES + length])
            del self._received[: HEADER_BYTES + length]
            if self._process is not None:
                self._process.write(keys)

    def _resize(self, network: Network, rows: int, columns: int) -> None:
        """Resize the program's terminal; the first size starts the program."""
        if self._process is not None:
            self._process.resize(rows, columns)
            return
        try:
            self._process = network.root.start(
                [str(word) for word in cast("list[object]", self._request["command"])],
                terminal=(rows, columns),
                on_output=self._show,
                environment={"TERM": "xterm-256color"},
                folder=str(self._request["folder"]),
            )
        except CommandError:  # there is no such program or folder
            self._has_failed = True

    def _show(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.end.sendall(data)

    def close(self) -> None:
        self.end.close()
        if self._process is not None and self._process.is_running:
            with contextlib.suppress(Exception):
                self._process.signal(signal.SIGHUP)
        # The relay has ended, so the window should close by itself.
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._has_window_ended(GRACE_REAL_S):
                break
            self._signal_group(number)
        self._signal_group(signal.SIGKILL)  # what the window's program has left running
        self._window.wait()
        os.close(self._handle)
        if self._is_connected:
            self._connection.end()
        else:
            self._connection.answer({"error": self._reason()})
        self._folder.remove()

    def _has_window_ended(self, within_real_s: float) -> bool:
        """Whether the window's program has ended. It is not reaped, so its id names its group."""
        return bool(select.select([self._handle], [], [], within_real_s)[0])

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._window.pid, number)

    def _reason(self) -> str:
        """Return why the window was not opened: the last words of its program."""
        lines = self._errors.read_text(encoding="utf-8", errors="replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        program = _program(str(self._request["term"]))
        return words or f"{program} ended with status {self._window.returncode}"
