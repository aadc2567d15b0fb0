"""Test the teacher's look over a student's shoulder, also at a process that a student has taken over."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import pytest
from class_client import TWO_HOSTS, ClassServer, class_folder
from patience import PATIENCE_S
from process_tree import descendants
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from web_client import RefusedCommandError, Visitor
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from wanlab.machine.embedded import landlock_version
from wanlab.web.classroom.looking import Looking, answer_look
from wanlab.web.classroom.messages import Look
from wanlab.web.protocol.commands import COMMANDS
from wanlab.web.server.websocket import DECODER, LOOKER_COMMANDS

needs_landlock = pytest.mark.skipif(not landlock_version(), reason="no Landlock here")


class Looker(Visitor):
    """The teacher's page that shows a student's laboratory."""

    def __init__(self, school: ClassServer, number: int) -> None:
        super().__init__(school.folder, school.url)
        self.path = f"/look/{number}"

    @contextlib.contextmanager
    def socket(self, path: str, **headers: str | None) -> Iterator[ClientConnection]:
        with super().socket(self.path + path, **headers) as opened:
            yield opened


@pytest.fixture(scope="module")
def school() -> Iterator[ClassServer]:
    # Not below /tmp, because machines always have their own /tmp.
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as place,
        ClassServer(class_folder(Path(place), "Ada", "Bob")) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def ada(school: ClassServer) -> Visitor:
    student = school.student("Ada")
    (student.folder / "two.yaml").write_text(TWO_HOSTS)
    return student


@pytest.fixture
def looker(school: ClassServer, ada: Visitor) -> Looker:
    assert ada.get("/api/state").status_code == 200  # her process runs
    return Looker(school, school.row("Ada")["number"])


def status_of_socket(who: Visitor, path: str, **headers: str | None) -> int:
    """Return the status of a WebSocket's handshake, 101 if it was opened."""
    try:
        with who.socket(path, **headers) as opened:
            opened.recv(PATIENCE_S)
            return 101
    except InvalidStatus as error:
        return error.response.status_code
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd is not None else 0


# -- a class ----------------------------------------------------------------------------------------


@needs_landlock
def test_the_teacher_reads_what_a_student_sees_and_the_student_knows(
    ada: Visitor, looker: Looker
) -> None:
    (ada.folder / "essay.txt").write_text("Ada's")
    assert '<div id="root">' in looker.get(f"{looker.path}/").text
    assert looker.get(f"{looker.path}/api/state").json()["folder"] == "Ada"
    assert looker.get(f"{looker.path}/api/files/essay.txt").text == "Ada's"
    with ada.connect_client() as hers:
        assert not hers.state["lessons"]["is_looked_at"]
        with looker.connect_client() as looking:
            hers.until(lambda: hers.state["lessons"]["is_looked_at"])
            node = {"id": "n1", "kind": "host", "name": "h7", "x": 1, "y": 1}
            hers.do("edit", put={"nodes": [node]}, label="Draw")
            looking.until(lambda: [it["name"] for it in looking.document["nodes"]] == ["h7"])
            hers.do("undo")
        hers.until(lambda: not hers.state["lessons"]["is_looked_at"])


@needs_landlock
def test_a_look_does_not_count_as_the_students_browser(
    school: ClassServer, ada: Visitor, looker: Looker
) -> None:
    with looker.connect_client():
        with ada.connect_client():
            school.until("Ada", is_online=True)
        school.until("Ada", is_online=False)


@needs_landlock
def test_nobody_but_the_teacher_looks(school: ClassServer, ada: Visitor, looker: Looker) -> None:
    for path in ("/", "/api/state", "/api/live", "/api/files/two.yaml"):
        assert looker.get(looker.path + path, cookie="").status_code == 403
        assert ada.get(looker.path + path).status_code == 404  # her own laboratory has no such page
        assert ada.get("/look/1" + path).status_code == 404
    for path in ("/api/live", "/api/terminals/t1"):
        assert status_of_socket(looker, path, cookie=None) == 403
        assert status_of_socket(ada, looker.path + path) == 403
        for origin in (None, "null", "http://evil.example", "http://127.0.0.1:1"):
            assert status_of_socket(looker, path, origin=origin) == 403
    assert looker.get(f"{looker.path}/api/state", host="evil.example").status_code == 403
    assert status_of_socket(looker, "/api/live") == 101


@needs_landlock
def test_a_look_at_a_student_who_is_away_starts_nothing(
    school: ClassServer, looker: Looker
) -> None:
    running = set(descendants(school.process.pid))
    bob = Looker(school, school.row("Bob")["number"])
    for path in ("/", "/api/state", "/api/files"):
        assert bob.get(bob.path + path).status_code == 404
        assert bob.get(f"/look/99{path}").status_code == 404
    assert status_of_socket(bob, "/api/live") == 403
    assert set(descendants(school.process.pid)) <= running
    assert school.row("Bob")["seen_s"] is None


