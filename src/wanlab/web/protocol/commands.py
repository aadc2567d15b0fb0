"""Commands that a browser sends to the server over WS /api/live.

Each is a JSON object with the name of the command and a number that comes back in the reply:
{"id": 7, "do": "edit", ...}.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from .model import Elements, End, Options, Pace

SeriesKind = Literal["throughput", "queue", "cwnd", "rtt", "drops", "load"]
Instant = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""In ns on the network's clock."""
TerminalSize = Annotated[int, Meta(ge=1, le=2**16 - 1)]
"""Rows or columns, which the kernel stores in 16 bits."""


class Command(
    msgspec.Struct, frozen=True, tag_field="do", kw_only=True, forbid_unknown_fields=True
):
    """The base of all commands. `id` comes back in the reply."""

    id: int = 0


class EditCommand(Command, frozen=True, tag="edit"):
    """Change the document. One action of the user is one edit, and one step of undo.

    `drop` holds the ids of elements to delete; links of deleted nodes are deleted with them.
    """

    put: Elements = Elements()
    drop: tuple[str, ...] = ()
    preferences: Options | None = None
    label: str = ""
    """The name of the edit in the undo menu: "Move h1"."""


class AddressCommand(Command, frozen=True, tag="address"):
    """Give the drawn network subnets, addresses and routes."""


class UndoCommand(Command, frozen=True, tag="undo"):
    """Undo the last edit of any browser."""


class RedoCommand(Command, frozen=True, tag="redo"):
    """Redo the last edit that was undone."""


class NewCommand(Command, frozen=True, tag="new"):
    """Start an empty document. Refused if there are unsaved changes, unless `discard`."""

    discard: bool = False


class GenerateCommand(Command, frozen=True, tag="generate"):
    """Draw a network of a known shape: "tree,depth=2,fanout=3,rate=10Mbps"."""

    shape: str
    discard: bool = False


class OpenCommand(Command, frozen=True, tag="open"):
    """Open a file of the working folder; or, given its text, a file of the user's computer.

    A topology of containerlab or GNS3 is imported; the reply lists the parts without a counterpart.
    """

    path: str
    text: str | None = None
    discard: bool = False


class SaveCommand(Command, frozen=True, tag="save"):
    """Save to a path in the working folder; without one, to the file that was opened."""

    path: str | None = None
    overwrite: bool = False
    """Whether another file with that path may be replaced."""


class DraftCommand(Command, frozen=True, tag="draft"):
    """Restore what an earlier server had not saved (`take`), or discard it."""

    take: bool


class HeartbeatCommand(Command, frozen=True, tag="heartbeat"):
    """Do nothing. The reply shows the page that its connection works."""


class RunCommand(Command, frozen=True, tag="run"):
    """Start the network. If a lesson is open, start it as the lesson needs it."""


class StopCommand(Command, frozen=True, tag="stop"):
    """End the network and everything in it."""


class OpenTerminalCommand(Command, frozen=True, tag="terminal"):
    """Open a terminal.

    node      the id of a node, "client" (the machine's root namespace) or "prompt" (`mininet>`)
    command   a program to run instead of a shell
    """

    node: str
    rows: TerminalSize = 24
    columns: TerminalSize = 80
    command: str | None = None


class CloseTerminalCommand(Command, frozen=True, tag="close_terminal"):
    """Close a terminal and end its program."""

    terminal: str


class TypeCommand(Command, frozen=True, tag="type"):
    """Type a text into a terminal."""

    terminal: str
    text: str


class TypeTogetherCommand(Command, frozen=True, tag="type_together"):
    """Type a text into several terminals at the same instant of virtual time."""

    terminals: tuple[str, ...]
    text: str


class SetLinkCommand(Command, frozen=True, tag="set_link"):
    """Change a link of the running network and of the document.

    Options that are not named stay as they are, and null removes one. Without `end`, the change
    holds for both directions.
    """

    link: str
    options: Options
    end: End | None = None


