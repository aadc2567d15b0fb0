"""Limits for connections that have not sent a request, which any user of this computer can open.

uvicorn waits for the header of a request without end, and each connection takes a descriptor. Here a
header must arrive within HEADER_REAL_S, and of more than MAX_WAITING connections that wait for one
the oldest is closed. So nobody without the token can keep the user out.
"""

from __future__ import annotations

import asyncio
import time

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_REAL_S = 10.0
MAX_WAITING = 128
ACCEPTED_AT_ONCE = 64
"""asyncio accepts as many connections as the backlog holds before it handles the first of them. If
they take all descriptors, it logs an error for each that it could not accept.
"""


class LimitedProtocol(H11Protocol):
    """One connection of the server."""

    _opened_at = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened_at = time.monotonic()
        self._start_timer()
        others = [other for other in self.connections if isinstance(other, LimitedProtocol)]
        waiting = [
            other for other in others if other.is_waiting and not other.transport.is_closing()
        ]
        if len(waiting) > MAX_WAITING:
            min(waiting, key=lambda other: other._opened_at).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_waiting and self._timer is None:  # the first part of a further request
            self._start_timer()

    @property
    def is_waiting(self) -> bool:
        """Whether the connection waits for the rest of a request."""
        if self.transport.get_protocol() is not self:  # a WebSocket by now
            return False
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_REAL_S, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        self._timer = None
        if self.is_waiting and not self.transport.is_closing():
            self.transport.abort()