@needs_landlock
def test_a_look_writes_nothing(ada: Visitor, looker: Looker) -> None:
    for method in ("PUT", "POST", "DELETE", "PATCH", "OPTIONS"):
        answer = looker.ask(method, f"{looker.path}/api/files/two.yaml", b"x", origin=looker.origin)
        assert answer.status_code == 403
    assert (ada.folder / "two.yaml").read_text() == TWO_HOSTS
    for path in ("../../Bob", "..%2f..%2ftokens.csv", "%2e%2e/%2e%2e/tokens.csv", "/etc/passwd"):
        assert looker.raw(f"{looker.path}/api/files/{path}") in (400, 404)
    for path in ("/..", "/%2e%2e/api/class", "x/api/state", "/assets/../api/state", "//api/state"):
        assert looker.raw(looker.path + path) == 404


@needs_landlock
def test_a_connection_that_looks_serves_one_request(school: ClassServer, looker: Looker) -> None:
    where = urlsplit(school.origin)
    requests = [
        f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nCookie: {looker.cookie}\r\n\r\n"
        for path in (f"{looker.path}/api/lessons", "/api/class/links")
    ]
    with socket.create_connection((where.hostname, where.port or 80), PATIENCE_S) as connection:
        connection.sendall("".join(requests).encode())
        with connection.makefile("rb") as answer:
            text = answer.read().decode(errors="replace")
    assert text.count("HTTP/1.1") == 1
    assert "connection: close" in text.lower()
    assert "token=" not in text


def value_of(kind: msgspec.inspect.Type) -> Any:
    """Return a JSON value of a type."""
    match kind:
        case msgspec.inspect.StructType():
            needed = {it.encode_name: value_of(it.type) for it in kind.fields if it.required}
            return needed | ({kind.tag_field: kind.tag} if kind.tag_field else {})
        case msgspec.inspect.LiteralType():
            return kind.values[0]
        case msgspec.inspect.UnionType():
            return value_of(kind.types[0])
        case msgspec.inspect.TupleType():
            return [value_of(it) for it in kind.item_types]
        case msgspec.inspect.StrType():
            return "x"
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return 1
        case msgspec.inspect.DictType():
            return {}
    return []


@needs_landlock
def test_every_command_that_changes_something_is_refused(ada: Visitor, looker: Looker) -> None:
    with looker.connect_client() as looking:
        document = looking.document
        for command in COMMANDS:
            words = value_of(msgspec.inspect.type_info(command))
            assert isinstance(DECODER.decode(json.dumps(words)), command)
            words.pop("id", None)
            try:
                looking.do(words.pop("do"), **words)
                code = ""
            except RefusedCommandError as refused:
                code = refused.code
            assert (code == "only looking") == (command not in LOOKER_COMMANDS), command
        assert looking.document == document
        assert looking.state["run"]["phase"] == "stopped"


@needs_landlock
@pytest.mark.machine
def test_keys_and_sizes_of_a_look_reach_no_terminal(ada: Visitor, looker: Looker) -> None:
    with ada.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        client.run()
        with client.terminal("h1") as hers:
            hers.until("# ")
            hers.resize(30, 90)
            with Looked(looker, hers.name) as view:
                hers.command("echo se''en", "seen\r\n")
                view.until("seen\r\n")
                view.resize(5, 20)
                view.type("touch typed\r")
            assert "30 90" in hers.command("stty size; echo en''d", "end\r\n")
            hers.command("echo ag''ain", "again\r\n")
            assert b"typed" not in hers.shown
        assert not (ada.folder / "typed").exists()
        client.stop()
        client.do("new", discard=True)


