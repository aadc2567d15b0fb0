"""Lessons: the course beside the lab, what of it has been done, checks, and reports.

A unit is done in a folder of the working folder that is named after it ("lab06"); in the machine that is
/home/admin. Progress is kept in the working folder, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from wanlab import Network, Topology, load
from wanlab.errors import WanlabError
from wanlab.labs import catalog, grade, student_files, unit_process
from wanlab.labs.runner import network_of
from wanlab.labs.unit import GUI, Step, Unit

from .folder import WorkingFolder, write_whole
from .model import Document
from .protocol import (
    CheckResult,
    LessonInfo,
    LessonPage,
    LessonsPush,
    LessonStep,
    MessagePush,
    Push,
)
from .session import Plan

PROGRESS = "progress.json"
RESULTS = "results"
SEED = 1
"""Of a report."""
READ_AFTER_REAL_S = 0.5


class Done(msgspec.Struct):
    """What has been done of a unit."""

    steps: list[int] = []
    points: float | None = None
    of: float | None = None
    report: str | None = None


class Lessons:
    """The course, and the unit that is open."""

    def __init__(self, folder: WorkingFolder, tell: Callable[[Push], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._path = folder.ours / PROGRESS
        self._done = _read_progress(self._path)
        self._units: list[Unit] = []
        self.unit: Unit | None = None
        self._working: str | None = None
        self._working_step = ""
        self._worker: asyncio.subprocess.Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # -- what there is ----------------------------------------------------------------------------

    async def read_catalog(self) -> None:
        """All units, beside other work: reading them takes a second, and the page comes first."""
        await asyncio.sleep(READ_AFTER_REAL_S)
        for name in catalog.names():
            with contextlib.suppress(WanlabError):
                self._units.append(await asyncio.to_thread(catalog.find, name))
        self.tell()

    def told(self) -> LessonsPush:
        return LessonsPush(
            lessons=tuple(map(self._info, self._units)),
            open_unit=self.unit.name if self.unit else None,
            working=self._working,
            working_step=self._working_step,
        )

    def tell(self) -> None:
        self._tell(self.told())

    def _info(self, unit: Unit) -> LessonInfo:
        done = self._done.get(unit.name, Done())
        return LessonInfo(
            unit.name,
            unit.kind,
            unit.heading,
            unit.goal,
            len(unit.steps),
            tuple(done.steps),
            done.points,
            done.of,
            done.report,
        )

    def page(self, name: str) -> LessonPage:
        """The lesson of a unit."""
        unit = catalog.find(name)
        lesson = unit.folder / "lesson.md"
        return LessonPage(
            unit=unit.name,
            heading=unit.heading,
            markdown=lesson.read_text(encoding="utf-8") if lesson.is_file() else "",
            steps=tuple(_told_step(step) for step in unit.steps),
            has_topology=unit.topology.is_file(),
            has_check=bool(unit.check),
            has_figure=(unit.folder / "figure.svg").is_file(),
            decisions=tuple(f"{it.what}: {it.decided}" for it in unit.decisions),
            topologies=f"{unit.folder.name}/{student_files.topology_folder_of(unit)}",
        )

    def figure(self, name: str) -> Path:
        """The drawing of a unit's network."""
        path = catalog.find(name).folder / "figure.svg"
        if not path.is_file():
            raise WanlabError(f"there is no figure of {name}")
        return path

    # -- one of them open -------------------------------------------------------------------------

    def place_of(self, unit: Unit) -> Path:
        """Its folder."""
        return self._folder.place / unit.folder.name

    def begin(self, name: str) -> tuple[Topology, str]:
        """Opens a unit: what is to be drawn, and the path of its file. `tell` then."""
        unit = catalog.find(name)
        place = self.place_of(unit)
        try:
            place.mkdir(exist_ok=True)
            student_files.install(place, catalog.with_labs(unit))
        except OSError as error:
            raise WanlabError(f"cannot write to {place}: {error.strerror or error}") from None
        own = student_files.student_topology(place, unit)
        topology = load(own if own.is_file() else unit.topology)
        self.unit = unit
        return topology, self._folder.path_of(own)

    def close(self) -> None:
        self.unit = None
        self.tell()

    def has_left(self, path: str) -> bool:
        """Whether a file is none of the open unit's."""
        return self.unit is not None and not path.startswith(f"{self.unit.folder.name}/")

    def plan(self, document: Document, topology: Topology) -> Plan:
        """How its network is to be run."""
        unit = self.unit
        assert unit is not None
        place, wishes = self.place_of(unit), document.preferences

        def make() -> Network:
            return network_of(unit, topology, place, seed=wishes.seed, clock=wishes.clock)

        return Plan(
            document,
            topology,
            make,
            home=student_files.HOME,
            environment=student_files.environment(wishes.seed),
            move_in=student_files.link_home,
        )

    def step(self, number: int) -> Step:
        """A step of the open unit."""
        if self.unit is None:
            raise WanlabError("no lesson is open")
        for step in self.unit.steps:
            if step.n == number:
                return step
        raise WanlabError(f"{self.unit.heading} has no step {number}")

    # -- progress ---------------------------------------------------------------------------------

    def note(self, name: str, step: int, *, is_done: bool) -> None:
        done = self._done.setdefault(catalog.find(name).name, Done())
        steps = {*done.steps, step} if is_done else {*done.steps} - {step}
        done.steps = sorted(steps)
        self._keep()

    def note_check(self, unit: Unit, marks: list[grade.Mark]) -> list[CheckResult]:
        """What came of a check, for the page."""
        done = self._done.setdefault(unit.name, Done())
        done.points = sum(mark.points for mark in marks)
        done.of = sum(mark.check.points for mark in marks)
        self._keep()
        reports = [mark.report() for mark in marks]
        return [
            CheckResult(
                one["what"],
                one["points"],
                one["of"],
                one["value_text"],
                one["band"],
                one["hint"] or one["reason"],
            )
            for one in reports
        ]

    def _keep(self) -> None:
        with contextlib.suppress(OSError):
            write_whole(self._path, msgspec.json.encode(self._done))
        self.tell()

    # -- reports ----------------------------------------------------------------------------------

    async def report(self, name: str) -> None:
        """All steps of a unit, by a program of its own: it takes minutes, and may be ended."""
        unit = catalog.find(name)
        if self._worker is not None:
            raise WanlabError(f"the report of {self._working} is being made", "cancel it first")
        results = self._folder.place / RESULTS
        self._worker = await asyncio.create_subprocess_exec(
            *unit_process.command(unit.name, "--seed", str(SEED), "--results", str(results)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            preexec_fn=unit_process.end_with_parent,
        )
        self._working, self._working_step = unit.name, ""
        self.tell()
        task = asyncio.create_task(self._follow(unit, self._worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, unit: Unit, worker: asyncio.subprocess.Process) -> None:
        assert worker.stdout is not None
        said: list[str] = []
        async for line in worker.stdout:
            said = [*said[-20:], line.decode(errors="replace").rstrip()]
            self._working_step = said[-1][:200]
            self.tell()
        status = await worker.wait()
        self._worker, self._working = None, None
        page = self._folder.place / RESULTS / unit.run_name(SEED) / "report.html"
        if page.is_file() and status in (0, 1):
            self._done.setdefault(unit.name, Done()).report = self._folder.path_of(page)
            self._keep()
            self._tell(MessagePush(level="info", what=f"the report of {unit.heading} is ready"))
        else:
            self.tell()
            if status >= 0:
                what = f"the report of {unit.heading} was not made"
                self._tell(MessagePush(level="error", what=what, hint="\n".join(said[-5:])))

    def cancel_report(self) -> None:
        if self._worker is not None:
            with contextlib.suppress(ProcessLookupError):
                self._worker.terminate()


def _told_step(step: Step) -> LessonStep:
    can_type = bool(step.lines or step.enter or step.stops) and step.where != (GUI,)
    return LessonStep(
        n=step.n,
        at=step.at,
        where=step.where,
        text=step.text,
        lines=step.lines,
        note=step.note,
        printed=step.printed,
        can_type=can_type,
        do=dict(step.do),
    )


def _read_progress(path: Path) -> dict[str, Done]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Done])
    except (OSError, msgspec.MsgspecError):
        return {}


def keys_of(step: Step) -> str:
    """What is to be typed for a step."""
    if step.stops:
        return "\x03"
    if step.enter:
        return "\n"
    text = "\n".join(step.lines)
    return text if step.waits_for_enter else f"{text}\n"


def check(unit: Unit, network: Network, say: Callable[[str], Any]) -> list[grade.Mark]:
    """Grades a running network. In its thread."""
    if not unit.check:
        raise WanlabError(f"{unit.heading} has no checks")
    return grade.grade(unit, network, say)
