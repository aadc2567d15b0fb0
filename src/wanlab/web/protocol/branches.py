"""The protocol of the timeline's branches: what browsers know of them."""

from __future__ import annotations

import msgspec

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


class BranchesPush(Push, frozen=True, tag="branches"):
    """The branches of the session, of which at most one is live: its network runs."""

    branches: tuple[BranchInfo, ...] = ()
    live: str | None = None
    replay: BranchReplay | None = None
    refusal: str = ""
    """Why no branch can continue from an earlier instant; "" if one can."""


class ReplayCost(msgspec.Struct, frozen=True):
    """The reply to "cost": how long a replay up to an instant is expected to take."""

    real_s: float
    warning: str = ""
    """Why the replay may differ from what was recorded."""


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
