"""Messages of the server to browsers: replies and pushes, and what is read over HTTP.

    browser -> server   WS /api/live   {"id": 7, "do": "edit", ...}       one of commands.COMMANDS
    server -> browser                  {"reply": 7, "ok": {...}}          CommandReply, or
                                       {"reply": 7, "error": {...}}       CommandRefusal
                                       {"push": "document", ...}          one of PUSHES, to everybody

`python -m wanlab.web.typescript` writes ui/src/protocol.ts from this module and those beside it.
Times are in nanoseconds of the network's clock.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .branches import (
    BranchesPush,
    BranchInfo,
    BranchNumbers,
    BranchPlayback,
    BranchReplay,
    RecordedTerminal,
    RepeatedBranch,
    ReplayCost,
    TranscriptChunk,
)
from .commands import SeriesKind, WatchedSeries
from .lessons import LessonsPush
from .model import (
    ClockKind,
    Document,
    DocumentPreferences,
    DrawnFrame,
    DrawnLabel,
    DrawnLink,
    DrawnNode,
    Elements,
    End,
    Options,
    Pace,
)
from .push import Push
from .settings import NodeSetting, SettingsPush
from .terminals import KeysAck, OutputAck, OutputHistory, TerminalResize

Phase = Literal["stopped", "starting", "running", "stopping", "failed"]
Severity = Literal["error", "warning"]
Fix = Literal["", "address"]


# -- replies ----------------------------------------------------------------------------------------


class SavedFile(msgspec.Struct, frozen=True):
    """The reply to "save"."""

    path: str


class OpenedTerminal(msgspec.Struct, frozen=True):
    """The reply to "terminal"."""

    terminal: str


class CaptureFile(msgspec.Struct, frozen=True):
    """The reply to "capture"."""

    path: str


class Location(msgspec.Struct, frozen=True):
    """Where something is wrong: the id of an element ("" for the document as a whole) and its field.

    Fields are named as in the document: "name", "options.ip", "a_options.rate",
    "preferences.ip_base".
    """

    id: str = ""
    field: str = ""


class DrawingProblem(msgspec.Struct, frozen=True):
    """A problem of the document: what, where, and what to do about it."""

    what: str
    hint: str = ""
    place: Location = Location()
    severity: Severity = "error"
    fix: Fix = ""
    """The command that removes the problem."""


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a command was not carried out.

    `code` is set where the browser can offer a way out: "not saved" (ask, then send the command
    again with `discard`), "exists" (ask, then send it again with `overwrite`).
    """

    what: str
    hint: str = ""
    place: Location | None = None
    code: str = ""


class CommandReply(msgspec.Struct, frozen=True):
    """The reply to a command that was carried out; `reply` is its id."""

    reply: int
    ok: object = None


class CommandRefusal(msgspec.Struct, frozen=True):
    """The reply to a command that was not carried out."""

    reply: int
    error: ErrorBody


# -- pushes -----------------------------------------------------------------------------------------


class DocumentChanges(msgspec.Struct, frozen=True):
    """How one revision of the document differs from the one before."""

    put: Elements = Elements()
    drop: tuple[str, ...] = ()
    preferences: DocumentPreferences | None = None


class DocumentPush(Push, frozen=True, tag="document"):
    """The document: either all of it, or the changes since the revision before."""

    revision: int
    document: Document | None = None
    changes: DocumentChanges | None = None
    by: str = ""
    """The browser that made the edit."""
    label: str = ""
    undo: str | None = None
    """The name of the edit that undo would undo; None if there is none."""
    redo: str | None = None


class ProblemsPush(Push, frozen=True, tag="problems"):
    """The problems of the document."""

    problems: tuple[DrawingProblem, ...] = ()


class FilePush(Push, frozen=True, tag="file"):
    """The file of the document."""

    path: str | None = None
    """In the working folder; None if it has never been saved."""
    name: str = ""
    is_saved: bool = True


class DraftPush(Push, frozen=True, tag="draft"):
    """Unsaved edits of an earlier server."""

    name: str | None = None
    """None if there is no draft."""
    nodes: int = 0
    saved_at_s: float = 0.0
    """Seconds since 1970."""


class LivePort(msgspec.Struct, frozen=True):
    """A port of the running network."""

    link: str
    end: End
    node: str
    name: str
    mac: str = ""
    addresses: tuple[str, ...] = ()
    """The kernel's current addresses, with their prefix lengths."""
    is_up: bool = True
    tc: Options | None = None
    """The conditions of leaving packets, if `tc` has changed them and the drawing has others."""
    lost: str = ""
    """Why its queues have lost packets, and what to change; "" if they have lost none."""


class PortsPush(Push, frozen=True, tag="ports"):
    """The ports of the document, with the names and addresses that they will get.

    While the document has problems, these are the ports of its last sound revision.
    """

    ports: tuple[LivePort, ...] = ()


