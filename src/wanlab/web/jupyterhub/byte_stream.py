"""Carry the bytes of a socket over a WebSocket: how a look reaches a laboratory on another computer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

CHUNK_BYTES = 64 << 10

SendBytes = Callable[[bytes], Awaitable[None]]
ReceiveBytes = Callable[[], Awaitable[bytes | None]]
"""Returns None after the last bytes."""


async def carry(end: socket.socket, send: SendBytes, receive: ReceiveBytes) -> None:
    """Carry bytes in both directions until one side has ended; then close the socket."""
    end.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=end)

    async def outwards() -> None:
        while data := await reader.read(CHUNK_BYTES):
            await send(data)

    async def inwards() -> None:
        while (data := await receive()) is not None:
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.create_task(outwards()), asyncio.create_task(inwards())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
