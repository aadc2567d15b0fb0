"""A line of a session file: a JSON object with frames of the channel.

    {"at": 10000000000, "in": [{"input": 7, "text": "ls\\n"}], "sum": "5c0e6a81b0f2"}
    {"at": 10000021000, "out": {"output": 7, "text": "a.txt\\n"}, "sum": "93a2b5c8d1ee"}

A frame's first key is its kind, with its number. Its body follows as JSON ("body"), as text, or in
base64. For measured data, only the SHA-256 and the length are stored ("sha256", "bytes").

"sum" is a checksum of the line and of all lines before it. It detects damage and edits by hand, but is
not a signature.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from wanlab.agent.messages import Frame, Kind

FORMAT = 1
SUM_DIGITS = 12
FIRST_SUM = "0" * SUM_DIGITS
JSON_KINDS = (Kind.CALL, Kind.REPLY, Kind.FAILURE, Kind.ENDED)
KIND_NAMES = {kind.name.lower(): kind for kind in Kind}

Line = dict[str, Any]


def write_line(values: Line, sum_before: str) -> tuple[bytes, str]:
    """Return the line of these values with its checksum, and the checksum."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    checksum = _checksum(sum_before, text)
    return text[:-1] + b',"sum":"' + checksum.encode() + b'"}\n', checksum


def read_line(line: bytes, sum_before: str) -> tuple[Line, str]:
    """Return a line's values and its checksum. ValueError if it is malformed or has been changed."""
    text, separator, rest = line.rpartition(b',"sum":"')
    checksum = rest[:SUM_DIGITS].decode(errors="replace")
    if not separator or rest[SUM_DIGITS:] != b'"}\n':
        raise ValueError("it has no checksum")
    if _checksum(sum_before, text + b"}") != checksum:
        raise ValueError("its checksum is wrong")
    values: Line = json.loads(text + b"}")
    return values, checksum


def _checksum(sum_before: str, text: bytes) -> str:
    return hashlib.sha256(sum_before.encode() + text).hexdigest()[:SUM_DIGITS]


def frame_to_plain(frame: Frame, *, keeps_body: bool = True) -> Line:
    """Return a frame as JSON. Without `keeps_body` the digest of its body stands for the body."""
    plain: Line = {frame.kind.name.lower(): frame.number}
    if not keeps_body:
        return {**plain, "sha256": digest(frame.body), "bytes": len(frame.body)}
    if frame.kind in JSON_KINDS:
        return {**plain, "body": frame.json()}
    return {**plain, **bytes_to_plain(frame.body)} if frame.body else plain


def frame_from_plain(plain: Line) -> Frame:
    """Return the frame. KeyError, ValueError or TypeError if it is malformed or incomplete."""
    name, number = next(iter(plain.items()))
    kind = KIND_NAMES[name]
    if "sha256" in plain:
        raise ValueError(f"the body of {name} {number} was not kept")
    if kind in JSON_KINDS:
        body = json.dumps(plain["body"], separators=(",", ":")).encode()
    else:
        body = bytes_from_plain(plain)
    return Frame(kind, int(number), body)


def bytes_to_plain(data: bytes) -> Line:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def bytes_from_plain(plain: Line) -> bytes:
    if "base64" in plain:
        return base64.b64decode(plain["base64"], validate=True)
    return str(plain.get("text", "")).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
