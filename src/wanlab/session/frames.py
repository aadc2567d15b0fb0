"""Frames of the channel as they stand in a session file.

    {"input": 7, "text": "ls\\n"}      its kind, with its number, and its body as text
    {"output": 7, "base64": "/w=="}    the body is not UTF-8
    {"call": 3, "body": {...}}         the body is JSON
    {"data": 4, "sha256": "...", "bytes": 4096}    measured data: only its digest

A replay acts on some calls itself, so `call_of` gives the types of their arguments. The machine's agent
checks the others.
"""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from wanlab.agent.messages import Frame, Kind
from wanlab.json_text import decode_json

from .lines import Count, Line, Number, PathText, digest

Size = Annotated[int, Meta(ge=0, le=2**16 - 1)]
"""Rows or columns of a terminal."""
JSON_KINDS = (Kind.CALL, Kind.REPLY, Kind.FAILURE, Kind.ENDED)
SENT_KINDS = (Kind.CALL, Kind.INPUT, Kind.INPUT_END, Kind.ANSWER, Kind.ANSWER_END)
KIND_NAMES = {kind.name.lower(): kind for kind in Kind}


class _Ended(msgspec.Struct, frozen=True):
    status: int


class RecordedFrame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frame as it was recorded."""

    kind: Kind
    number: Number
    body: Any = UNSET
    text: str = ""
    base64: str = ""
    sha256: str = ""
    bytes: Count = 0

    def __post_init__(self) -> None:
        if (self.kind in JSON_KINDS) is (self.body is UNSET) and not self.sha256:
            raise ValueError(f"{self} needs another kind of body")
        if self.kind is Kind.ENDED and not self.sha256:
            msgspec.convert(self.body, _Ended)  # raises an error if it is none

    def __str__(self) -> str:
        return f"{self.kind.name.lower()} {self.number}"

    @classmethod
    def of(cls, frame: Frame, *, keeps_body: bool = True) -> RecordedFrame:
        """Return a frame as it is recorded. Without `keeps_body`, the digest stands for the body."""
        kind, number, body = frame
        if not keeps_body:
            return cls(kind=kind, number=number, sha256=digest(body), bytes=len(body))
        if kind in JSON_KINDS:
            return cls(kind=kind, number=number, body=frame.json())
        try:
            return cls(kind=kind, number=number, text=body.decode())
        except UnicodeDecodeError:
            return cls(kind=kind, number=number, base64=base64.b64encode(body).decode())

    @classmethod
    def read(cls, line: Line) -> RecordedFrame:
        """Return the frame that a line describes. ValueError or ValidationError if it is none."""
        name, number = next(iter(line.items()), ("", None))
        if name not in KIND_NAMES:
            raise ValueError(f'"{name}" is not a kind of frame')
        rest = {key: value for key, value in line.items() if key != name}
        return msgspec.convert({**rest, "kind": KIND_NAMES[name], "number": number}, cls)

    @property
    def status(self) -> int | None:
        """The status that a process has ended with; None in another kind of frame."""
        return self.body["status"] if self.kind is Kind.ENDED and not self.sha256 else None

    def line(self) -> Line:
        """Return what a session file says of the frame."""
        fields: Line = msgspec.to_builtins(self)
        del fields["kind"]
        return {self.kind.name.lower(): fields.pop("number"), **fields}

    def frame(self) -> Frame:
        """Return the frame that was sent. ValueError if none can have been sent like this."""
        if self.sha256 or self.kind not in SENT_KINDS:
            raise ValueError(f"{self} cannot be sent again")
        if self.kind is Kind.CALL:
            frame = Frame(
                self.kind, self.number, json.dumps(self.body, separators=(",", ":")).encode()
            )
            call_of(frame)
            return frame
        body = base64.b64decode(self.base64, validate=True) if self.base64 else self.text.encode()
        return Frame(self.kind, self.number, body)


class SentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call. Those that concern a process or a watch have its number."""

    do: str
    number: Number = 0


class StartCall(SentCall, frozen=True, kw_only=True):
    """Start a process."""

    node: str
    arguments: Annotated[list[str], Meta(min_length=1)]
    folder: PathText
    environment: dict[str, str]
    stdin: bool
    terminal: tuple[Size, Size] | None
    merge_stderr: bool = False


class SignalCall(SentCall, frozen=True, kw_only=True):
    """Send a signal to a process."""

    signal_number: int


class ResizeCall(SentCall, frozen=True, kw_only=True):
    """Give a terminal another size."""

    rows: Size
    columns: Size


_CALL = msgspec.json.Decoder(SentCall)
_CALLS: dict[str, msgspec.json.Decoder[SentCall]] = {
    "start": msgspec.json.Decoder(StartCall),
    "signal": msgspec.json.Decoder(SignalCall),
    "resize": msgspec.json.Decoder(ResizeCall),
}


def call_of(frame: Frame) -> SentCall:
    """Return the call in a frame. InputError if an argument is missing or of a wrong type."""
    call = decode_json(frame.body, _CALL)
    return decode_json(frame.body, _CALLS[call.do]) if call.do in _CALLS else call
