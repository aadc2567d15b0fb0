"""The protocol of the timeline's branches: what browsers know of them."""

from __future__ import annotations

import msgspec

from .commands import SeriesKind
from .push import Push


class BranchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A branch of the session: the recording from its start to its last instant."""

    id: str
    name: str
    parent: str | None = None
    """The branch that this one left at `left_ns`; None for the first."""
    left_ns: int = 0
    end_ns: int = 0
    """Its last instant; for the live branch, the clock's time counts."""
    changed: str = ""
    """The first changes since it left its parent."""
    folder: str = ""
    """The folder, in the working folder, with the copy that its programs work in."""


class BranchReplay(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that is being replayed up to the instant from which it will continue."""

    branch: str
    """The branch that is being replayed."""
    at_ns: int
    now_ns: int = 0
    passed_real_s: float = 0.0
    expected_real_s: float = 0.0
    """The expected time of the whole replay."""


class BranchPlayback(msgspec.Struct, frozen=True, kw_only=True):
    """A branch in which happens again what happened in another one, with a change."""

    branch: str
    source: str
    until_ns: int
    """The last instant of the source, at which the branch pauses."""


class RepeatedBranch(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to "what_if": the new branch, and the file with the packets that were asked for."""

    branch: str
    capture: str = ""


class BranchesPush(Push, frozen=True, tag="branches"):
    """The branches of the session, of which at most one is live: its network runs."""

    branches: tuple[BranchInfo, ...] = ()
    live: str | None = None
    replay: BranchReplay | None = None
    playback: BranchPlayback | None = None
    refusal: str = ""
    """Why no branch can continue from an earlier instant; "" if one can."""


class ReplayCost(msgspec.Struct, frozen=True):
    """The reply to "cost": how long a replay up to an instant is expected to take."""

    real_s: float
    warning: str = ""
    """Why the replay may differ from what was recorded."""


class BranchNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of a port or a flow in several branches, over the same time: a value for each branch.

    Of drops, `highest` is the number of packets. A value is null if a branch does not have the curve.
    """

    kind: SeriesKind
    port: str
    flow: str
    unit: str
    means: tuple[float | None, ...]
    highest: tuple[float | None, ...]


class TranscriptChunk(msgspec.Struct, frozen=True):
    """The output of a program at one instant. Each character of `text` is a byte."""

    at_ns: int
    text: str


class RecordedTerminal(msgspec.Struct, frozen=True, kw_only=True):
    """GET /api/branches/BRANCH/terminals: a terminal of a branch, with what it has shown.

    closed_ns   when it was closed, None if it was not
    """

    id: str
    node: str
    title: str
    opened_ns: int
    closed_ns: int | None = None
    output: tuple[TranscriptChunk, ...] = ()