class TakeTcCommand(Command, frozen=True, tag="take_tc"):
    """Copy the settings of `tc` at the ports of a running link into the document."""

    link: str


class TakeSettingsCommand(Command, frozen=True, tag="take_settings"):
    """Copy the settings that terminals made at a node into the document."""

    node: str


class LinkUpCommand(Command, frozen=True, tag="link_up"):
    """Unplug a link of the running network, or plug it in again."""

    link: str
    up: bool


class PaceCommand(Command, frozen=True, tag="pace"):
    """Let virtual time pass no faster than the real clock, or as fast as it can be computed."""

    pace: Pace
    speed: float = 1.0
    """Network seconds per real second, for the pace "real"."""


class LetRunCommand(Command, frozen=True, tag="let_run"):
    """Let virtual time pass always, or only while a command runs."""

    always: bool


class PauseCommand(Command, frozen=True, tag="pause"):
    """Pause virtual time, or resume it."""

    paused: bool


class StepCommand(Command, frozen=True, tag="step"):
    """Let a duration of virtual time pass ("100ms"), and pause."""

    duration: str


class StepToCommand(Command, frozen=True, tag="step_to"):
    """Let virtual time pass to the next event of a kind, and pause at that instant.

    packet   a packet is queued, sent or received at `port`, or at any port without one
    drop     a port drops a packet
    ack      an established TCP connection receives an acknowledgement without data
    timer    a timer of the kernel expires
    """

    event: Literal["packet", "drop", "ack", "timer"]
    port: str = ""


class BreakCommand(Command, frozen=True, tag="break"):
    """Set a breakpoint, or remove it: "queue > 1 MB", "queue of s1-eth2 > 1 MB", "first loss",
    "10 s"."""

    text: str
    on: bool = True


class ContinueCommand(Command, frozen=True, tag="continue"):
    """Replay a branch up to an instant, and continue from there as a new branch.

    The reply comes when the new branch is live, and paused. At the end of a branch that is not live,
    that branch itself continues.
    """

    branch: str
    at_ns: Instant


class CancelContinueCommand(Command, frozen=True, tag="cancel_continue"):
    """Cancel the replay; the network that ran before stays live."""


class WhatIfCommand(Command, frozen=True, tag="what_if"):
    """Repeat a branch with another value from an instant on, as a new branch that runs by itself.

    The branch is replayed up to the instant. Then `options` of the link are set, in the direction of
    `end` or in both, or the packets at `capture` (two ports: of the sender and of the receiver) are
    written to a file; and what the user did after that instant happens again. The reply comes when
    that begins. "cancel_continue" ends it.
    """

    branch: str
    at_ns: Instant
    link: str = ""
    options: Options = {}
    end: End | None = None
    capture: tuple[str, ...] = ()


class CostCommand(Command, frozen=True, tag="cost"):
    """Ask how long a replay of a branch up to an instant is expected to take."""

    branch: str
    at_ns: Instant


class MarkerCommand(Command, frozen=True, tag="marker"):
    """Mark an instant of a branch; without `at_ns`, the present one of the live branch."""

    text: str
    branch: str = ""
    at_ns: Instant | None = None


class RenameBranchCommand(Command, frozen=True, tag="rename_branch"):
    """Give a branch another name."""

    branch: str
    name: str


class DropBranchCommand(Command, frozen=True, tag="drop_branch"):
    """Forget a branch that is not live."""

    branch: str


class WatchedSeries(msgspec.Struct, frozen=True):
    """A quantity of a port ("s1-eth2") that a browser draws.

    cwnd and rtt are those of the TCP flows of the port's host; load is that of a node, whose name is
    the `port`. Without a port, those of all ports or nodes.
    """

    kind: SeriesKind
    port: str = ""


class WatchCommand(Command, frozen=True, tag="watch"):
    """Name everything that this browser draws from now on; an empty list ends it."""

    series: tuple[WatchedSeries, ...]


