"""How long a class takes to be back after a restart of its server.

Each student is a client without a browser that reconnects as the page does: it waits, doubling the
time up to a limit, asks for the state, opens the connection, and waits for the whole laboratory.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

FIRST_RETRY_S, MAX_RETRY_S = 0.25, 4.0
LIMIT_S = 5.0
"""Of one attempt, as in the page."""
PATIENCE_S = 300.0


def reconnection_times_s(environment: Mapping[str, str], count: int) -> list[float]:
    """Return how long after the server's restart each student has the laboratory again."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="wanlab-bench-") as place:
        folder = Path(place) / "class"
        folder.mkdir()
        names = [f"Student {number:02}" for number in range(1, count + 1)]
        (folder / "students.csv").write_text("\n".join(["student", *names, ""]), encoding="utf-8")
        port = _free_port()
        server = _start(folder, port, environment)
        try:
            with (folder / "tokens.csv").open(encoding="utf-8", newline="") as file:
                links = [row["link"] for row in csv.DictReader(file) if row["student"]]
            students = [_Student(link) for link in links]
            asyncio.run(_all_return(students))
            _end(server)
            server = _start(folder, port, environment)
            return asyncio.run(_all_return(students))
        finally:
            _end(server)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _start(folder: Path, port: int, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    words = ["web", "--no-browser", "--class", str(folder), "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, "-m", "wanlab.cli", *words],
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    if not any("Ctrl-C" in line for line in server.stdout):
        raise SystemExit("the server of the class has not started")
    return server


def _end(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGTERM)
    server.wait(PATIENCE_S)
    if server.stdout is not None:
        server.stdout.close()


class _Student:
    """A student's browser."""

    def __init__(self, link: str) -> None:
        self._host = urlsplit(link).netloc
        with httpx.Client(verify=False, timeout=PATIENCE_S) as client:
            client.get(link)
            self._cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())

    async def return_time_s(self) -> float:
        """Connect, again and again as the page does; return the time until the laboratory is there."""
        began, pause_s = time.monotonic(), FIRST_RETRY_S
        while True:
            with contextlib.suppress(OSError, TimeoutError, httpx.HTTPError, WebSocketException):
                await self._connect()
                return time.monotonic() - began
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_RETRY_S)

    async def _connect(self) -> None:
        """Ask for the state, open the connection, and read the state from it."""
        headers = {"Cookie": self._cookie}
        async with httpx.AsyncClient(verify=False, timeout=LIMIT_S) as client:
            with contextlib.suppress(httpx.HTTPError):
                await client.get(f"http://{self._host}/api/state", headers=headers)
        async with (
            asyncio.timeout(PATIENCE_S),
            connect(
                f"ws://{self._host}/api/live",
                origin=Origin(f"http://{self._host}"),
                additional_headers=headers,
                max_size=None,
                open_timeout=PATIENCE_S,
                compression=None,
            ) as live,
        ):
            async for text in live:
                if json.loads(text).get("push") == "state":
                    return
        raise ConnectionError("the server has closed the connection")


async def _all_return(students: Sequence[_Student]) -> list[float]:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.gather(*(student.return_time_s() for student in students))
