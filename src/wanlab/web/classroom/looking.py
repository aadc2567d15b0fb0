"""A look over a student's shoulder: the teacher reads the student's laboratory and changes nothing.

/look/NUMBER/           the page of the laboratory, from the hub
/look/NUMBER/assets/*   its scripts and styles, from the hub
/look/NUMBER/api/*      what it asks for, from the process of that student, if it runs

A student may have taken over the student's process. It must learn no cookie of the teacher, and
nothing that it answers may run as a script in the teacher's browser, where it could use the teacher's
page. So the hub does not pass the teacher's connections on. It relays requests and WebSockets as
frames over a socket pair of their own: the path and the query in, data out. The scripts of the page
are the hub's, and a browser shows an answer of the process without rights (DATA_POLICY).

The process answers GET alone, refuses all commands but LOOKER_COMMANDS (`server.websocket`), and drops
keys and sizes of terminals (`server.terminal_socket`).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, Union

import msgspec
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..server.app import DATA_POLICY, Assets
from ..server.auth import SAFE_METHODS
from .messages import Look

LOOK = re.compile(r"/([0-9]{1,6})/((api|assets)/.*)?", re.DOTALL)
PAGE = "index.html"
LOOKING_HTML = "<html data-looks"
"""How the page begins that knows that it shows a laboratory to the teacher."""
MAX_FRAME_BYTES = 32 << 20
HARMLESS = re.compile(r"(application/json|text/plain|image/[a-z+]+)(;.*)?")
"""The types of answers that keep their type; browsers run none of them as a script."""
OTHER = "application/octet-stream"
MAX_REASON_BYTES = 123  # RFC 6455, 5.5: a control frame holds 125 bytes, two of them the code


class AnswersLooks(Protocol):
    """A student's process."""

    def answer_look(self, look: Look, end: int, /) -> bool:
        """Have a look answered over a copy of a socket; return whether that was possible."""


class LookFrame(msgspec.Struct, frozen=True, tag_field="is", tag=str.lower):
    """A part of what a look asks or is answered."""


class Began(LookFrame, frozen=True):
    """The answer to a request begins."""

    status: Annotated[int, msgspec.Meta(ge=200, le=599)]
    kind: str


class Body(LookFrame, frozen=True):
    """A part of the answer."""

    data: bytes
    more: bool


class Accepted(LookFrame, frozen=True):
    """A WebSocket is open."""


class SocketText(LookFrame, frozen=True):
    """A message of a WebSocket, in either direction."""

    text: str


class SocketBytes(LookFrame, frozen=True):
    """The same with bytes."""

    data: bytes


class Closed(LookFrame, frozen=True):
    """A WebSocket was closed."""

    code: Annotated[int, msgspec.Meta(ge=1000, le=4999)]
    reason: str


OF_TEACHER: msgspec.msgpack.Decoder[SocketText | SocketBytes] = msgspec.msgpack.Decoder(
    Union[SocketText, SocketBytes]  # noqa: UP007
)
OF_STUDENT: msgspec.msgpack.Decoder[LookFrame] = msgspec.msgpack.Decoder(
    Union[Began, Body, Accepted, SocketText, SocketBytes, Closed]  # noqa: UP007
)
F = TypeVar("F", bound=LookFrame)


class _Channel:
    """Frames over a socket, each after its length."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> _Channel:
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end))

    async def send(self, frame: LookFrame) -> None:
        data = msgspec.msgpack.encode(frame)
        self._writer.write(len(data).to_bytes(4) + data)
        await self._writer.drain()

    async def receive(self, decoder: msgspec.msgpack.Decoder[F]) -> F | None:
        """Return the next frame; None after the last one, or if it is none."""
        try:
            size = int.from_bytes(await self._reader.readexactly(4))
            if size > MAX_FRAME_BYTES:
                return None
            return decoder.decode(await self._reader.readexactly(size))
        except (OSError, asyncio.IncompleteReadError, msgspec.MsgspecError):
            return None

    def close(self) -> None:
        self._writer.close()


# -- the hub ----------------------------------------------------------------------------------------


class Looking:
    """The hub's ASGI application below /look, for requests with the teacher's cookie."""

    def __init__(self, process_of: Callable[[int], AnswersLooks | None], static: Path) -> None:
        self._process_of = process_of
        self._static = static
        self._assets = Assets(directory=static / "assets", check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = LOOK.fullmatch(scope["path"].removeprefix(scope["root_path"]))
        is_socket = scope["type"] == "websocket"
        if not is_socket and scope["method"] not in SAFE_METHODS:
            refusal = PlainTextResponse("you can only view this laboratory", 403)
            await refusal(scope, receive, send)
        elif (
            match is None
            or (process := self._process_of(int(match[1]))) is None
            or (is_socket and match[3] != "api")
        ):
            await _refuse(scope, receive, send)
        elif match[2] is None:
            page = (self._static / PAGE).read_text(encoding="utf-8").replace("<html", LOOKING_HTML)
            response = HTMLResponse(page, headers={"Cache-Control": "no-cache"})
            await response(scope, receive, send)
        elif match[3] == "assets":
            below = scope["path"].removesuffix(match[2]) + "assets"
            await self._assets({**scope, "root_path": below}, receive, send)
        else:
            query = scope["query_string"].decode("latin-1")
            look = Look(path=f"/{match[2]}", query=query, is_socket=is_socket)
            await _relay(process, look, scope, receive, send)


async def _relay(
    process: AnswersLooks, look: Look, scope: Scope, receive: Receive, send: Send
) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        is_answered = process.answer_look(look, theirs.fileno())
    if not is_answered:
        ours.close()
        await _refuse(scope, receive, send)
        return
    channel = await _Channel.over(ours)
    answer = _relay_socket if look.is_socket else _relay_answer
    try:
        await _first_of(_pass_on(receive, channel), answer(channel, send))
    finally:
        channel.close()


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
    else:
        nobody = PlainTextResponse("there is no such laboratory, or nobody works in it", 404)
        await nobody(scope, receive, send)


async def _first_of(*parts: Awaitable[None]) -> None:
    """Run all, until the first has ended."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, OSError):
            raise error


