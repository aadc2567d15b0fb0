"""A client of `wanlab web` for tests, which exchanges the page's messages without a browser."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import forks
import httpx
from patience import PATIENCE_S
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

Message = dict[str, Any]
WANLAB = (forks.PROGRAM,)
LATENESS_S = float(os.environ.get("TEST_LATENESS_S", "0"))
"""How late messages are delivered at random, each client at its own speed (try 0.05)."""


class Visitor:
    """Stands in for a browser that has opened a server's address with its token."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.open(url)

    def open(self, url: str) -> None:
        """Exchange the token in an address for the cookie, as a browser does."""
        self.url = url
        self.origin = f"http://{urlsplit(url).netloc}"
        self.below = urlsplit(url).path.rstrip("/")
        self.token = url.partition("token=")[2]
        # A new client per request keeps no cookies; without TLS, certificates are not needed.
        with httpx.Client(verify=False, timeout=PATIENCE_S) as client:
            client.get(url)
            self.cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.ask("GET", path, b"", **headers)

    def ask(
        self, method: str, path: str, content: bytes = b"", /, **headers: str
    ) -> httpx.Response:
        """Send a request, with the cookie unless headers replace it (`host="..."`, "_" for "-")."""
        given = {"cookie": self.cookie, "origin": self.origin} if method != "GET" else {}
        given = {"cookie": self.cookie, **given}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx.Client(verify=False, timeout=PATIENCE_S) as client:
            request = httpx.Request(
                method, self.origin + self.below + path, headers=given, content=content
            )
            return client.send(request)

    def raw(self, target: str) -> int:
        """Return the status of a GET for a path that clients would normalize."""
        host = urlsplit(self.origin)
        with socket.create_connection((host.hostname, host.port or 80), PATIENCE_S) as connection:
            lines = [
                f"GET {self.below}{target} HTTP/1.1",
                f"Host: {host.netloc}",
                f"Cookie: {self.cookie}",
            ]
            connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
            with connection.makefile("rb") as answer:
                return int(answer.readline().split()[1])

    @contextlib.contextmanager
    def socket(self, path: str, **headers: str | None) -> Iterator[ClientConnection]:
        given: dict[str, str | None] = {"cookie": self.cookie, "origin": self.origin, **headers}
        host = given.pop("host", None) or urlsplit(self.origin).netloc
        origin = given.pop("origin")
        address = urlsplit(self.origin)
        with (
            socket.create_connection((address.hostname, address.port or 80), PATIENCE_S) as ours,
            connect(
                f"ws://{host}{self.below}{path}",
                additional_headers={k: v for k, v in given.items() if v is not None},
                origin=Origin(origin) if origin else None,
                sock=ours,
                max_size=None,
            ) as opened,
        ):
            yield opened

    def connect_client(self) -> WebClient:
        return WebClient(self)


def free_port() -> int:
    """Return a port that nobody takes until a server listens there, also after a restart.

    Linux gives the ports from 32768 on to connections and to servers that ask for any port.
    """
    while True:
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
            return int(tried.getsockname()[1])


