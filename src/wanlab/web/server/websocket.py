"""WS /api/live: commands in, replies and pushes out."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Union

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanlab.errors import InputError
from wanlab.json_text import decode_json

from ..broadcast import Browser
from ..laboratory import Laboratory
from ..protocol import commands, messages
from ..running_tasks import RunningTasks

DECODER: msgspec.json.Decoder[commands.Command] = msgspec.json.Decoder(
    Union[commands.COMMANDS]  # noqa: UP007
)
LOOKER_COMMANDS = (
    commands.HeartbeatCommand,
    commands.WatchCommand,
    commands.HistoryCommand,
    commands.NumbersCommand,
    commands.CompareCommand,
    commands.CostCommand,
)
"""The commands that change nothing: all that the teacher may send who looks at a laboratory."""
LOOKER_DECODER: msgspec.json.Decoder[commands.Command] = msgspec.json.Decoder(
    Union[LOOKER_COMMANDS]  # noqa: UP007
)
ONLY_LOOKING = messages.ErrorBody(
    "you can only view this laboratory", "only the student can change it", code="only looking"
)
TRY_AGAIN_LATER = 1013


class _Id(msgspec.Struct):
    id: int = 0


ID = msgspec.json.Decoder(_Id)


async def live_socket(socket: WebSocket) -> None:
    """Serve the connection of a browser until it ends."""
    laboratory: Laboratory = socket.app.state.laboratory
    await socket.accept()
    browser = laboratory.broadcast.connect(looks=socket.scope.get("looks", False))
    laboratory.lessons.note_look(is_looked_at=laboratory.broadcast.is_looked_at)
    browser.send(laboratory.state(browser.name))
    sender = asyncio.create_task(_send_messages(socket, browser))
    tasks = RunningTasks()
    try:
        while not browser.is_lost:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            text = message.get("text") or message.get("bytes") or ""
            tasks.start(perform_message(laboratory, browser, text))
    except (WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
        pass  # the browser, or the server, ends the connection
    finally:
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # the server ends, and does not wait
            await laboratory.disconnect(browser)
        laboratory.lessons.note_look(is_looked_at=laboratory.broadcast.is_looked_at)
        with contextlib.suppress(asyncio.CancelledError):
            await sender


async def _send_messages(socket: WebSocket, browser: Browser) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        while not browser.is_lost:
            await socket.send_text((await browser.next_message()).decode())
        await socket.close(TRY_AGAIN_LATER)


async def perform_message(laboratory: Laboratory, browser: Browser, text: str | bytes) -> None:
    """Carry out the command in a message, and send the reply."""
    try:
        command = decode_json(text, LOOKER_DECODER if browser.looks else DECODER)
    except InputError as error:
        unknown = messages.ErrorBody(f"not a command: {error}")
        body = ONLY_LOOKING if browser.looks else unknown
        browser.send(messages.CommandRefusal(_id_of(text), body))
        return
    browser.send(await laboratory.perform(command, browser))


def _id_of(text: str | bytes) -> int:
    """Return the id of a command that is refused, if it can be read."""
    try:
        return decode_json(text, ID).id
    except InputError:
        return 0
