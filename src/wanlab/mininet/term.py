"""Terminal windows of nodes, on the display of whoever runs the machine.

A machine has no display, so the program requests the window from the host service, which opens it on
the user's side. Where there is no display, the error says how to get a terminal.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wanlab.network import open_request

from .ground import ground
from .log import error
from .util import words_of


class Window:
    """A window on the user's side; it closes with its connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def terminate(self) -> None:
        self._connection.close()


def makeTerm(
    node: Any,
    title: str = "Node",
    term: str = "xterm",
    display: str | None = None,
    cmd: str = "bash",
) -> list[Any]:
    """Opens a terminal window with a shell in a node."""
    place = "" if node.inNamespace else " (root)"
    request = {
        "do": "terminal",
        "title": f'"{title}: {node.name}"{place}',
        "command": ground.wrap(node, ["/bin/bash", "-c", cmd]),
        "folder": str(Path.cwd()),
        "term": term,
    }
    connection = open_request(request)
    answer = json.loads(_line_of(connection) or '{"error": "the user\'s side has gone"}')
    if "error" in answer:
        error(f"Error: Cannot connect to display: {answer['error']}\n")
        error(f"(a terminal right here, at the prompt: {node.name} bash)\n")
        connection.close()
        return []
    return [Window(connection)]


def _line_of(connection: Any) -> bytes:
    """Read to its end and not further."""
    line = b""
    while not line.endswith(b"\n"):
        sign = connection.recv(1)
        if not sign:
            break
        line += sign
    return line


def makeTerms(nodes: Iterable[Any], title: str = "Node", term: str = "xterm") -> list[Any]:
    return [window for node in nodes for window in makeTerm(node, title, term)]


def tunnelX11(node: Any, display: str | None = None) -> tuple[str | None, Any]:
    """(display, process that passes it on). Programs in a machine reach no display of yours."""
    shown = display or os.environ.get("DISPLAY")
    if not shown:
        error("Error: Cannot connect to display\n")
        return None, None
    return shown, None


def runX11(node: Any, cmd: Any) -> list[Any]:
    """Runs a program with a window in a node."""
    shown, tunnel = tunnelX11(node)
    if shown is None:
        return []
    environment = {**os.environ, "DISPLAY": shown}
    program: subprocess.Popen[bytes] = node.popen(*words_of([cmd]), env=environment)
    return [end for end in (tunnel, program) if end is not None]


def cleanUpScreens() -> None:
    """There are none."""
