"""The state of the teacher's page: GET /api/class. `wanlab.web.typescript` writes it in TypeScript."""

from __future__ import annotations

import msgspec

from .messages import UnitState


class GradeRow(msgspec.Struct, frozen=True):
    """A row of what `wanlab lab grade` has written."""

    unit: str
    points: float
    of: float
    late: str = ""
    missed: str = ""
    error: str = ""


class HandInRow(msgspec.Struct, frozen=True):
    """A student's hand-ins for a unit: the time of the last one, and their number."""

    unit: str
    at_s: float
    count: int


class StudentRow(msgspec.Struct, frozen=True):
    """A student's row on the page."""

    name: str
    number: int
    """That of the path /look/NUMBER/."""
    seed: int
    is_online: bool
    seen_s: float | None
    phase: str
    nodes: int
    open_unit: str
    units: tuple[UnitState, ...]
    hand_ins: tuple[HandInRow, ...]
    grades: tuple[GradeRow, ...]
    disk_bytes: int
    disk_limit_bytes: int
    hand_raised_s: float | None = None
    """Since when the student asks for help, in seconds since the epoch."""
    idle_since_s: float | None = None
    """Since when the student has done no step of the open unit."""


class ClassState(msgspec.Struct, frozen=True):
    """GET /api/class."""

    folder: str
    now_s: float
    networks: int | None
    graded_s: float | None
    students: tuple[StudentRow, ...]
    has_links: bool = True
    """Whether students sign in with links."""
    grading: str = ""
    """The progress of the grading that is in progress; "" if none is."""
    grading_result: str = ""
    """How the last grading has ended, if the teacher has started one here."""


class StudentLink(msgspec.Struct, frozen=True):
    """An element of GET /api/class/links: the address with which a student signs in."""

    name: str
    link: str


PAGE_STATE = (UnitState, GradeRow, HandInRow, StudentRow, ClassState, StudentLink)
