"""The frames between a machine and its agent: bytes in, frames out, no file and no socket.

    length (4 bytes) | kind (1 byte) | number (4 bytes) | body (length bytes)

The machine's side makes calls, and the agent answers each call under the number of the call. A process
has a number, too, chosen by the machine's side; its streams and its end are sent under that number.

    machine's side                        agent
                                      <-  READY    0
    CALL     7  {"do": "start", ...}  ->
                                      <-  REPLY    7  {"pid": 42}       (or FAILURE 7 {...})
    INPUT    3  bytes for its stdin   ->
    INPUT_END 3                       ->
                                      <-  OUTPUT   3  bytes of its stdout
                                      <-  STDERR   3  bytes
                                      <-  ENDED    3  {"status": 0, ...}

A program in the machine may send requests to the user's side (see `host_service`). The agent
chooses the number of each of these connections.

                                      <-  REQUEST       1  {"do": "line", ...}
                                      <-  REQUEST_DATA  1  further bytes
    ANSWER      1  bytes              ->
    ANSWER_END  1                     ->
                                      <-  REQUEST_END   1

Nothing may be sent to an agent before it is READY. Bodies of CALL, REPLY, FAILURE and ENDED are
JSON; DATA answers a call with raw bytes.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any, NamedTuple

HEADER = struct.Struct("<IBI")
MAX_BODY_BYTES = 1 << 30
CHUNK_BYTES = 1 << 16
"""The most bytes that are read from or written to a descriptor at once."""


class Kind(IntEnum):
    CALL = 1
    REPLY = 2
    FAILURE = 3
    DATA = 4
    INPUT = 5
    INPUT_END = 6
    OUTPUT = 7
    STDERR = 8
    ENDED = 9
    READY = 10
    REQUEST = 11
    REQUEST_DATA = 12
    REQUEST_END = 13
    ANSWER = 14
    ANSWER_END = 15


class Frame(NamedTuple):
    kind: Kind
    number: int
    body: bytes

    def json(self) -> Any:
        """Return the body's JSON value, whose shape the receiver knows."""
        return json.loads(self.body)


def encode(kind: Kind, number: int, body: bytes = b"") -> bytes:
    return HEADER.pack(len(body), kind, number) + body


def encode_json(kind: Kind, number: int, value: object) -> bytes:
    return encode(kind, number, json.dumps(value, separators=(",", ":")).encode())


class FrameReader:
    """Cuts a stream of bytes, which arrives in pieces of any size, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def has_begun(self) -> bool:
        """Whether the beginning of a frame has arrived, and its end has not."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order. ValueError if a length is impossible."""
        self._buffer += data
        frames = []
        start = 0
        while len(self._buffer) - start >= HEADER.size:
            length, kind, number = HEADER.unpack_from(self._buffer, start)
            if length > MAX_BODY_BYTES:
                raise ValueError(f"a frame of {length} bytes")
            end = start + HEADER.size + length
            if len(self._buffer) < end:
                break
            frames.append(Frame(Kind(kind), number, bytes(self._buffer[start + HEADER.size : end])))
            start = end
        del self._buffer[:start]
        return frames
