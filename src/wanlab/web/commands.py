"""Commands: what a browser asks of the server over WS /api/live.

Each is a JSON object with a number of its own and the name of the command:
{"id": 7, "do": "edit", ...}. The number comes back in the reply.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .model import Elements, End, Pace

SeriesKind = Literal["throughput", "queue", "cwnd", "rtt", "drops"]


class Command(
    msgspec.Struct, frozen=True, tag_field="do", kw_only=True, forbid_unknown_fields=True
):
    """What a browser asks for. `id` comes back in the reply."""

    id: int = 0


class EditCommand(Command, frozen=True, tag="edit"):
    """One action of the user: one step of undo. Links of dropped nodes are dropped with them."""

    put: Elements = Elements()
    drop: tuple[str, ...] = ()
    preferences: dict[str, Any] | None = None
    base: int = 0
    """The revision that the browser saw."""
    label: str = ""
    """As undo calls it: "Move h1"."""


class UndoCommand(Command, frozen=True, tag="undo"):
    """Takes the last edit back, whoever made it."""


class RedoCommand(Command, frozen=True, tag="redo"):
    """Makes the last edit taken back again."""


class NewCommand(Command, frozen=True, tag="new"):
    """An empty document. RefusedError where something is not saved, unless `discard`."""

    discard: bool = False


class OpenCommand(Command, frozen=True, tag="open"):
    """A file of the working folder; or a text of the user's disk, under its name."""

    path: str
    text: str | None = None
    discard: bool = False


class SaveCommand(Command, frozen=True, tag="save"):
    """Into the working folder; without a path where it came from."""

    path: str | None = None
    overwrite: bool = False
    """Another file of that name may be replaced."""


class DraftCommand(Command, frozen=True, tag="draft"):
    """What a server before this one had not saved: take it, or throw it away."""

    take: bool


class RunCommand(Command, frozen=True, tag="run"):
    """Makes the document a network. With a lesson open, as that one wants it."""


class StopCommand(Command, frozen=True, tag="stop"):
    """Ends the network and everything in it."""


class OpenTerminalCommand(Command, frozen=True, tag="terminal"):
    """`node`: id of a node, or "client" (the machine's root namespace), or "prompt" (`mininet>`).
    `command`: a program instead of a shell."""

    node: str
    rows: int = 24
    columns: int = 80
    command: str | None = None


class CloseTerminalCommand(Command, frozen=True, tag="close_terminal"):
    terminal: str


class TypeCommand(Command, frozen=True, tag="type"):
    """As if it were typed in that terminal."""

    terminal: str
    text: str


class SetLinkCommand(Command, frozen=True, tag="set_link"):
    """Changes a link of the running network, and of the document; what is not named stays. Without
    `end`, both directions; a word that is null goes away."""

    link: str
    options: dict[str, Any]
    end: End | None = None


class LinkUpCommand(Command, frozen=True, tag="link_up"):
    """Pulls the plug of the running network's link, or puts it back."""

    link: str
    up: bool


class PaceCommand(Command, frozen=True, tag="pace"):
    """Of virtual time: never faster than the real clock, or as fast as it can be computed."""

    pace: Pace


class PauseCommand(Command, frozen=True, tag="pause"):
    """Virtual time stands still until the next one."""

    paused: bool


class StepCommand(Command, frozen=True, tag="step"):
    """Lets so much virtual time pass ("100ms"), and pauses."""

    duration: str


class WatchedSeries(msgspec.Struct, frozen=True):
    """What is watched of a port ("s1-eth2"). cwnd and rtt are those of the flows of a host's port; of
    all hosts without one."""

    kind: SeriesKind
    port: str = ""


class WatchCommand(Command, frozen=True, tag="watch"):
    """All that this browser wants to see from now on; nothing ends it."""

    series: tuple[WatchedSeries, ...]
    interval_ms: int = 100
    """Of the network's time."""


class RecordCommand(Command, frozen=True, tag="record"):
    """Begins to record, or ends it and writes the record."""

    on: bool
    name: str = ""


class CompareCommand(Command, frozen=True, tag="compare"):
    """The same quantities of several records."""

    records: tuple[str, ...]


class DeleteRecordCommand(Command, frozen=True, tag="drop_record"):
    name: str


class CaptureCommand(Command, frozen=True, tag="capture"):
    """The packets of a port go to a file of the working folder, until it is told to end."""

    port: str
    on: bool


class LessonCommand(Command, frozen=True, tag="lesson"):
    """start: opens the unit's network beside its lesson; close: puts the lesson away; type: types a
    step's commands into its terminals; progress: notes a step as done or not; check: grades the running
    network; report: performs all steps of the unit in a machine of its own and makes a page."""

    unit: str
    action: Literal["start", "close", "type", "progress", "check", "report", "cancel_report"]
    step: int | None = None
    done: bool = True
    discard: bool = False


COMMANDS = (
    *(EditCommand, UndoCommand, RedoCommand, NewCommand, OpenCommand, SaveCommand, DraftCommand),
    *(
        RunCommand,
        StopCommand,
        OpenTerminalCommand,
        CloseTerminalCommand,
        TypeCommand,
        SetLinkCommand,
        LinkUpCommand,
    ),
    *(
        PaceCommand,
        PauseCommand,
        StepCommand,
        WatchCommand,
        RecordCommand,
        CompareCommand,
        DeleteRecordCommand,
        CaptureCommand,
        LessonCommand,
    ),
)
