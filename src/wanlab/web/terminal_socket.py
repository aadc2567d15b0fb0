"""WS /api/terminals/ID: what a terminal's program says, and what is typed into it."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanlab.errors import WanlabError

from .laboratory import Laboratory
from .protocol import OutputAck, TerminalResize
from .terminals import Terminal, Viewer

PIECE_BYTES = 64 << 10
MOST_KEYS_BYTES = 1 << 20
IS_NOT_THERE, HAS_ENDED, TRY_AGAIN_LATER = 4404, 4410, 1013
RESIZE = msgspec.json.Decoder(TerminalResize)
ACK = msgspec.json.Decoder(OutputAck)


async def terminal_socket(socket: WebSocket) -> None:
    """A browser's view of a terminal, as long as both are there."""
    laboratory: Laboratory = socket.app.state.laboratory
    await socket.accept()
    try:
        terminal = laboratory.running.terminals[socket.path_params["name"]]
    except WanlabError as error:
        await socket.close(IS_NOT_THERE, error.what)
        return
    viewer = terminal.look()
    writing = asyncio.create_task(_write(socket, viewer))
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            keys, text = message.get("bytes"), message.get("text")
            if keys is not None:
                laboratory.running.keys(terminal, keys[:MOST_KEYS_BYTES])
            elif text is not None:
                _told(laboratory, terminal, viewer, text)
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        terminal.leave(viewer)
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing


async def _write(socket: WebSocket, viewer: Viewer) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        while data := await viewer.next(PIECE_BYTES):
            await socket.send_bytes(data)
        await socket.close(TRY_AGAIN_LATER if viewer.is_behind else HAS_ENDED)


def _told(laboratory: Laboratory, terminal: Terminal, viewer: Viewer, text: str) -> None:
    with contextlib.suppress(msgspec.MsgspecError):
        terminal.acknowledge(viewer, ACK.decode(text).ack)
        return
    with contextlib.suppress(msgspec.MsgspecError):
        rows, columns = RESIZE.decode(text).resize
        laboratory.running.resize(terminal, rows, columns)
