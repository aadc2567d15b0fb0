"""Terminal windows on the user's display, each with a program of the machine in it: `xterm h1`.

A program inside sends the request {"do": "terminal", "title", "command", "folder", "term"}. The answer
is {"opened": true} or {"error"}. The window closes when the connection ends, and the other way round.
While a window is open, time passes at the pace of the real clock.
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

from wanlab import Network, Process
from wanlab.network import Connection

from .display import has_display

CHUNK = 65536
GRACE_REAL_S = 1.0
RELAY = Path(__file__).with_name("relay.py")
SIZE = b"s"
NO_TERMINAL = "windows are for whoever starts wanlab in a terminal"
HEADER_BYTES = 5  # a sign, and four bytes


class Windows:
    """All that are open."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._open: list[Window] = []
        network.host_service["terminal"] = self._take

    @property
    def are_open(self) -> bool:
        return bool(self._open)

    def have_keys(self) -> bool:
        """Whether somebody typed into one, or it is to be looked after for another reason."""
        if any(window.has_ended for window in self._open):
            return True
        ends = [window.end for window in self._open]
        return bool(ends) and bool(select.select(ends, [], [], 0)[0])

    def pass_on(self) -> None:
        """Keys to the programs. Not to be called by a handler: programs are started here."""
        for window in list(self._open):
            if not window.pass_on(self._network):
                self._open.remove(window)
                window.close()

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def _take(self, connection: Connection) -> None:
        request = connection.request
        why_not = _why_not(str(request["term"]))
        if why_not:
            connection.answer({"error": why_not})
            return
        self._open.append(Window(connection))
        connection.send(json.dumps({"opened": True}).encode() + b"\n")


def refuse(network: Network) -> None:
    """Where nobody attends windows."""

    def take(connection: Connection) -> None:
        connection.answer({"error": _why_not(str(connection.request["term"])) or NO_TERMINAL})

    network.host_service["terminal"] = take


def _why_not(term: str) -> str:
    if not has_display():
        return "there is none here ($DISPLAY is not set)"
    program = _command(term, "")[0]
    return "" if shutil.which(program) else f"there is no program {program} here"


def _command(term: str, title: str) -> list[str]:
    if term == "gterm":
        return ["gnome-terminal", "--wait", "--title", title, "--"]
    return ["xterm", "-T", title, "-e"]


class Window:
    """One window, its relay, and the program in it. `end`: to be read when something comes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._request = connection.request
        self._folder = tempfile.TemporaryDirectory(prefix="wanlab-window-")
        address = f"{self._folder.name}/socket"
        self.end = socket.socket(socket.AF_UNIX)
        self.end.bind(address)
        self.end.listen(1)
        self._is_connected = False
        self._heard = bytearray()
        self._process: Process | None = None
        relay = [sys.executable, "-I", "-S", str(RELAY), address]
        self._window = subprocess.Popen(
            [*_command(str(self._request["term"]), str(self._request["title"])), *relay],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        return (
            self._connection.is_over
            or self._window.poll() is not None
            or (self._process is not None and not self._process.is_running)
        )

    def pass_on(self, network: Network) -> bool:
        """False if it is over."""
        if self.has_ended:
            return False
        while select.select([self.end], [], [], 0)[0]:
            if not self._is_connected:
                listening, self.end = self.end, self.end.accept()[0]
                listening.close()
                self._is_connected = True
                continue
            try:
                data = self.end.recv(CHUNK)
            except OSError:
                return False
            if not data:
                return False
            self._heard += data
        self._obey(network)
        return True

    def _obey(self, network: Network) -> None:
        """What the relay has said in full."""
        while len(self._heard) >= HEADER_BYTES:
            if self._heard[:1] == SIZE:
                rows, columns = struct.unpack_from(">HH", self._heard, 1)
                del self._heard[:HEADER_BYTES]
                self._resize(network, rows, columns)
                continue
            (length,) = struct.unpack_from(">I", self._heard, 1)
            if len(self._heard) < HEADER_BYTES + length:
                return
            keys = bytes(self._heard[HEADER_BYTES : HEADER_BYTES + length])
            del self._heard[: HEADER_BYTES + length]
            if self._process is not None:
                self._process.write(keys)

    def _resize(self, network: Network, rows: int, columns: int) -> None:
        """The first size that is told starts the program."""
        if self._process is not None:
            self._process.resize(rows, columns)
            return
        self._process = network.root.start(
            [str(word) for word in cast("list[object]", self._request["command"])],
            terminal=(rows, columns),
            on_output=self._show,
            environment={"TERM": "xterm-256color"},
            folder=str(self._request["folder"]),
        )

    def _show(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.end.sendall(data)

    def close(self) -> None:
        self.end.close()
        if self._process is not None and self._process.is_running:
            with contextlib.suppress(Exception):
                self._process.signal(signal.SIGHUP)
        # Its relay ends, and then the window by itself.
        for hint in (self._window.terminate, self._window.kill, lambda: None):
            try:
                self._window.wait(GRACE_REAL_S)
                break
            except subprocess.TimeoutExpired:
                hint()
        self._connection.end()
        self._folder.cleanup()
