"""Keeps a student's progress in the units of the course, in a file of the working folder."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

import msgspec

from wanlab.errors import WanlabError
from wanlab.json_text import decode_json
from wanlab.labs import grade
from wanlab.labs.unit import Unit
from wanlab.shared_folder import SharedFolder

from ..protocol.lessons import CheckResult


class UnitProgress(msgspec.Struct):
    """Progress in a unit: steps done, points of the best check, results of the last one, report."""

    steps: list[int] = []
    points: float | None = None
    of: float | None = None
    results: list[CheckResult] = []
    report: str | None = None
    handed_in_s: float | None = None


PROGRESS = msgspec.json.Decoder(dict[str, UnitProgress])


class ProgressFile:
    """Progress in all units. `changed` is called after each change, which is in the file then."""

    def __init__(self, folder: SharedFolder, name: str, changed: Callable[[], None]) -> None:
        self._folder, self._name = folder, name
        self._changed = changed
        self._units = _read(folder, name)
        self.done_s = 0.0
        """When a step was last done, in seconds since the epoch."""

    def of(self, unit: Unit) -> UnitProgress:
        """Return the progress in a unit. Only this class changes it."""
        return self._units.get(unit.name, UnitProgress())

    def mark_step(self, unit: Unit, step: int, *, is_done: bool) -> None:
        """Mark a step as done, or as not done."""
        steps = {*self.of(unit).steps}
        self.done_s = time.time()
        self._change(unit).steps = sorted(steps | {step} if is_done else steps - {step})
        self._save()

    def mark_done(self, unit: Unit, steps: Iterable[int]) -> None:
        """Mark steps as done."""
        self.done_s = time.time()
        self._change(unit).steps = sorted({*self.of(unit).steps, *steps})
        self._save()

    def keep_check(self, unit: Unit, marks: list[grade.Mark]) -> list[CheckResult]:
        """Keep the results of a check and, if they are the best, its points; return the results."""
        progress = self._change(unit)
        points = sum(mark.points for mark in marks)
        progress.points = max(points, progress.points or 0.0)
        progress.of = sum(mark.check.points for mark in marks)
        progress.results = [_check_result(mark) for mark in marks]
        self._save()
        return progress.results

    def keep_report(self, unit: Unit, path: str) -> None:
        """Keep the path of a unit's report, in the working folder."""
        self._change(unit).report = path
        self._save()

    def keep_hand_in(self, unit: Unit, at_s: float) -> None:
        """Keep when a unit was handed in."""
        self._change(unit).handed_in_s = at_s
        self._save()

    def _change(self, unit: Unit) -> UnitProgress:
        return self._units.setdefault(unit.name, UnitProgress())

    def _save(self) -> None:
        with contextlib.suppress(OSError):
            self._folder.write(self._name, msgspec.json.encode(self._units), syncs=True)
        self._changed()


def _read(folder: SharedFolder, name: str) -> dict[str, UnitProgress]:
    try:
        return decode_json(folder.read(name), PROGRESS)
    except (OSError, WanlabError):
        return {}


def _check_result(mark: grade.Mark) -> CheckResult:
    report = mark.report()
    return CheckResult(
        report["what"],
        report["points"],
        report["of"],
        report["value_text"],
        report["band"],
        report["hint"] or report["reason"],
        report["passed"],
    )
