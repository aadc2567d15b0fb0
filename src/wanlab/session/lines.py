"""A line of a session file: a JSON object with frames of the channel.

    {"at": 10000000000, "in": [{"input": 7, "text": "ls\\n"}], "sum": "5c0e6a81b0f2"}
    {"at": 10000021000, "out": {"output": 7, "text": "a.txt\\n"}, "sum": "93a2b5c8d1ee"}

`read_line` refuses a line that is not a `SessionLine`, so its readers find every field that they need,
with a value of the right type.

"sum" is a checksum of the line and of all lines before it. It detects damage and edits by hand, but is
not a signature.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from wanlab.json_text import decode_json

FORMAT = 1
SUM_DIGITS = 12
FIRST_SUM = "0" * SUM_DIGITS

Line = dict[str, Any]
"""A line as it is written."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Instant = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""In ns on the machine's clock."""
Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]
"""The number of a call, a process, a watch or a request."""
PathText = Annotated[str, Meta(pattern="^[^\0]*$", max_length=4095)]


class SessionHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a session was recorded with. Older files lack the fields that have a default."""

    format: Literal[1]
    id: str
    began: str
    wanlab: str
    machine: str
    clock: Literal["virtual", "real"]
    seed: Annotated[int, Meta(ge=0)] | None
    wire: Literal["mtu", "gso"]
    nic: dict[str, str]
    cpu: dict[str, object] = {}
    line_rate_bps: Count
    memory_bytes: Count
    sysctls: dict[str, str]
    kernel_release: str
    kernel: PathText = ""
    kernel_manifest: str
    architecture: str
    guest_folder: PathText
    visible_folders: tuple[PathText, ...]
    allow_connect: tuple[str, ...]
    python: PathText
    python_version: str | None = None
    topology: dict[str, object]
    files_left_out: str
    """Why the working folder's files are not in the session; "" if they are."""


class FolderLine(msgspec.Struct, frozen=True, kw_only=True):
    """A file, a folder or a link of the working folder, or the content of files."""

    file: PathText | UnsetType = UNSET
    folder: PathText | UnsetType = UNSET
    link: PathText | UnsetType = UNSET
    content: str | UnsetType = UNSET
    mode: Count | UnsetType = UNSET
    mtime_ns: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    to: PathText | UnsetType = UNSET
    gzip: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        for kind, names in _NEEDED.items():
            missing = [name for name in names if getattr(self, name) is UNSET]
            if missing and getattr(self, kind) is not UNSET:
                raise ValueError(f'the {kind} lacks "{missing[0]}"')


_NEEDED = {
    "file": ("mode", "mtime_ns", "sha256"),
    "folder": ("mode", "mtime_ns"),
    "link": ("to",),
    "content": ("gzip",),
}


class StartedProcess(msgspec.Struct, frozen=True):
    """A process that the user has started."""

    number: Number
    node: str


class SessionLine(FolderLine, frozen=True, kw_only=True):
    """A line of a session file, without its checksum."""

    session: SessionHeader | UnsetType = UNSET
    programs: dict[str, str] | UnsetType = UNSET
    at: Instant | UnsetType = UNSET
    sent: list[Line] | UnsetType = msgspec.field(default=UNSET, name="in")
    out: Line | UnsetType = UNSET
    bytes: Count | UnsetType = UNSET
    topology: dict[str, object] | UnsetType = UNSET
    began: UnsetType | None = UNSET
    step: Instant | UnsetType = UNSET
    process: StartedProcess | UnsetType = UNSET
    upload: list[FolderLine] | UnsetType = UNSET
    unrepeatable: Instant | str | UnsetType = UNSET
    end: UnsetType | None = UNSET

    def has(self, *names: str) -> bool:
        """Return whether the line has one of these fields."""
        return any(getattr(self, name) is not UNSET for name in names)


_DECODER = msgspec.json.Decoder(SessionLine)


def write_line(values: Line, sum_before: str) -> tuple[bytes, str]:
    """Return the line of these values with its checksum, and the checksum."""
    text = json.dumps(
        values, ensure_ascii=False, separators=(",", ":"), default=msgspec.to_builtins
    ).encode()
    checksum = _checksum(sum_before, text)
    return text[:-1] + b',"sum":"' + checksum.encode() + b'"}\n', checksum


def check_sum(line: bytes, sum_before: str) -> tuple[bytes, str]:
    """Return a line's JSON and its checksum. ValueError if the line has been changed."""
    text, separator, rest = line.rpartition(b',"sum":"')
    checksum = rest[:SUM_DIGITS].decode(errors="replace")
    if not separator or rest[SUM_DIGITS:] != b'"}\n':
        raise ValueError("it has no checksum")
    if _checksum(sum_before, text + b"}") != checksum:
        raise ValueError("its checksum is wrong")
    return text + b"}", checksum


def read_line(text: bytes) -> SessionLine:
    """Read a line's JSON. InputError if a field is missing or of a wrong type."""
    return decode_json(text, _DECODER)


def _checksum(sum_before: str, text: bytes) -> str:
    return hashlib.sha256(sum_before.encode() + text).hexdigest()[:SUM_DIGITS]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
