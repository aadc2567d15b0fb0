"""Terminal windows of nodes.

A machine has no display, so the host service is asked to open the window on the user's desktop. If
there is no desktop, the error says how to get a terminal.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterable
from os import environ as environ
from pathlib import Path
from typing import Protocol

from wanlab.network import open_request

from .commands import errRun as errRun
from .commands import quietRun as quietRun
from .commands import words_of
from .hosts import Node
from .live_network import live_network
from .log import error


class Terminal(Protocol):
    """A terminal window, or a process with a window, that the network ends."""

    def terminate(self) -> None: ...


class NodeTerminal:
    """A terminal window on the user's desktop. It closes when its connection is closed."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def terminate(self) -> None:
        self._connection.close()


def makeTerm(
    node: Node,
    title: str = "Node",
    term: str = "xterm",
    display: str | None = None,
    cmd: str = "bash",
) -> list[NodeTerminal]:
    """Open a terminal window with a shell in a node; return it in a list, which is empty on failure."""
    namespace = "" if node.inNamespace else " (root)"
    request = {
        "do": "terminal",
        "title": f'"{title}: {node.name}"{namespace}',
        "command": live_network().wrap(node, ["/bin/bash", "-c", cmd]),
        "folder": str(Path.cwd()),
        "term": term,
    }
    connection = open_request(request)
    answer = json.loads(_read_line(connection) or '{"error": "wanlab has ended"}')
    if "error" in answer:
        error(f"Error: Cannot connect to display: {answer['error']}\n")
        error(f"(for a shell at this prompt: {node.name} bash)\n")
        connection.close()
        return []
    return [NodeTerminal(connection)]


def _read_line(connection: socket.socket) -> bytes:
    """Read one line, and nothing after it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line


def makeTerms(
    nodes: Iterable[Node], title: str = "Node", term: str = "xterm"
) -> list[NodeTerminal]:
    return [window for node in nodes for window in makeTerm(node, title, term)]


def tunnelX11(node: Node, display: str | None = None) -> tuple[str | None, None]:
    """Return (display, None). Programs in a machine cannot connect to your display."""
    name = display or os.environ.get("DISPLAY")
    if not name:
        error("Error: Cannot connect to display\n")
        return None, None
    return name, None


def runX11(node: Node, cmd: str | list[str]) -> list[subprocess.Popen[bytes]]:
    """Run a program that opens a window in a node."""
    display, _ = tunnelX11(node)
    if display is None:
        return []
    return [node.popen(*words_of([cmd]), env={**os.environ, "DISPLAY": display})]


def cleanUpScreens() -> None:
    """Do nothing: no screen sessions are used."""
