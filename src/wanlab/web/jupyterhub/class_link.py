"""The connection of a laboratory to its class. The laboratory opens it: it may be behind anything.

WS   api/laboratory                `Status` one way; `Enrolled`, `Look` and `StopNetwork` the other
WS   api/laboratory/looks/NUMBER   the bytes of a look, for which the class has asked
POST api/laboratory/hand-ins/UNIT  a hand-in

Each carries the token that the hub has given to the laboratory; the class asks the hub whose it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import random
import socket
import urllib.error
import urllib.request
from urllib.parse import quote, urlsplit

import msgspec
from starlette.types import ASGIApp
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from wanlab.errors import InputError, WanlabError
from wanlab.json_text import decode_json

from ..classroom import messages
from ..classroom.looking import answer_look
from ..classroom.messages import Enrolled, Look, Status, StopNetwork
from ..classroom.student_activity import BY_THE_TEACHER, status_of, stop_network
from ..laboratory import Laboratory
from ..protocol.messages import ErrorBody
from ..running_tasks import RunningTasks
from .byte_stream import carry
from .hub_api import authorized, direct_opener

ENROL_REAL_S = 60.0
STATUS_REAL_S = 1.0
RETRY_REAL_S, MAX_RETRY_REAL_S = 0.5, 10.0
HAND_IN_REAL_S = 60.0
MAX_MESSAGE_BYTES = 1 << 20
NO_ACCESS = (
    "give the users the scope access:services!service=NAME, and their laboratories, too: "
    "c.Spawner.server_token_scopes"
)
ERROR = msgspec.json.Decoder(ErrorBody)


class ClassLink:
    """Connects the laboratory of a user of the hub to the class at a URL."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query:
            hint = "as in http://127.0.0.1:10101/services/networks"
            raise WanlabError(f"{url} is not the address of a class", hint)
        self._url = f"{url.rstrip('/')}/api/laboratory"
        self._headers = authorized(token)
        self._opener = direct_opener()
        self._tasks = RunningTasks()

    async def enrol(self) -> tuple[ClientConnection, int]:
        """Open the connection; return it, and the student's seed. WanlabError if that fails."""
        try:
            async with asyncio.timeout(ENROL_REAL_S):
                while True:
                    with contextlib.suppress(_NotNowError):
                        return await self._open()
                    await asyncio.sleep(RETRY_REAL_S)
        except TimeoutError:
            raise WanlabError(
                f"the class at {self._url} does not answer", "is its service running?"
            ) from None

    async def serve(self, laboratory: Laboratory, app: ASGIApp, link: ClientConnection) -> None:
        """Report what the student does, and obey the class. Reopen the connection when it is lost."""
        opened: ClientConnection | None = link
        delay_s = RETRY_REAL_S
        while True:
            if opened is not None:
                delay_s = RETRY_REAL_S
                await self._serve_connection(laboratory, app, opened)
            # 200 laboratories must not come back at the same instant after a restart of the class.
            await asyncio.sleep(delay_s * (0.5 + random.random()))
            delay_s = min(2 * delay_s, MAX_RETRY_REAL_S)
            opened = None
            with contextlib.suppress(_NotNowError, WanlabError):
                opened, _ = await self._open()

    async def _open(self) -> tuple[ClientConnection, int]:
        link = await self._connect("")
        first = await self._receive(link)
        if not isinstance(first, Enrolled):
            await link.close()
            raise _NotNowError
        return link, first.seed

    async def _connect(self, path: str) -> ClientConnection:
        """Open a WebSocket. WanlabError if the class refuses us, _NotNowError if it does not answer."""
        url = f"ws{self._url.removeprefix('http')}{path}"
        try:
            return await connect(
                url,
                additional_headers=self._headers,
                max_size=MAX_MESSAGE_BYTES,
                compression=None,
                proxy=None,
            )
        except InvalidStatus as error:
            if error.response.status_code in (401, 403):
                what = f"the class at {self._url} does not admit this laboratory"
                raise WanlabError(what, NO_ACCESS) from None
            raise _NotNowError from None
        except (OSError, TimeoutError, InvalidHandshake):
            raise _NotNowError from None

    async def _receive(self, link: ClientConnection) -> messages.ToStudent | None:
        """Return the next message of the class; None after the last one."""
        try:
            data = await link.recv()
            return messages.TO_STUDENT.decode(data if isinstance(data, bytes) else data.encode())
        except (ConnectionClosed, msgspec.MsgspecError):
            return None

    async def _serve_connection(
        self, laboratory: Laboratory, app: ASGIApp, link: ClientConnection
    ) -> None:
        reporting = asyncio.create_task(self._report(laboratory, link))
        try:
            while (message := await self._receive(link)) is not None:
                match message:
                    case StopNetwork():
                        self._tasks.start(stop_network(laboratory, BY_THE_TEACHER))
                    case Look():
                        self._tasks.start(self._answer_look(app, message))
        finally:
            reporting.cancel()
            await link.close()

    async def _report(self, laboratory: Laboratory, link: ClientConnection) -> None:
        """Send the student's activity whenever it has changed."""
        last: Status | None = None
        with contextlib.suppress(ConnectionClosed):
            while True:
                status = status_of(laboratory)
                if status != last:
                    await link.send(msgspec.msgpack.encode(status))
                    last = status
                await asyncio.sleep(STATUS_REAL_S)

    async def _answer_look(self, app: ASGIApp, look: Look) -> None:
        with contextlib.suppress(_NotNowError, WanlabError, ConnectionClosed):
            async with await self._connect(f"/looks/{look.number}") as link:

                async def receive() -> bytes | None:
                    with contextlib.suppress(ConnectionClosed):
                        data = await link.recv()
                        return data if isinstance(data, bytes) else data.encode()
                    return None

                ours, theirs = socket.socketpair()
                answering = asyncio.create_task(answer_look(app, look, ours))
                try:
                    await carry(theirs, link.send, receive)
                finally:
                    await asyncio.gather(answering, return_exceptions=True)

    async def hand_in(self, unit: str, packed: bytes) -> None:
        """Give a hand-in to the class; WanlabError if it was not kept."""
        await asyncio.to_thread(self._hand_in, unit, packed)

    def _hand_in(self, unit: str, packed: bytes) -> None:
        headers = {"Content-Type": "application/zip", **self._headers}
        url = f"{self._url}/hand-ins/{quote(unit)}"
        request = urllib.request.Request(url, packed, headers, method="POST")
        try:
            with self._opener.open(request, timeout=HAND_IN_REAL_S):
                pass
        except urllib.error.HTTPError as error:
            with error:
                what = f"your work was not handed in: {_reason(error)}"
                raise WanlabError(what, "tell your teacher") from None
        except (OSError, http.client.HTTPException):
            raise WanlabError("the server of the class does not answer", "hand in again") from None


class _NotNowError(Exception):
    """The class does not answer now."""


def _reason(error: urllib.error.HTTPError) -> str:
    """Return why the class has refused a hand-in."""
    try:
        body = decode_json(error.read(MAX_MESSAGE_BYTES), ERROR)
    except InputError:
        return f"the server of the class answered with status {error.code}"
    return f"{body.what} ({body.hint})" if body.hint else body.what