class RunPush(Push, frozen=True, tag="run"):
    """The running network."""

    phase: Phase = "stopped"
    error: ErrorBody | None = None
    progress: str = ""
    ports: tuple[LivePort, ...] = ()
    links_down: tuple[str, ...] = ()
    is_stale: bool = False
    """Whether the document has changes that the running network does not have."""
    warnings: tuple[str, ...] = ()
    """What limits measurements; of a network that was stopped, where it lost packets."""


class ClockPush(Push, frozen=True, tag="clock"):
    """The network's clock."""

    now_ns: int = 0
    speed: float = 0.0
    """Network seconds per real second, over the last second or so."""
    pace: Pace = "real"
    wanted_speed: float = 1.0
    """The speed that the pace "real" is to have; less than 1 is slow motion."""
    runs_always: bool = False
    """Whether time passes also while no command runs."""
    is_paused: bool = False
    is_moving: bool = False
    clock: ClockKind = "virtual"
    stalled: str = ""
    """Why time may have stopped although it should pass; empty if it passes."""


class TerminalInfo(msgspec.Struct, frozen=True):
    """A terminal. `status` is the exit status of its program; negative, the signal that ended it."""

    id: str
    node: str
    title: str
    status: int | None = None
    is_busy: bool = False
    at_mininet: bool = False
    """Whether it shows Mininet's prompt, or a command that was typed there."""


class TerminalsPush(Push, frozen=True, tag="terminals"):
    """The terminals that are open."""

    terminals: tuple[TerminalInfo, ...] = ()


class SampleColumn(msgspec.Struct, frozen=True):
    """Samples of one curve: `values[i]` at `times_s[i]`, null where there is no value."""

    kind: SeriesKind
    port: str
    flow: str
    """ "10.0.0.1:5001 > 10.0.0.2:41234" for cwnd and rtt."""
    unit: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]


class SamplesPush(Push, frozen=True, tag="samples"):
    """The samples taken since the last push."""

    columns: tuple[SampleColumn, ...] = ()


class TracedPacket(msgspec.Struct, frozen=True, kw_only=True):
    """A packet on its way over a link, from the port at `end`. Times are on the network's clock."""

    number: int
    link: str
    end: End
    bytes: int
    queued_ns: int
    """The instant at which it reached the queue of the port."""
    sent_ns: int | None = None
    received_ns: int | None = None
    """The instant at which it reached the port at the other end."""
    dropped_ns: int | None = None
    reason: str = ""
    """Why the kernel has dropped it."""
    flow: str = ""
    """The flow, which is the same in both directions; "" if it is unknown."""
    protocol: str = ""
    info: str = ""
    is_data: bool = False
    """Whether it carries data; false for a pure acknowledgement."""


class PacketsPush(Push, frozen=True, tag="packets"):
    """Packets that have moved since the last push; sent in slow motion and while time is paused."""

    packets: tuple[TracedPacket, ...] = ()
    left_out: int = 0
    """The number of further packets that have moved."""
    gone: tuple[int, ...] = ()
    """The numbers of packets that have ended, nobody knows where."""
    is_over: bool = False
    """Whether packets are not followed any more, so that none can be drawn."""


class BreakpointsPush(Push, frozen=True, tag="breakpoints"):
    """The breakpoints, which pause virtual time."""

    breakpoints: tuple[str, ...] = ()
    reached: str = ""
    """The last breakpoint at which time was paused, and the instant."""


class EventStep(msgspec.Struct, frozen=True):
    """The reply to "step_to": the event and its instant."""

    what: str
    now_ns: int


class RecordInfo(msgspec.Struct, frozen=True):
    """A record in the working folder."""

    name: str
    made_at_s: float
    seconds: float
    """The duration in the network's time."""
    topology: str = ""


class RecordsPush(Push, frozen=True, tag="records"):
    """The records, and whether one is being made."""

    records: tuple[RecordInfo, ...] = ()
    recording: str | None = None
    """The name of the record that is being made."""


class CapturesPush(Push, frozen=True, tag="captures"):
    """The captures that are being written."""

    ports: tuple[str, ...] = ()
    """The ports whose packets are being captured."""


class FilesPush(Push, frozen=True, tag="files"):
    """Files of the working folder that are new or have changed."""

    paths: tuple[str, ...] = ()


class ShowPush(Push, frozen=True, tag="show"):
    """A program has asked to show a file of the working folder, with `xdg-open`."""

    path: str


class MessagePush(Push, frozen=True, tag="message"):
    """A message for the user."""

    level: Literal["info", "warning", "error"]
    what: str
    hint: str = ""


class StatePush(Push, frozen=True, tag="state"):
    """Everything at once: the first push on a connection, and the reply to GET /api/state."""

    client: str
    """The name of this browser in `by`."""
    version: str
    folder: str
    document: DocumentPush
    problems: ProblemsPush
    ports: PortsPush
    file: FilePush
    draft: DraftPush
    run: RunPush
    clock: ClockPush
    terminals: TerminalsPush
    records: RecordsPush
    captures: CapturesPush
    breakpoints: BreakpointsPush
    settings: SettingsPush
    branches: BranchesPush
    lessons: LessonsPush


