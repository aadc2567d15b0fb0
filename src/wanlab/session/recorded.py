"""Reads a session file.

If a file was cut short, because wanlab was killed, it is read up to its last whole line. If a file was
edited, it is refused, with the number of the first line whose checksum is wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wanlab.agent.messages import Frame, Kind, encode
from wanlab.errors import WanlabError

from .lines import FIRST_SUM, FORMAT, Line, frame_from_plain, read_line

Header = dict[str, Any]
FILE_KINDS = ("file", "folder", "link", "content")
COMPUTED = "a process computed without system calls, or was ended because it did"


class SessionError(WanlabError):
    """A session file cannot be read, or this computer cannot replay it."""


@dataclass(frozen=True)
class SentPiece:
    """Bytes that were sent to the agent at once, and the frames that end in them."""

    at_ns: int
    data: bytes
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class ReceivedFrame:
    """A frame from the agent, as JSON; for some frames only the digest of the body was recorded."""

    at_ns: int
    plain: Line


@dataclass(frozen=True)
class Event:
    """An event that is not a frame.

    `what` is "topology" (`value`: the topology as plain data), "began" (the network has started),
    "step" (an instant in ns, up to which time was let pass), "process" (its number and node),
    "upload" (the lines that were written), "unrepeatable" (an instant in ns, or the reason) or
    "end".
    """

    at_ns: int
    what: str
    value: Any


Moment = SentPiece | ReceivedFrame | Event


@dataclass(frozen=True)
class SessionIdentity:
    """Identifies a session. Copies of a file have the same `id`; sessions with the same input at the
    same instants have the same `inputs`."""

    id: str
    inputs: str


@dataclass(frozen=True)
class RecordedSession:
    """A session file's content."""

    source: str
    header: Header
    file_lines: Sequence[Line] = field(repr=False)
    programs: dict[str, str]
    """Versions of programs, by their names."""
    moments: Sequence[Moment] = field(repr=False)
    is_cut: bool
    """Whether the last line is missing, because the recording program was killed."""

    @property
    def epoch_ns(self) -> int:
        """Time 0 of the network's clock, on the machine's clock. SessionError if the network did not
        start."""
        for moment in self.moments:
            if isinstance(moment, Event) and moment.what == "began":
                return moment.at_ns
        hint = "the session file was cut short" if self.is_cut else ""
        raise SessionError(f"{self.source}: the network of this session did not start", hint)

    @property
    def end_ns(self) -> int:
        """The last instant, on the machine's clock."""
        return self.moments[-1].at_ns if self.moments else 0

    @property
    def has_files(self) -> bool:
        """Whether the working folder's files are in it."""
        return not self.header["files_left_out"]

    def user_processes(self) -> set[int]:
        """Return the numbers of the processes that the user has started."""
        return {
            moment.value["number"]
            for moment in self.moments
            if isinstance(moment, Event) and moment.what == "process"
        }

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt in the machine has requested lines."""
        return any(
            isinstance(moment, ReceivedFrame)
            and "request" in moment.plain
            and '"line"' in str(moment.plain.get("text", ""))
            for moment in self.moments
        )

    def unrepeatable(self) -> list[str]:
        """Return a warning if a replay may differ from the recording; otherwise an empty list."""
        return [
            f"not repeatable: {moment.value if isinstance(moment.value, str) else COMPUTED}"
            for moment in self.moments
            if isinstance(moment, Event) and moment.what == "unrepeatable"
        ][:1]

    def calls(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the arguments of all calls of this name."""
        for moment in self.moments:
            if isinstance(moment, SentPiece):
                for frame in moment.frames:
                    if frame.kind is Kind.CALL and (body := frame.json())["do"] == name:
                        yield body

    @property
    def identity(self) -> SessionIdentity:
        return SessionIdentity(str(self.header["id"]), self.inputs_digest())

    def inputs_digest(self) -> str:
        """Return a SHA-256 over all inputs and their instants, without the path of Python."""
        digest = hashlib.sha256()
        for moment in self.moments:
            if isinstance(moment, SentPiece):
                for frame in moment.frames:
                    body = frame.body.replace(self.header["python"].encode(), b"python")
                    digest.update(f"{moment.at_ns} {frame.kind} {len(body)} ".encode() + body)
        return digest.hexdigest()


