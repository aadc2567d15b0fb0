"""What browser and server say to each other: the only place where that is written down.

    browser -> server   WS /api/live   {"id": 7, "do": "edit", ...}       one of COMMANDS
    server -> browser                  {"reply": 7, "ok": {...}}          Reply, or
                                       {"reply": 7, "error": {...}}       Refusal
                                       {"push": "document", ...}          one of PUSHES, to everybody

`python -m wanlab.web.typescript` writes ui/src/protocol.ts from it. Times are nanoseconds of the
network's clock; ids are texts that stay what they are while a document lives, names may change.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .commands import SeriesKind, WatchedSeries
from .model import (
    ClockKind,
    Document,
    DocumentPreferences,
    DrawnLabel,
    DrawnLink,
    DrawnNode,
    Elements,
    End,
    Pace,
)

Phase = Literal["stopped", "starting", "running", "stopping", "failed"]
Severity = Literal["error", "warning"]


# -- replies ----------------------------------------------------------------------------------------


class SavedFile(msgspec.Struct, frozen=True):
    path: str


class OpenedTerminal(msgspec.Struct, frozen=True):
    terminal: str


class CaptureFile(msgspec.Struct, frozen=True):
    path: str


class Location(msgspec.Struct, frozen=True):
    """Where something is wrong: the thing ("" is the whole), and its field as the document has it:
    "name", "options.ip", "a_options.rate", "preferences.ip_base"."""

    id: str = ""
    field: str = ""


class DrawingProblem(msgspec.Struct, frozen=True):
    """What is wrong, and what to do."""

    what: str
    hint: str = ""
    place: Location = Location()
    severity: Severity = "error"


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a command was not carried out. `code`, where the browser can do something about it:
    "not saved" (ask, then `discard`), "exists" (ask, then `overwrite`)."""

    what: str
    hint: str = ""
    place: Location | None = None
    code: str = ""


class CommandReply(msgspec.Struct, frozen=True):
    reply: int
    ok: Any = None


class CommandRefusal(msgspec.Struct, frozen=True):
    reply: int
    error: ErrorBody


# -- pushes -----------------------------------------------------------------------------------------


class Push(msgspec.Struct, frozen=True, tag_field="push", kw_only=True):
    """What a server tells everybody."""


class DocumentChanges(msgspec.Struct, frozen=True):
    """From one revision to the next."""

    put: Elements = Elements()
    drop: tuple[str, ...] = ()
    preferences: DocumentPreferences | None = None


class DocumentPush(Push, frozen=True, tag="document"):
    """`changes` lead from the revision before to this one; otherwise `document` is all of it."""

    revision: int
    document: Document | None = None
    changes: DocumentChanges | None = None
    by: str = ""
    """The browser that did it."""
    label: str = ""
    undo: str | None = None
    """What undo would take back; None if there is nothing."""
    redo: str | None = None


class ProblemsPush(Push, frozen=True, tag="problems"):
    problems: tuple[DrawingProblem, ...] = ()


class FilePush(Push, frozen=True, tag="file"):
    path: str | None = None
    """In the working folder; None: it has never been saved."""
    name: str = ""
    is_saved: bool = True


class DraftPush(Push, frozen=True, tag="draft"):
    """What a server before this one had not saved."""

    name: str | None = None
    """None: nothing."""
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
    """As the kernel has them now."""
    is_up: bool = True


class PortsPush(Push, frozen=True, tag="ports"):
    """The ports that the document means, with the names and addresses that they get by rule;
    while something is wrong with it, those of before."""

    ports: tuple[LivePort, ...] = ()


class RunPush(Push, frozen=True, tag="run"):
    phase: Phase = "stopped"
    error: ErrorBody | None = None
    progress: str = ""
    ports: tuple[LivePort, ...] = ()
    links_down: tuple[str, ...] = ()
    is_stale: bool = False
    """The document has changed since in a way that the running network does not know."""
    warnings: tuple[str, ...] = ()


class ClockPush(Push, frozen=True, tag="clock"):
    now_ns: int = 0
    speed: float = 0.0
    """Seconds of the network per second of ours, lately."""
    pace: Pace = "real"
    is_paused: bool = False
    is_moving: bool = False
    clock: ClockKind = "virtual"
    stalled: str = ""
    """A program that computes without a pause keeps time from passing: what is known of it."""


class TerminalInfo(msgspec.Struct, frozen=True):
    """`status`: of a program that has ended; negative, the signal that ended it."""

    id: str
    node: str
    title: str
    status: int | None = None
    is_busy: bool = False


class TerminalsPush(Push, frozen=True, tag="terminals"):
    terminals: tuple[TerminalInfo, ...] = ()


class SampleColumn(msgspec.Struct, frozen=True):
    """Samples of one curve: `values[i]` at `times_s[i]`, null where there is none."""

    kind: SeriesKind
    port: str
    flow: str
    """ "10.0.0.1:5001 > 10.0.0.2:41234" for cwnd and rtt."""
    unit: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]