async def _pass_on(receive: Receive, channel: _Channel) -> None:
    """Pass the browser's messages on until it has gone."""
    with contextlib.suppress(OSError):
        while not (message := await receive())["type"].endswith(".disconnect"):
            if message["type"] == "websocket.receive":
                await channel.send(_message(message))


def _message(message: Any) -> SocketText | SocketBytes:
    """Return the frame for a message of a WebSocket."""
    text = message.get("text")
    return SocketBytes(message["bytes"]) if text is None else SocketText(text)


async def _relay_answer(channel: _Channel, send: Send) -> None:
    began = await channel.receive(OF_STUDENT)
    status, kind = (began.status, began.kind) if isinstance(began, Began) else (502, OTHER)
    kind = kind if HARMLESS.fullmatch(kind) else OTHER
    headers = [(b"content-type", kind.encode()), (b"content-security-policy", DATA_POLICY.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    is_more = isinstance(began, Began)
    while is_more:
        part = await channel.receive(OF_STUDENT)
        data, is_more = (part.data, part.more) if isinstance(part, Body) else (b"", False)
        if data:
            await send({"type": "http.response.body", "body": data, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _relay_socket(channel: _Channel, send: Send) -> None:
    closed = Closed(1011, "no answer")
    while (frame := await channel.receive(OF_STUDENT)) is not None:
        match frame:
            case Accepted():
                await send({"type": "websocket.accept"})
            case SocketText(text=text):
                await send({"type": "websocket.send", "text": text})
            case SocketBytes(data=data):
                await send({"type": "websocket.send", "bytes": data})
            case Closed():
                closed = frame
                break
            case _:
                break
    # A code below 3000 that is not the application's may be one that nobody may send.
    code = closed.code if closed.code in (1000, 1011, 1013) or closed.code >= 3000 else 1011
    reason = closed.reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
    await send({"type": "websocket.close", "code": code, "reason": reason})


# -- the student's process --------------------------------------------------------------------------


async def answer_look(app: ASGIApp, look: Look, end: socket.socket) -> None:
    """Answer a look with what `app` answers to the request, which has `looks` in its scope."""
    channel = await _Channel.over(end)
    kind = "websocket" if look.is_socket else "http"
    scope = {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": look.path,
        "raw_path": look.path.encode(),
        "query_string": look.query.encode("latin-1"),
        "root_path": "",
        "headers": [],
        "looks": True,
    }
    first = {"type": "websocket.connect"} if look.is_socket else {"type": "http.request"}
    waiting = [first]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        frame = await channel.receive(OF_TEACHER)
        if frame is None:
            return {"type": f"{kind}.disconnect", "code": 1006}
        content = {"text": frame.text} if isinstance(frame, SocketText) else {"bytes": frame.data}
        return {"type": "websocket.receive", **content}

    try:
        await app(scope, receive, lambda message: channel.send(_frame(message)))
    except OSError:
        pass  # the teacher has gone
    finally:
        channel.close()


def _frame(message: Any) -> LookFrame:
    """Return the frame for a message of an ASGI application."""
    match message["type"]:
        case "http.response.start":
            kinds = [value for name, value in message["headers"] if name == b"content-type"]
            return Began(message["status"], kinds[0].decode("latin-1") if kinds else OTHER)
        case "http.response.body":
            return Body(message.get("body", b""), message.get("more_body", False))
        case "websocket.accept":
            return Accepted()
        case "websocket.send":
            return _message(message)
        case _:
            return Closed(message.get("code", 1000), message.get("reason") or "")
