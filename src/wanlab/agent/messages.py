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
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

HEADER = struct.Struct("<IBI")
CHUNK_BYTES = 1 << 16
"""The most bytes that are read from or written to a descriptor at once."""
MAX_BODY_BYTES = 1 << 28
"""Of calls, replies and input. A network of thousands of nodes is one call."""
MAX_READINGS_BYTES = 1 << 26
"""Of output: a program's comes in small pieces, but that of a watch in large ones."""
MAX_REQUEST_BYTES = 1 << 20


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


MAX_BYTES = {
    Kind.CALL: MAX_BODY_BYTES,
    Kind.REPLY: MAX_BODY_BYTES,
    Kind.FAILURE: MAX_REQUEST_BYTES,
    Kind.DATA: MAX_BODY_BYTES,
    Kind.INPUT: MAX_BODY_BYTES,
    Kind.INPUT_END: 0,
    Kind.OUTPUT: MAX_READINGS_BYTES,
    Kind.STDERR: CHUNK_BYTES,
    Kind.ENDED: CHUNK_BYTES,
    Kind.READY: 0,
    Kind.REQUEST: MAX_REQUEST_BYTES,
    Kind.REQUEST_DATA: MAX_REQUEST_BYTES,
    Kind.REQUEST_END: 0,
    Kind.ANSWER: MAX_BODY_BYTES,
    Kind.ANSWER_END: 0,
}
"""The longest body of each kind of frame."""


class Frame(NamedTuple):
    kind: Kind
    number: int
    body: bytes

    def json(self) -> Any:
        """Return the body's JSON value, whose shape the receiver knows. ValueError if it is not JSON."""
        return decode_json(self.body)


def decode_json(data: bytes) -> Any:
    """Return a JSON value. ValueError if it is not JSON, or nested more deeply than Python can read."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def encode(kind: Kind, number: int, body: bytes = b"") -> bytes:
    return HEADER.pack(len(body), kind, number) + body


def encode_json(kind: Kind, number: int, value: object) -> bytes:
    return encode(kind, number, json.dumps(value, separators=(",", ":")).encode())


_KINDS = {int(kind): kind for kind in Kind}


class FrameReader:
    """Cuts a stream of bytes, which arrives in pieces of any size, into frames.

    `check` is called with the kind and the number of a frame as soon as its header has arrived, and may
    raise ValueError: then its body, which may be long, is not collected.
    """

    def __init__(self, check: Callable[[Kind, int], None] = lambda kind, number: None) -> None:
        self._check = check
        self._buffer = bytearray()

    @property
    def has_begun(self) -> bool:
        """Whether the beginning of a frame has arrived, and its end has not."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order.

        ValueError if a header is impossible. The frames before it in `data` are lost.
        """
        self._buffer += data
        frames = []
        start = 0
        while len(self._buffer) - start >= HEADER.size:
            length, code, number = HEADER.unpack_from(self._buffer, start)
            kind = _KINDS.get(code)
            if kind is None:
                raise ValueError(f"a frame of an unknown kind, {code}")
            if length > MAX_BYTES[kind]:
                raise ValueError(f"a frame of kind {kind.name} with {length} bytes")
            self._check(kind, number)
            end = start + HEADER.size + length
            if len(self._buffer) < end:
                break
            frames.append(Frame(kind, number, bytes(self._buffer[start + HEADER.size : end])))
            start = end
        del self._buffer[:start]
        return frames
