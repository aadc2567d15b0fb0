"""What the page gets of the course: lessons, their steps, and the progress in them."""

from __future__ import annotations

from typing import Literal

import msgspec

from .push import Push


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check. The reply to a lesson's "check" is a list of them."""

    what: str
    points: float
    of: float
    measured: str = ""
    expected: str = ""
    hint: str = ""
    passed: bool = False
    """True without points if this shows that nothing was broken, and something else is missing."""


class StepFigure(msgspec.Struct, frozen=True):
    """A number that a step measures: the manual's, what is expected here, and why they may differ."""

    what: str
    manual: str
    expected: str
    why: str = ""
    """Where the limits of what is expected come from."""
    cause: str = ""
    """Why the number here differs from the manual's, if it does."""


class LessonStep(msgspec.Struct, frozen=True):
    """A step of a lesson.

    `lines` are typed into each terminal of `where`: "client", "mininet" or the names of nodes.
    "gui" stands for a step on the canvas.
    """

    n: int
    at: str
    where: tuple[str, ...]
    text: str
    lines: tuple[str, ...] = ()
    note: str = ""
    printed: str = ""
    can_type: bool = False
    action: str = ""
    """What is done on the canvas, in the words of the menus; "" if it is not a canvas step."""
    can_perform: bool = False
    """Whether the server can perform it on the canvas."""
    kind: Literal["canvas", "type", "enter", "stop", "wait", "look", "skip"] = "type"
    """What a student does: "stop" presses Ctrl-C, and "skip" is left out."""
    counts: bool = True
    """Whether it counts for the progress: not if it only looks, is left out, or is optional."""
    is_optional: bool = False
    keeps_running: bool = False
    """Whether the command is left running, such as a server."""
    waits_for_enter: bool = False
    """Whether the line is typed without Enter, which a later step presses."""
    ends: str = ""
    """The command that a step ends, or whose end it waits for."""
    for_s: float | None = None
    """Press Ctrl-C after this time on the network's clock."""
    takes_s: float = 0.0
    """How long it takes on the network's clock, if that is known."""
    figures: tuple[StepFigure, ...] = ()


class StepHint(msgspec.Struct, frozen=True):
    """Help with a mistake that was seen in a step of the open unit."""

    step: int
    text: str


class LessonInfo(msgspec.Struct, frozen=True):
    """A unit of the course, and the progress in it."""

    unit: str
    kind: str
    heading: str
    goal: str
    steps: int
    done: tuple[int, ...] = ()
    points: float | None = None
    of: float | None = None
    """The maximum of `points`, which are those of the best check."""
    results: tuple[CheckResult, ...] = ()
    """The results of the last check."""
    report: str | None = None
    """The path of its report in the working folder."""
    handed_in_s: float | None = None
    """When it was last handed in, in seconds since the epoch."""


class LessonPage(msgspec.Struct, frozen=True):
    """GET /api/lessons/UNIT: the lesson of a unit."""

    unit: str
    heading: str
    markdown: str
    steps: tuple[LessonStep, ...]
    has_topology: bool
    has_check: bool
    has_figure: bool
    decisions: tuple[str, ...] = ()


class LessonsPush(Push, frozen=True, tag="lessons"):
    """The units of the course."""

    lessons: tuple[LessonInfo, ...] = ()
    open_unit: str | None = None
    folder: str = ""
    """The folder for the topologies of the open unit, in the working folder."""
    checking: str = ""
    """What is being checked in the running network: "2 of 6: the rate of the path"."""
    starting: str = ""
    """The step that is performed to start a unit at a later one; "" if none is."""
    working: str | None = None
    """The unit whose report is being made."""
    working_step: str = ""
    is_class: bool = False
    """Whether work can be handed in to a teacher, who makes the reports."""
    hand_raised_s: float | None = None
    """Since when the student asks the teacher for help, in seconds since the epoch."""
    is_looked_at: bool = False
    """Whether the teacher looks at this laboratory."""
    hint: StepHint | None = None
    running_steps: tuple[int, ...] = ()
    """The steps of the open unit whose commands run now, and that are not done."""


REST = (CheckResult, StepFigure, LessonStep, StepHint, LessonInfo, LessonPage)
