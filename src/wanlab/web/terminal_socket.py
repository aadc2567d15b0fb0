"""WS /api/terminals/ID: the output of a terminal's program, and its input."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanlab.errors import WanlabError

from .laboratory import Laboratory
from .protocol import OutputAck, OutputHistory, TerminalResize
from .terminals import Terminal, Viewer

CHUNK_BYTES = 64 << 10
MAX_KEYS_BYTES = 1 << 20
MAX_REASON_BYTES = 123  # RFC 6455, 5.5: a control frame holds 125 bytes, two of them the code
NOT_FOUND, GONE, TRY_AGAIN_LATER = 4404, 4410, 1013
RESIZE = msgspec.json.Decoder(TerminalResize)
ACK = msgspec.json.Decoder(OutputAck)


async def terminal_socket(socket: WebSocket) -> None:
    """Serve a browser's view of a terminal until either is closed."""
    laboratory: Laboratory = socket.app.state.laboratory
    await socket.accept()
    try:
        terminal = laboratory.session.terminals[socket.path_params["name"]]
    except WanlabError as error:
        reason = error.what.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
        await socket.close(NOT_FOUND, reason)
        return
    viewer = terminal.add_viewer()
    sender = asyncio.create_task(_send_output(socket, viewer))
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            keys, text = message.get("bytes"), message.get("text")
            if keys is not None:
                laboratory.session.terminals.send_keys(terminal, keys[:MAX_KEYS_BYTES])
            elif text is not None:
                _receive_text(laboratory, terminal, viewer, text)
    except (WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
        pass  # the browser, or the server, ends the connection
    finally:
        terminal.remove_viewer(viewer)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender


async def _send_output(socket: WebSocket, viewer: Viewer) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        await socket.send_text(msgspec.json.encode(OutputHistory(viewer.history_bytes)).decode())
        while data := await viewer.next_output(CHUNK_BYTES):
            await socket.send_bytes(data)
        await socket.close(TRY_AGAIN_LATER if viewer.is_behind else GONE)


def _receive_text(laboratory: Laboratory, terminal: Terminal, viewer: Viewer, text: str) -> None:
    with contextlib.suppress(msgspec.MsgspecError):
        terminal.acknowledge(viewer, ACK.decode(text).ack)
        return
    with contextlib.suppress(msgspec.MsgspecError):
        rows, columns = RESIZE.decode(text).resize
        laboratory.session.terminals.resize(terminal, rows, columns)
