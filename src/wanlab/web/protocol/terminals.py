"""The protocol of a terminal's WebSocket, apart from the keys and the output, which are bytes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from .commands import TerminalSize


class TerminalResize(msgspec.Struct, frozen=True):
    """Text on WS /api/terminals/ID: the new size in [rows, columns]. Binary messages are keys."""

    resize: tuple[TerminalSize, TerminalSize]


class OutputHistory(msgspec.Struct, frozen=True):
    """First text on WS /api/terminals/ID from the server: how many of the bytes that follow were
    printed before; queries in them have been answered already. `keys` is as in KeysAck."""

    history: int
    keys: int = 0


class KeysAck(msgspec.Struct, frozen=True):
    """Text on WS /api/terminals/ID from the server: how many bytes of the page's keys have arrived."""

    keys: int


class OutputAck(msgspec.Struct, frozen=True):
    """Text on WS /api/terminals/ID: how many more bytes of output have been displayed."""

    ack: Annotated[int, msgspec.Meta(ge=0)]