class SamplesPush(Push, frozen=True, tag="samples"):
    """What came since the last one."""

    columns: tuple[SampleColumn, ...] = ()


class RecordInfo(msgspec.Struct, frozen=True):
    name: str
    made_at_s: float
    seconds: float
    """Of the network's time."""
    topology: str = ""


class RecordsPush(Push, frozen=True, tag="records"):
    records: tuple[RecordInfo, ...] = ()
    recording: str | None = None
    """The one that is being made."""


class CapturesPush(Push, frozen=True, tag="captures"):
    ports: tuple[str, ...] = ()
    """Whose packets are being kept."""


class CheckResult(msgspec.Struct, frozen=True):
    """Of one check; the reply to a lesson's "check" is a list of them."""

    what: str
    points: float
    of: float
    found: str = ""
    wanted: str = ""
    hint: str = ""


class LessonStep(msgspec.Struct, frozen=True):
    """`lines` are typed into each terminal of `where`: "client", "mininet" or names of nodes; "gui" is
    what is done on the canvas."""

    n: int
    at: str
    where: tuple[str, ...]
    text: str
    lines: tuple[str, ...] = ()
    note: str = ""
    printed: str = ""
    can_type: bool = False
    do: dict[str, Any] = {}
    """On the canvas: new, open, save, draw, properties, preferences, run, stop, terminal, look."""


class LessonInfo(msgspec.Struct, frozen=True):
    unit: str
    kind: str
    heading: str
    goal: str
    steps: int
    done: tuple[int, ...] = ()
    points: float | None = None
    of: float | None = None
    """Of the last check."""
    report: str | None = None
    """Its page, in the working folder."""


class LessonPage(msgspec.Struct, frozen=True):
    """GET /api/lessons/UNIT"""

    unit: str
    heading: str
    markdown: str
    steps: tuple[LessonStep, ...]
    has_topology: bool
    has_check: bool
    has_figure: bool
    decisions: tuple[str, ...] = ()
    topologies: str = ""
    """Where in the working folder its topologies are opened from and saved to."""


class LessonsPush(Push, frozen=True, tag="lessons"):
    lessons: tuple[LessonInfo, ...] = ()
    open_unit: str | None = None
    working: str | None = None
    """The unit whose steps are being performed for a report."""
    working_step: str = ""


class FilesPush(Push, frozen=True, tag="files"):
    """Files of the working folder that have come or changed."""

    paths: tuple[str, ...] = ()


class ShowPush(Push, frozen=True, tag="show"):
    """A program wants a file of the working folder shown: `xdg-open`."""

    path: str


class MessagePush(Push, frozen=True, tag="message"):
    level: Literal["info", "warning", "error"]
    what: str
    hint: str = ""


class StatePush(Push, frozen=True, tag="state"):
    """Everything at once: the first on a connection, and GET /api/state."""

    client: str
    """What this browser is called in `by`."""
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
    lessons: LessonsPush


PUSHES = (
    *(StatePush, DocumentPush, ProblemsPush, PortsPush, FilePush, DraftPush, RunPush, ClockPush),
    *(
        TerminalsPush,
        SamplesPush,
        RecordsPush,
        CapturesPush,
        LessonsPush,
        FilesPush,
        ShowPush,
        MessagePush,
    ),
)


# -- files and terminals ----------------------------------------------------------------------------


class FileInfo(msgspec.Struct, frozen=True):
    name: str
    path: str
    """In the working folder."""
    is_folder: bool
    bytes: int
    changed_at_s: float


class Folder(msgspec.Struct, frozen=True):
    """GET /api/files?under="""

    path: str
    files: tuple[FileInfo, ...]


class ComparedColumn(msgspec.Struct, frozen=True):
    """One curve of one record."""

    record: str
    title: str
    unit: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]


class Comparison(msgspec.Struct, frozen=True):
    panels: dict[str, tuple[ComparedColumn, ...]]


class TerminalResize(msgspec.Struct, frozen=True):
    """WS /api/terminals/ID, as a text: [rows, columns]. Bytes are what was typed."""

    resize: tuple[int, int]


class OutputAck(msgspec.Struct, frozen=True):
    """WS /api/terminals/ID, as a text: so many bytes of output have been shown since the last."""

    ack: int


REST = (
    *(
        SavedFile,
        OpenedTerminal,
        CaptureFile,
        Location,
        DrawingProblem,
        ErrorBody,
        CommandReply,
        CommandRefusal,
    ),
    *(
        Elements,
        Document,
        DrawnNode,
        DrawnLink,
        DrawnLabel,
        DocumentPreferences,
        DocumentChanges,
        LivePort,
        TerminalInfo,
        SampleColumn,
        WatchedSeries,
    ),
    *(RecordInfo, CheckResult, LessonStep, LessonInfo, LessonPage, FileInfo, Folder),
    *(ComparedColumn, Comparison, TerminalResize, OutputAck),
)
