"""`wanlab web` as a process of its own, with pages from where the tests say."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

SERVER = """
import sys
from pathlib import Path
from wanlab.web import server
server.STATIC = Path(sys.argv[1])
server.run(None, port=int(sys.argv[3]), folder=Path(sys.argv[2]), opens_browser=False)
"""


class Server:
    """`wanlab web` over a folder."""

    def __init__(self, folder: Path, pages: Path) -> None:
        self.folder = folder
        self._pages = pages
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.port = _free_port()

    def start(self) -> None:
        command = [sys.executable, "-c", SERVER, str(self._pages), str(self.folder), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the server does not tell its address: {line}"
        self.url = found[0]

    def end(self, number: int = signal.SIGTERM) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(20)
            assert process.stdout is not None
            process.stdout.close()


def _free_port() -> int:
    """One that nobody takes while a server is away: the usual ones are those of other tests, too."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])
