"""Reads a session file.

If a file was cut short, because wanlab was killed, it is read up to its last whole line. If a file was
edited, it is refused, with the number of the first line whose checksum is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from wanlab.agent.messages import Frame, Kind, encode
from wanlab.errors import InputError, WanlabError
from wanlab.input_file import read_input
from wanlab.json_text import decode_json, problem_of

from .frames import RecordedFrame, StartCall, call_of
from .lines import FIRST_SUM, FORMAT, FolderLine, SessionHeader, SessionLine, check_sum, read_line

FILE_KINDS = ("file", "folder", "link", "content")
EVENTS = ("topology", "began", "step", "process", "upload", "unrepeatable", "end")
COMPUTED = "a process computed without system calls, or was ended because it did"
MAX_BYTES = 256 << 20


class SessionError(WanlabError):
    """A session file cannot be read, or this computer cannot replay it."""


class _Format(msgspec.Struct):
    format: object = None
    wanlab: object = None


class _FirstLine(msgspec.Struct):
    session: _Format


_FIRST_LINE = msgspec.json.Decoder(_FirstLine)


@dataclass(frozen=True)
class SentPiece:
    """Bytes that were sent to the agent at once, and the frames that end in them."""

    at_ns: int
    data: bytes
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class ReceivedFrame:
    """A frame from the agent; of some frames only the digest of the body was recorded."""

    at_ns: int
    frame: RecordedFrame


@dataclass(frozen=True)
class Event:
    """An event that is not a frame.

    `what` is "topology" (`value`: the topology as plain data), "began" (the network has started),
    "step" (an instant in ns, up to which time was let pass), "process" (a StartedProcess), "upload" (the
    FolderLines that were written), "unrepeatable" (an instant in ns, or the reason) or "end".
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
    header: SessionHeader
    file_lines: Sequence[FolderLine] = field(repr=False)
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
        return not self.header.files_left_out

    def user_processes(self) -> set[int]:
        """Return the numbers of the processes that the user has started."""
        return {
            moment.value.number
            for moment in self.moments
            if isinstance(moment, Event) and moment.what == "process"
        }

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt in the machine has requested lines."""
        return any(
            isinstance(moment, ReceivedFrame)
            and moment.frame.kind is Kind.REQUEST
            and '"line"' in moment.frame.text
            for moment in self.moments
        )

    def unrepeatable(self) -> list[str]:
        """Return a warning if a replay may differ from the recording; otherwise an empty list."""
        return [
            f"not repeatable: {moment.value if isinstance(moment.value, str) else COMPUTED}"
            for moment in self.moments
            if isinstance(moment, Event) and moment.what == "unrepeatable"
        ][:1]

    def start_calls(self) -> Iterator[StartCall]:
        """Yield all calls that start a process."""
        for moment in self.moments:
            if isinstance(moment, SentPiece):
                for frame in moment.frames:
                    if frame.kind is Kind.CALL and isinstance(call := call_of(frame), StartCall):
                        yield call

    @property
    def identity(self) -> SessionIdentity:
        return SessionIdentity(self.header.id, self.inputs_digest())

    def inputs_digest(self) -> str:
        """Return a SHA-256 over all inputs and their instants, without the path of Python."""
        digest = hashlib.sha256()
        for moment in self.moments:
            if isinstance(moment, SentPiece):
                for frame in moment.frames:
                    body = frame.body.replace(self.header.python.encode(), b"python")
                    digest.update(f"{moment.at_ns} {frame.kind} {len(body)} ".encode() + body)
        return digest.hexdigest()


def read(path: str | Path) -> RecordedSession:
    """Read a session file. SessionError if it cannot be read."""
    try:
        data = read_input(Path(path), "the session", max_bytes=MAX_BYTES)
    except WanlabError as error:
        raise SessionError(error.what, error.hint) from None
    return parse(data, str(path))


def parse(data: bytes, source: str) -> RecordedSession:
    """Parse the content of a session file, which errors call `source`. SessionError if it is invalid."""
    texts = data.splitlines(keepends=True)
    is_cut = bool(texts) and not texts[-1].endswith(b"\n")
    if is_cut:
        texts.pop()
    if not texts:
        raise SessionError(
            f"{source}: the session file has no complete line",
            "it was cut short, or it is another kind of file",
        )
    _check_format(texts[0], source)
    reader = _Reader()
    checksum = FIRST_SUM
    for number, text in enumerate(texts, start=1):
        try:
            text, checksum = check_sum(text, checksum)
        except ValueError as error:
            raise SessionError(
                f"{source}: line {number} has been changed: {error}",
                "a session file cannot be edited",
            ) from None
        try:
            reader.read(text)
        except (InputError, msgspec.ValidationError, ValueError) as error:
            problem = problem_of(error) if isinstance(error, msgspec.ValidationError) else error
            raise SessionError(
                f"{source}: line {number} is not a line of a session of format {FORMAT}: {problem}"
            ) from None
    return reader.session(source, is_cut=is_cut)


def _check_format(line: bytes, source: str) -> None:
    """SessionError if the first line shows that this is not a session file, or a newer one."""
    try:
        header = decode_json(line, _FIRST_LINE).session
    except WanlabError:
        raise SessionError(
            f"{source} is not a session file", "they are written by --session FILE"
        ) from None
    if header.format != FORMAT:
        raise SessionError(
            f"{source}: the session has format {header.format}, and this wanlab reads format {FORMAT}",
            f"it was recorded by wanlab {header.wanlab}; use that version",
        )


class _Reader:
    """Reads the lines of a session file, in order."""

    def __init__(self) -> None:
        self._header: SessionHeader | None = None
        self._file_lines: list[FolderLine] = []
        self._programs: dict[str, str] = {}
        self._moments: list[Moment] = []
        self._cut = _CutFrames()

    def read(self, text: bytes) -> None:
        """Read the JSON of the next line. InputError, ValidationError or ValueError if it is invalid."""
        line = read_line(text)
        if line.session is not UNSET and self._header is None:
            self._header = line.session
        elif line.programs is not UNSET:
            self._programs = line.programs
        elif line.has(*FILE_KINDS):
            self._file_lines.append(line)
        elif line.at is not UNSET:
            self._moments += self._moments_of(line, line.at)

    def _moments_of(self, line: SessionLine, at_ns: int) -> Iterator[Moment]:
        if line.out is not UNSET:
            yield ReceivedFrame(at_ns, RecordedFrame.read(line.out))
        elif line.sent is not UNSET:
            frames = tuple(RecordedFrame.read(frame).frame() for frame in line.sent)
            if line.bytes is not UNSET:
                yield from self._cut.add(at_ns, line.bytes, frames)
            else:
                yield SentPiece(at_ns, b"".join(encode(*frame) for frame in frames), frames)
        else:
            for what in EVENTS:
                if line.has(what):
                    yield Event(at_ns, what, getattr(line, what))

    def session(self, source: str, *, is_cut: bool) -> RecordedSession:
        """Return what has been read."""
        moments = sorted(self._moments, key=lambda moment: moment.at_ns)
        has_end = bool(moments) and isinstance(moments[-1], Event) and moments[-1].what == "end"
        assert self._header is not None, "the first line has one"
        return RecordedSession(
            source=source,
            header=self._header,
            file_lines=self._file_lines,
            programs=self._programs,
            moments=moments,
            is_cut=is_cut or not has_end,
        )


class _CutFrames:
    """Joins frames that were sent in several pieces, and cuts them at the same bytes again."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, int, tuple[Frame, ...]]] = []
        self._data = bytearray()
        self._sent_bytes = 0

    def add(self, at_ns: int, length: int, frames: tuple[Frame, ...]) -> list[SentPiece]:
        """Add a piece. Return all pieces when they are whole frames, otherwise nothing."""
        self._pieces.append((at_ns, length, frames))
        self._data += b"".join(encode(*frame) for frame in frames)
        self._sent_bytes += length
        if self._sent_bytes > len(self._data):
            return []
        if self._sent_bytes < len(self._data):
            raise ValueError("its frames are longer than the bytes that were sent")
        sent, start = [], 0
        for piece_at_ns, piece_bytes, piece_frames in self._pieces:
            end = start + piece_bytes
            sent.append(SentPiece(piece_at_ns, bytes(self._data[start:end]), piece_frames))
            start = end
        self._pieces.clear()
        self._data.clear()
        self._sent_bytes = 0
        return sent