class Server(Visitor):
    """Runs `wanlab web` in a folder; `program` holds its code and first arguments."""

    opening = "the laboratory is open"
    option = "--folder"

    def __init__(self, folder: Path, *arguments: str, program: Sequence[str] = WANLAB) -> None:
        self.folder = folder
        words = ["web", "--no-browser", self.option, str(folder), *arguments]
        code, *first = program
        self.process = forks.start(
            *first, *words, code=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said: list[str] = []
        try:
            self._enter()
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def _enter(self) -> None:
        """Open the printed address."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith(self.opening):
                break
        else:
            raise AssertionError("".join(self.said))
        self.open(line.split()[-1])

    def end(self, number: int = signal.SIGTERM) -> int:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.said += self.process.stdout.readlines()
        self.process.stdout.close()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()


class RefusedCommandError(Exception):
    """The server refused a command."""

    def __init__(self, error: Message) -> None:
        super().__init__(error)
        self.what: str = error["what"]
        self.code: str = error["code"]


class SocketClient:
    """A WebSocket with a thread that receives messages and notifies waiting threads."""

    def __init__(self, server: Visitor, path: str) -> None:
        self._life = contextlib.ExitStack()
        self._socket = self._life.enter_context(server.socket(path))
        self._changed = threading.Condition()
        self._lateness = random.choice([0, 1, 3])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._life.close()
        self._reader.join()

    def _wait_for_delivery(self) -> None:
        """Delay messages if requested; a test that mistakes two messages for one then fails."""
        if LATENESS_S:
            time.sleep(self._lateness * random.choice([0, LATENESS_S / 3, LATENESS_S]))

    def _read(self) -> None:
        raise NotImplementedError


class WebClient(SocketClient):
    """Stands in for a page: `state` has the last push of each kind, `document` the drawing."""

    def __init__(self, server: Visitor) -> None:
        self.server = server
        self.state: dict[str, Message] = {}
        self.pushes: list[Message] = []
        self.document: Message = {}
        self.name = ""
        self._number = 0
        self._replies: dict[int, Message] = {}
        super().__init__(server, "/api/live")
        self.until(lambda: "document" in self.state)

    def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for text in self._socket:
                message = json.loads(text)
                self._wait_for_delivery()
                with self._changed:
                    if "reply" in message:
                        self._replies[message["reply"]] = message
                    else:
                        self._take(message)
                    self._changed.notify_all()

    def _take(self, message: Message) -> None:
        self.pushes.append(message)
        if message["push"] == "state":
            self.name = message["client"]
            for part in message.values():
                if isinstance(part, dict):
                    self._take(part)
            return
        self.state[message["push"]] = message
        if message["push"] == "document":
            self._take_document(message)

    def _take_document(self, message: Message) -> None:
        if message["document"] is not None:
            self.document = message["document"]
            return
        changes = message["changes"]
        for kind in ("nodes", "links", "labels", "frames"):
            things = {it["id"]: it for it in self.document[kind]}
            things |= {it["id"]: it for it in changes["put"][kind]}
            self.document[kind] = [it for it in things.values() if it["id"] not in changes["drop"]]
        if changes["preferences"] is not None:
            self.document["preferences"] = changes["preferences"]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds, checking after every message."""
        with self._changed:
            if not self._changed.wait_for(holds, PATIENCE_S):
                state = {
                    key: it
                    for key, it in self.state.items()
                    if key in ("run", "clock", "terminals")
                }
                raise AssertionError(f"timed out: {state}")

    def do(self, what: str, **words: Any) -> Any:
        return self.reply(self.begin(what, **words))

    def begin(self, what: str, **words: Any) -> int:
        """Send a command; return its number, for `reply`."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "do": what, **words}))
        return self._number

    def reply(self, number: int) -> Any:
        """Wait for the reply to a command."""
        self.until(lambda: number in self._replies)
        reply = self._replies.pop(number)
        if "error" in reply:
            raise RefusedCommandError(reply["error"])
        return reply["ok"]

    def run(self) -> None:
        self.do("run")
        self.until(lambda: self.state["run"]["phase"] in ("running", "failed"))
        assert self.state["run"]["error"] is None, self.state["run"]["error"]

    def stop(self) -> None:
        self.do("stop")
        self.until(lambda: self.state["run"]["phase"] == "stopped")

    def id_of(self, name: str) -> str:
        found: list[str] = [it["id"] for it in self.document["nodes"] if it["name"] == name]
        return found[0]

    def terminal(self, node: str) -> Terminal:
        place = node if node in ("client", "prompt") else self.id_of(node)
        return Terminal(self.server, self.do("terminal", node=place)["terminal"])

    def reopened(self, terminal: str) -> Terminal:
        """Return another view of an open terminal."""
        return Terminal(self.server, terminal)

    def stands_still(self) -> int:
        """Wait until time stands still; return the network's time."""
        self.do("watch", series=[])  # all earlier pushes arrive before this reply
        self.until(lambda: not self.state["clock"]["is_moving"])
        now: int = self.state["clock"]["now_ns"]
        return now


class Terminal(SocketClient):
    """A view of a terminal; output is acknowledged unless `acknowledges` is False."""

    def __init__(
        self, server: Visitor, name: str, *, acknowledges: bool = True, page: str = ""
    ) -> None:
        self.name = name
        self.shown = b""
        self.history_bytes = 0
        """How much of the output was printed before this view was opened."""
        self.received_keys = 0
        """How many bytes of the page's keys the server has received."""
        self.has_ended = False
        self._acknowledges = acknowledges
        super().__init__(server, f"/api/terminals/{name}" + (f"?page={page}" if page else ""))

    def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for data in self._socket:
                if isinstance(data, str):
                    self._take(json.loads(data))
                    continue
                self._wait_for_delivery()
                with self._changed:
                    self.shown += data
                    self._changed.notify_all()
                if self._acknowledges:
                    self._socket.send(json.dumps({"ack": len(data)}))
        with self._changed:
            self.has_ended = True
            self._changed.notify_all()

    def _take(self, message: Message) -> None:
        with self._changed:
            self.history_bytes = message.get("history", self.history_bytes)
            self.received_keys = message["keys"]
            self._changed.notify_all()

    def until_received(self, count: int) -> None:
        """Wait until the server has received this many bytes of keys."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.received_keys == count, PATIENCE_S)

    def type(self, keys: str) -> None:
        self._socket.send(keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self._socket.send(json.dumps({"resize": [rows, columns]}))

    def until(self, words: str) -> str:
        """Wait until the output contains a text; return the output."""
        with self._changed:
            if not self._changed.wait_for(lambda: words.encode() in self.shown, PATIENCE_S):
                raise AssertionError(f"{words!r} is not in {self.shown[-500:]!r}")
        return self.shown.decode(errors="replace")

    def command(self, line: str, then: str) -> str:
        """Type a line; return the output up to a text."""
        with self._changed:
            self.shown = b""
        self.type(line + "\r")
        return self.until(then)


def wait_until(holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Poll for a condition without notifications, such as files and processes."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, "timed out"
        threading.Event().wait(0.02)


def machines_of(pid: int) -> Iterator[int]:
    """Yield the process ids of the running machines that a process has started."""
    from wanlab.machine import notes

    for run in notes.read_all():
        if run.owner.pid == pid and run.machine.is_running():
            yield run.machine.pid