def read(path: str | Path) -> RecordedSession:
    """Read a session file. SessionError if it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from None
    return parse(data, str(path))


def parse(data: bytes, source: str) -> RecordedSession:
    """Parse the content of a session file, which errors call `source`. SessionError if it is invalid."""
    lines = data.splitlines(keepends=True)
    is_cut = bool(lines) and not lines[-1].endswith(b"\n")
    if is_cut:
        lines.pop()
    if not lines:
        raise SessionError(
            f"{source}: the session file has no complete line",
            "it was cut short, or it is another kind of file",
        )
    values = []
    checksum = FIRST_SUM
    for number, line in enumerate(lines, start=1):
        try:
            line_values, checksum = read_line(line, checksum)
        except ValueError as error:
            if number == 1:
                _explain_first_line(line, source)
            raise SessionError(
                f"{source}: line {number} has been changed: {error}",
                "a session file cannot be edited",
            ) from None
        values.append(line_values)
    header = _header(values[0], source)
    try:
        moments = sorted(_moments(values[1:]), key=lambda moment: moment.at_ns)
    except (KeyError, ValueError, TypeError, StopIteration, AttributeError) as error:
        raise SessionError(f"{source}: not a session file of format {FORMAT}: {error}") from None
    programs = next((dict(line["programs"]) for line in values if "programs" in line), {})
    has_end = bool(moments) and isinstance(moments[-1], Event) and moments[-1].what == "end"
    return RecordedSession(
        source=source,
        header=header,
        file_lines=[line for line in values if any(kind in line for kind in FILE_KINDS)],
        programs=programs,
        moments=moments,
        is_cut=is_cut or not has_end,
    )


def _explain_first_line(line: bytes, source: str) -> None:
    """Raise SessionError if the first line shows that this is not a session file, or a newer one."""
    try:
        values = json.loads(line)
    except ValueError:
        values = None
    if not isinstance(values, dict) or "session" not in values:
        raise SessionError(
            f"{source} is not a session file", "they are written by --session FILE"
        ) from None
    _header(values, source)


def _header(values: Line, source: str) -> Header:
    if "session" not in values or not isinstance(values["session"], dict):
        raise SessionError(f"{source} is not a session file", "they are written by --session FILE")
    header: Header = values["session"]
    if header.get("format") != FORMAT:
        raise SessionError(
            f"{source}: the session has format {header.get('format')}, and this wanlab reads format "
            f"{FORMAT}",
            f"it was recorded by wanlab {header.get('wanlab')}; use that version",
        )
    return header


def _moments(lines: Sequence[Line]) -> Iterator[Moment]:
    cut = _CutFrames()
    for line in lines:
        if "at" not in line:
            continue
        at_ns = int(line["at"])
        if "out" in line:
            yield ReceivedFrame(at_ns, line["out"])
        elif "in" in line:
            frames = tuple(frame_from_plain(plain) for plain in line["in"])
            if "bytes" in line:
                yield from cut.add(at_ns, int(line["bytes"]), frames)
            else:
                yield SentPiece(at_ns, b"".join(encode(*frame) for frame in frames), frames)
        else:
            what = next(name for name in line if name != "at")
            yield Event(at_ns, what, line[what])


class _CutFrames:
    """Joins frames that were sent in several pieces, and cuts them at the same bytes again."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, int, tuple[Frame, ...]]] = []

    def add(self, at_ns: int, length: int, frames: tuple[Frame, ...]) -> list[SentPiece]:
        """Add a piece. Return all pieces when they are whole frames, otherwise nothing."""
        self._pieces.append((at_ns, length, frames))
        data = b"".join(encode(*frame) for _, _, frames in self._pieces for frame in frames)
        if sum(length for _, length, _ in self._pieces) > len(data):
            return []
        sent = []
        for piece_at_ns, piece_bytes, piece_frames in self._pieces:
            sent.append(SentPiece(piece_at_ns, data[:piece_bytes], piece_frames))
            data = data[piece_bytes:]
        if data:
            raise ValueError("its frames are longer than the bytes that were sent")
        self._pieces.clear()
        return sent
