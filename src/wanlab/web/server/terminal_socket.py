"""WS /api/terminals/ID: the output of a terminal's program, and its input."""

from __future__ import annotations

import asyncio
import contextlib
from uuid import uuid4

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanlab.errors import InputError, WanlabError
from wanlab.json_text import decode_json

from ..laboratory import Laboratory
from ..protocol.terminals import KeysAck, OutputAck, OutputHistory, TerminalResize
from ..terminals.terminals import Terminal, Viewer

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
    looks = socket.scope.get("looks", False)
    viewer = terminal.add_viewer(looks=looks)
    if looks:
        await _serve_looker(socket, terminal, viewer)
        return
    keys_from = terminal.key_streams.connect(socket.query_params.get("page") or uuid4().hex)
    history = OutputHistory(viewer.history_bytes, keys_from.received_bytes)
    sender = asyncio.create_task(_send_output(socket, viewer, history))
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            keys, text = message.get("bytes"), message.get("text")
            if keys is not None and keys_from.receive(keys):
                laboratory.session.terminals.send_keys(terminal, keys[:MAX_KEYS_BYTES])
                await _send(socket, KeysAck(keys_from.received_bytes))
            elif text is not None:
                _receive_text(laboratory, terminal, viewer, text)
    except (WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
        pass  # the browser, or the server, ends the connection
    finally:
        keys_from.end()
        terminal.remove_viewer(viewer)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender


async def _serve_looker(socket: WebSocket, terminal: Terminal, viewer: Viewer) -> None:
    """Serve the view of the teacher who only looks: keys and sizes are dropped."""
    sender = asyncio.create_task(
        _send_output(socket, viewer, OutputHistory(viewer.history_bytes, 0))
    )
    try:
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    except (WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
        pass  # the browser, or the server, ends the connection
    finally:
        terminal.remove_viewer(viewer)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender


async def _send(socket: WebSocket, message: OutputHistory | KeysAck) -> None:
    await socket.send_text(msgspec.json.encode(message).decode())


async def _send_output(socket: WebSocket, viewer: Viewer, history: OutputHistory) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        await _send(socket, history)
        while data := await viewer.next_output(CHUNK_BYTES):
            await socket.send_bytes(data)
        await socket.close(TRY_AGAIN_LATER if viewer.is_behind else GONE)


def _receive_text(laboratory: Laboratory, terminal: Terminal, viewer: Viewer, text: str) -> None:
    with contextlib.suppress(InputError):
        terminal.acknowledge(viewer, decode_json(text, ACK).ack)
        return
    with contextlib.suppress(InputError):
        rows, columns = decode_json(text, RESIZE).resize
        laboratory.session.terminals.resize(terminal, rows, columns)