class HistoryCommand(Command, frozen=True, tag="history"):
    """Ask for the samples of the last minutes; the reply is a list of columns."""

    series: tuple[WatchedSeries, ...]
    branch: str = ""
    """The branch; "" for the live one."""


class NumbersCommand(Command, frozen=True, tag="numbers"):
    """Ask for means and highest values of branches beside each other, from an instant on."""

    branches: tuple[str, ...]
    until_ns: Instant
    from_ns: Instant = 0


class RecordCommand(Command, frozen=True, tag="record"):
    """Start recording, or stop and write the record."""

    on: bool
    name: str = ""


class CompareCommand(Command, frozen=True, tag="compare"):
    """Ask for the same quantities of several records."""

    records: tuple[str, ...]


class DeleteRecordCommand(Command, frozen=True, tag="drop_record"):
    """Delete a record."""

    name: str


class CaptureCommand(Command, frozen=True, tag="capture"):
    """Start writing the packets of a port to a file of the working folder, or stop.

    arrival   another port whose packets are in the file, too
    filter    an expression of tcpdump, such as "tcp port 5201"
    snaplen   how many bytes of each packet to keep; 0 keeps whole packets
    """

    port: str
    on: bool
    arrival: str = ""
    filter: str = ""
    snaplen: int = 0


class LessonCommand(Command, frozen=True, tag="lesson"):
    """Do something with a unit of the course.

    start           open its network beside the lesson
    start_at        perform the steps before `step`, and go on there with the running network; the
                    reply is the ids of the terminals that it has opened
    cancel_start    stop performing them
    close           close the lesson
    type            type the commands of a step into its terminals
    interrupt       press Ctrl-C in the terminals that run the commands of a step
    perform         perform a step on the canvas; the reply is the ids of terminals it has opened
    progress        mark a step as done, or as not done
    check           grade the running network
    report          perform all steps of the unit in a separate machine and write a page
    cancel_report   stop making the report
    raise_hand      in a class, ask the teacher for help
    lower_hand      the help is no longer needed
    hand_in         in a class, pack what was done and give it to the teacher

    start and start_at set the start jitter ("5ms"): how much later commands may start that are started
    together, each by a delay that the seed draws.
    """

    unit: str
    action: Literal[
        "start",
        "start_at",
        "cancel_start",
        "close",
        "type",
        "interrupt",
        "raise_hand",
        "lower_hand",
        "perform",
        "progress",
        "check",
        "report",
        "cancel_report",
        "hand_in",
    ]
    step: int | None = None
    done: bool = True
    discard: bool = False
    overwrite: bool = False
    start_jitter: str = ""


class GalleryCommand(Command, frozen=True, tag="gallery"):
    """Run a published figure of the gallery, or stop running one."""

    action: Literal["run", "cancel"]
    name: str = ""


COMMANDS = (
    HeartbeatCommand,
    EditCommand,
    AddressCommand,
    UndoCommand,
    RedoCommand,
    NewCommand,
    GenerateCommand,
    OpenCommand,
    SaveCommand,
    DraftCommand,
    RunCommand,
    StopCommand,
    OpenTerminalCommand,
    CloseTerminalCommand,
    TypeCommand,
    TypeTogetherCommand,
    SetLinkCommand,
    TakeTcCommand,
    TakeSettingsCommand,
    LinkUpCommand,
    WatchCommand,
    HistoryCommand,
    NumbersCommand,
    PaceCommand,
    LetRunCommand,
    PauseCommand,
    StepCommand,
    StepToCommand,
    BreakCommand,
    ContinueCommand,
    WhatIfCommand,
    CancelContinueCommand,
    CostCommand,
    MarkerCommand,
    RenameBranchCommand,
    DropBranchCommand,
    RecordCommand,
    CompareCommand,
    DeleteRecordCommand,
    CaptureCommand,
    LessonCommand,
    GalleryCommand,
)