PUSHES = (
    StatePush,
    DocumentPush,
    ProblemsPush,
    PortsPush,
    FilePush,
    DraftPush,
    RunPush,
    ClockPush,
    TerminalsPush,
    SamplesPush,
    RecordsPush,
    CapturesPush,
    PacketsPush,
    BreakpointsPush,
    SettingsPush,
    BranchesPush,
    LessonsPush,
    FilesPush,
    ShowPush,
    MessagePush,
)


# -- files and terminals ----------------------------------------------------------------------------


class FileInfo(msgspec.Struct, frozen=True):
    """A file or folder of the working folder."""

    name: str
    path: str
    """In the working folder."""
    is_folder: bool
    bytes: int
    changed_at_s: float


class Folder(msgspec.Struct, frozen=True):
    """GET /api/files?under=FOLDER: the entries of a folder."""

    path: str
    files: tuple[FileInfo, ...]


class ListedPacket(msgspec.Struct, frozen=True, kw_only=True):
    """A packet of a capture file. `time_ns` is on the network's clock."""

    number: int
    time_ns: int
    port: str
    direction: str
    """ "in" or "out"; "" if the file does not tell."""
    bytes: int
    source: str
    destination: str
    protocol: str
    info: str
    flow: str


class PacketPage(msgspec.Struct, frozen=True):
    """GET /api/packets/FILE?after=NUMBER&words=WORDS&flow=FLOW: packets of a capture file."""

    packets: tuple[ListedPacket, ...]
    scanned: int
    """The number of the last packet that was examined."""
    is_cut: bool = False
    """Whether there are more packets behind it."""
    total: int = 0
    """The number of packets in the file."""


class PacketDetails(msgspec.Struct, frozen=True):
    """GET /api/packets/FILE?number=NUMBER: the bytes of a packet that were captured."""

    number: int
    bytes: int
    data: str
    """The bytes in hexadecimal."""


SegmentKind = Literal["new", "again", "late"]
SegmentFate = Literal["", "arrived", "lost", "resent"]


class SentSegments(msgspec.Struct, frozen=True, kw_only=True):
    """The segments of a flow, as columns. Bytes count from the first one; `ends` are exclusive.

    kinds   "again": some bytes were sent before; "late": after newer ones, but not seen before
    fates   "lost" or "arrived" if the file has both ends; otherwise "resent" if it was sent again
    """

    numbers: tuple[int, ...]
    times_ns: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    kinds: tuple[SegmentKind, ...]
    fates: tuple[SegmentFate, ...]


class Acknowledgements(msgspec.Struct, frozen=True, kw_only=True):
    """The acknowledgements of a flow, as columns. `window_ends` are null without the handshake."""

    numbers: tuple[int, ...]
    times_ns: tuple[int, ...]
    acks: tuple[int, ...]
    window_ends: tuple[int | None, ...]
    sacks: tuple[tuple[tuple[int, int], ...], ...]
    duplicates: tuple[bool, ...]


class TimeSequencePage(msgspec.Struct, frozen=True, kw_only=True):
    """GET /api/packets/FILE?sequence=FLOW: what a flow sent, and what was acknowledged.

    flow    "10.0.0.1:40000 > 10.0.0.2:5201"; that with the most bytes if none was asked for
    flows   all flows of the file that carry data, most bytes first
    """

    flow: str
    flows: tuple[str, ...]
    sent: SentSegments
    answers: Acknowledgements
    is_cut: bool = False
    """Whether there are more segments."""


class ComparedColumn(msgspec.Struct, frozen=True):
    """One curve of one record."""

    record: str
    title: str
    unit: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]


class Comparison(msgspec.Struct, frozen=True):
    """The reply to "compare": curves by the title of their panel."""

    panels: dict[str, tuple[ComparedColumn, ...]]


REST = (
    SavedFile,
    OpenedTerminal,
    CaptureFile,
    Location,
    DrawingProblem,
    ErrorBody,
    CommandReply,
    CommandRefusal,
    Elements,
    Document,
    DrawnNode,
    DrawnLink,
    DrawnLabel,
    DrawnFrame,
    DocumentPreferences,
    DocumentChanges,
    NodeSetting,
    LivePort,
    TerminalInfo,
    SampleColumn,
    WatchedSeries,
    TracedPacket,
    EventStep,
    ListedPacket,
    PacketPage,
    PacketDetails,
    SentSegments,
    Acknowledgements,
    TimeSequencePage,
    RecordInfo,
    FileInfo,
    Folder,
    BranchInfo,
    BranchPlayback,
    RepeatedBranch,
    BranchNumbers,
    BranchReplay,
    ReplayCost,
    TranscriptChunk,
    RecordedTerminal,
    ComparedColumn,
    Comparison,
    TerminalResize,
    OutputHistory,
    OutputAck,
    KeysAck,
)
