"""The lesson of a unit as the page gets it: the text of the page's edition, and the steps."""

from __future__ import annotations

import re
from typing import Literal

from wanlab.labs import lesson, student_files
from wanlab.labs.durations import step_seconds
from wanlab.labs.outcome import band_text
from wanlab.labs.unit import GUI, Expectation, Step, Unit

from ..protocol.lessons import LessonPage, LessonStep, StepFigure
from . import canvas_steps


def page_of(unit: Unit) -> LessonPage:
    """Return the lesson of a unit."""
    text_of = lesson.read if lesson.answers_are_allowed() else lesson.student_edition
    text = text_of(unit, lesson.PAGE) if (unit.folder / "lesson.md").is_file() else ""
    return LessonPage(
        unit=unit.name,
        heading=unit.heading,
        markdown=text,
        steps=tuple(_page_step(unit, step) for step in unit.steps),
        has_topology=unit.topology.is_file(),
        has_check=bool(unit.check),
        has_figure=bool(student_files.figures_of(unit)),
        decisions=tuple(f"{decision.what}: {decision.decided}" for decision in unit.decisions),
    )


def _page_step(unit: Unit, step: Step) -> LessonStep:
    return LessonStep(
        n=step.n,
        at=step.at,
        where=step.where,
        text=step.text,
        lines=step.lines,
        note=step.note,
        printed=step.printed,
        kind=_kind(step),
        can_type=bool(step.lines or step.enter or step.stops) and step.where != (GUI,),
        action=canvas_steps.describe(step),
        can_perform=canvas_steps.can_perform(step),
        counts=canvas_steps.counts(step),
        is_optional=step.is_optional,
        keeps_running=bool(step.starts),
        waits_for_enter=step.waits_for_enter,
        ends=_ended_command(unit, step),
        for_s=None if step.for_ns is None else step.for_ns / 1e9,
        takes_s=step_seconds(unit, step, unit.steps),
        figures=tuple(_figure(one) for one in step.expect if _may_differ(one)),
    )


def _kind(step: Step) -> Literal["canvas", "type", "enter", "stop", "wait", "look", "skip"]:
    if step.skip:
        return "skip"
    if step.where == (GUI,) and canvas_steps.can_perform(step):
        return "canvas"
    if step.enter:
        return "enter"
    if step.stops:
        return "stop"
    if step.ends:
        return "wait"
    return "type" if step.lines else "look"


def _ended_command(unit: Unit, step: Step) -> str:
    """Return the command that a step ends, or waits for."""
    name = step.stops or step.ends
    earlier = [one for one in unit.steps if name and one.starts == name and one.n < step.n]
    return earlier[-1].lines[-1] if earlier and earlier[-1].lines else ""


def _may_differ(expected: Expectation) -> bool:
    """Whether the number can be another one than the manual's: 4 packets sent are 4 everywhere."""
    is_exact = expected.band.at_least == expected.band.at_most
    return not is_exact or bool(expected.cause or expected.changed)


def _figure(expected: Expectation) -> StepFigure:
    has_number = any(map(str.isdigit, expected.manual))
    return StepFigure(
        what=expected.what,
        manual=f"{expected.manual} {expected.unit}".strip() if has_number else expected.manual,
        expected=band_text(expected.band, expected.unit),
        why=_on_the_page(expected.why),
        cause=_on_the_page(expected.cause or expected.changed),
    )


def _on_the_page(text: str) -> str:
    """Name pages of the documentation as the page's menu does, for readers without a shell."""
    return re.sub(r"wanlab docs (\w+)", r"Help > Documentation, \1", text)