class Looked:
    """The teacher's view of a terminal."""

    def __init__(self, looker: Looker, name: str) -> None:
        self._life = contextlib.ExitStack()
        self._socket = self._life.enter_context(looker.socket(f"/api/terminals/{name}"))

    def __enter__(self) -> Looked:
        return self

    def __exit__(self, *_: object) -> None:
        self._life.close()

    def until(self, words: str) -> None:
        shown = b""
        while words.encode() not in shown:
            data = self._socket.recv(PATIENCE_S)
            shown += data if isinstance(data, bytes) else b""

    def type(self, keys: str) -> None:
        self._socket.send(keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self._socket.send(json.dumps({"resize": [rows, columns]}))


# -- a process that a student has taken over --------------------------------------------------------


Answer = Callable[[Look, socket.socket], None]
Exchanged = dict[str, Any]


class TakenOver:
    """Answers looks with a function, in a thread of its own."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def answer_look(self, look: Look, end: int, /) -> bool:
        copy = socket.fromfd(end, socket.AF_UNIX, socket.SOCK_STREAM)
        threading.Thread(target=self._answer, args=(look, copy), daemon=True).start()
        return True


def exchange(answer: Answer, kind: str, target: str, *received: Exchanged) -> list[Exchanged]:
    """Return what the hub sends to the teacher, whose last message is sent once it is answered."""
    path, _, query = target.partition("?")
    scope: Exchanged = {"type": kind, "method": "GET", "path": path, "query_string": query.encode()}
    scope["headers"] = [(b"cookie", b"wanlab-1=teacher")]
    scope["root_path"] = "/look"
    sent: list[Exchanged] = []

    async def exchanged() -> None:
        messages = [*received]
        has_answer = asyncio.Event()

        async def receive() -> Any:
            if len(messages) < 2:
                await has_answer.wait()
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)
            if message["type"] in ("websocket.send", "websocket.accept"):
                has_answer.set()

        looking = Looking(lambda number: TakenOver(answer) if number == 3 else None, Path("/"))
        await asyncio.wait_for(looking(scope, receive, send), PATIENCE_S)

    # In a thread of its own: a browser of another test may have left an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(exchanged())).result()
    return sent


def application(seen: list[Any]) -> Answer:
    """Return what answers as an application that attacks the teacher's browser."""
    headers = {
        "Set-Cookie": "wanlab-1=x",
        "Location": "/api/class/stop/Bob",
        "Content-Security-Policy": "default-src *",
        "Clear-Site-Data": '"cookies"',
    }

    async def evil(request: Request) -> Response:
        seen.append(request.scope["headers"])
        kind = request.query_params["kind"]
        return Response("fetch('/api/class/links')", 303, {**headers, "Content-Type": kind})

    async def echo(opened: WebSocket) -> None:
        seen.append(opened.scope["headers"])
        await opened.accept("evil", headers=[(b"set-cookie", b"wanlab-1=x")])
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                await opened.send_text(await opened.receive_text())

    app = Starlette(routes=[Route("/api/state", evil), WebSocketRoute("/api/live", echo)])
    return lambda look, end: asyncio.run(answer_look(app, look, end))


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("text/javascript", b"application/octet-stream"),
        ("text/html", b"application/octet-stream"),
        ("text/css", b"application/octet-stream"),
        ("application/json, text/html", b"application/octet-stream"),
        ("application/json", b"application/json"),
        ("image/svg+xml", b"image/svg+xml"),
    ],
)
def test_an_answer_is_data_without_rights(kind: str, shown: bytes) -> None:
    seen: list[Any] = []
    request = {"type": "http.request"}, {"type": "http.disconnect"}
    target = f"/look/3/api/state?kind={quote(kind)}"
    start, *parts = exchange(application(seen), "http", target, *request)
    assert (start["type"], start["status"]) == ("http.response.start", 303)
    headers = dict(start["headers"])
    assert headers.pop(b"content-type") == shown
    assert headers.pop(b"content-security-policy").startswith(b"sandbox; default-src 'none'")
    assert not headers
    assert b"".join(part["body"] for part in parts) == b"fetch('/api/class/links')"
    assert seen == [[]]  # neither the cookie nor another header has arrived


def test_a_socket_carries_messages_and_nothing_else() -> None:
    seen: list[Any] = []
    words = {"type": "websocket.receive", "text": "words"}
    leaves = {"type": "websocket.disconnect"}
    opens = {"type": "websocket.connect"}
    sent = exchange(application(seen), "websocket", "/look/3/api/live", opens, words, leaves)
    assert sent[:1] == [{"type": "websocket.accept"}]
    assert sent[1:2] in ([], [{"type": "websocket.send", "text": "words"}])
    assert seen == [[]]


@pytest.mark.parametrize(
    "frames",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x01\xc1",
        b"\x00\x00\x00\x09\x81\xa2is\xa4body",
    ],
)
def test_frames_that_are_none_end_the_look(frames: bytes) -> None:
    def answer(look: Look, end: socket.socket) -> None:
        with end:
            end.sendall(frames)

    start, end = exchange(answer, "http", "/look/3/api/state", {"type": "http.request"})
    assert (start["status"], end["body"]) == (502, b"")
    (closed,) = exchange(answer, "websocket", "/look/3/api/live", {"type": "websocket.connect"})
    assert (closed["type"], closed["code"]) == ("websocket.close", 1011)


def test_a_look_ends_when_the_teacher_leaves() -> None:
    has_ended = threading.Event()

    def answer(look: Look, end: socket.socket) -> None:
        with end:
            end.sendall(b"\x00\x00\x00\x0d\x81\xa2is\xa8accepted")
            end.settimeout(PATIENCE_S)
            while end.recv(1 << 16):
                pass
        has_ended.set()

    leaves = {"type": "websocket.disconnect"}
    sent = exchange(answer, "websocket", "/look/3/api/live", {"type": "websocket.connect"}, leaves)
    assert sent == [{"type": "websocket.accept"}]
    assert has_ended.wait(PATIENCE_S)
