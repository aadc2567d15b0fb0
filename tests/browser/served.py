"""Serve a build of the page with `wanlab web`, which can be restarted at the same address."""

from __future__ import annotations

import signal
from pathlib import Path

import web_client

SERVER = """
import sys
from pathlib import Path
from wanlab.cli import main
from wanlab.web.server import server
server.STATIC = Path(sys.argv.pop(1))
main()
"""


class Server:
    """Runs `wanlab web` in a folder, with further arguments of the command line."""

    def __init__(self, folder: Path, pages: Path, *arguments: str) -> None:
        self.folder = folder
        self._arguments = arguments
        self._program = (SERVER, str(pages))
        self._server: web_client.Server | None = None
        self.url = ""
        self.port = web_client.free_port()

    def start(self) -> None:
        arguments = ("--port", str(self.port), *self._arguments)
        self._server = web_client.Server(self.folder, *arguments, program=self._program)
        self.url = self._server.url

    def end(self, number: int = signal.SIGTERM) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.end(number)
