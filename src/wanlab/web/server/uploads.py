"""Receives uploaded files, which are held in memory until they are complete.

All together they may use a limited amount. An upload that would exceed it is refused at once. It does
not wait, so clients that send slowly, or stop sending, block nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from wanlab.errors import WanlabError

from ..folder import MAX_UPLOAD_BYTES

MAX_BYTES = 4 * MAX_UPLOAD_BYTES
MAX_PAUSE_REAL_S = 30.0


class Uploads:
    """The uploads that are being received."""

    def __init__(self) -> None:
        self._held_bytes = 0

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body of a request. WanlabError if it is too large, or its sender has stopped."""
        data = bytearray()
        chunks = aiter(request.stream())
        try:
            while chunk := await self._next(chunks):
                self._held_bytes += len(chunk)
                data += chunk
                if len(data) > MAX_UPLOAD_BYTES:
                    raise WanlabError(f"the file is larger than {MAX_UPLOAD_BYTES >> 20} MiB")
                if self._held_bytes > MAX_BYTES:
                    raise WanlabError("too many files are being uploaded at once", "try again")
            yield bytes(data)
        finally:
            self._held_bytes -= len(data)

    async def _next(self, chunks: AsyncIterator[bytes]) -> bytes:
        try:
            return await asyncio.wait_for(anext(chunks, b""), MAX_PAUSE_REAL_S)
        except (ClientDisconnect, TimeoutError):
            raise WanlabError("the upload was interrupted") from None
