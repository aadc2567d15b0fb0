"""The course beside the laboratory: the lessons, and the unit that is open.

Each unit has a folder in the working folder ("lab06"), which is /home/admin in the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from wanlab import Network, Topology, load
from wanlab.errors import WanlabError
from wanlab.labs import catalog, grade, lesson, start_at, student_files, unit_file
from wanlab.labs.lab_network import network_of
from wanlab.labs.start_at import StartedUnit
from wanlab.labs.unit import GUI, Step, Unit
from wanlab.network import StartJitter, parse_start_jitter
from wanlab.shared_folder import SharedFolder, file_error
from wanlab.topology.files import load_content

from ..folder import MAX_TOPOLOGY_BYTES, WorkingFolder
from ..limits import ClassRules
from ..protocol.commands import LessonCommand
from ..protocol.lessons import CheckResult, LessonInfo, LessonPage, LessonsPush, StepHint
from ..protocol.messages import MessagePush
from ..protocol.model import ClockKind, Document
from ..protocol.push import Push
from ..running.run_plan import RunPlan
from . import canvas_steps
from .lesson_page import page_of
from .unit_progress import ProgressFile
from .unit_reports import UnitReports

PROGRESS = "progress.json"
READ_AFTER_REAL_S = 0.5


class Lessons:
    """The course, and the unit that is open.

    `push` sends to all browsers; `drawn_seed` returns the seed in the preferences of the document.
    """

    def __init__(
        self,
        folder: WorkingFolder,
        push: Callable[[Push], None],
        rules: ClassRules = ClassRules(),  # noqa: B008  (it is immutable)
        drawn_seed: Callable[[], int] = lambda: 1,
    ) -> None:
        self._folder = folder
        self._push = push
        self._rules = rules
        self._drawn_seed = drawn_seed
        self._starting = ""
        self._is_start_cancelled = False
        self._checking = ""
        self._hint: StepHint | None = None
        self.hand_raised_s: float | None = None
        """Since when the student asks for help, in seconds since the epoch."""
        self._is_looked_at = False
        self.opened_s = 0.0
        """When the open unit was opened."""
        self._running_steps: tuple[int, ...] = ()
        self._units: list[Unit] = []
        self.unit: Unit | None = None
        self._start_jitter_ns = 0
        self.start_jitter = StartJitter()
        """Draws how much later each of the commands starts that are started together."""
        self.progress = ProgressFile(folder.state_folder, PROGRESS, self.push)
        self.reports = UnitReports(folder, self.progress, push, self.push, rules.choice)

    # -- the course -------------------------------------------------------------------------------

    async def read_catalog(self) -> None:
        """Read all units, which takes a second, once the page has had time to open."""
        await asyncio.sleep(READ_AFTER_REAL_S)
        for name in catalog.names():
            with contextlib.suppress(WanlabError):
                self._units.append(await asyncio.to_thread(catalog.find, name))
        self.push()

    def snapshot(self) -> LessonsPush:
        """Return the state of the lessons."""
        return LessonsPush(
            lessons=tuple(map(self._info, self._units)),
            open_unit=self.unit.name if self.unit else None,
            folder=_topology_folder(self.unit) if self.unit else "",
            checking=self._checking,
            starting=self._starting,
            working=self.reports.unit.name if self.reports.unit else None,
            working_step=self.reports.step,
            is_class=self._rules.is_class,
            hand_raised_s=self.hand_raised_s,
            is_looked_at=self._is_looked_at,
            hint=self._hint,
            running_steps=self._running_steps,
        )

    def push(self) -> None:
        """Send the state of the lessons to all browsers."""
        self._push(self.snapshot())

    def _info(self, unit: Unit) -> LessonInfo:
        progress = self.progress.of(unit)
        counted = [step.n for step in unit.steps if canvas_steps.counts(step)]
        return LessonInfo(
            unit.name,
            unit.kind,
            unit.heading,
            unit.goal,
            len(counted),
            tuple(number for number in progress.steps if number in counted),
            progress.points,
            progress.of,
            tuple(progress.results),
            progress.report,
            progress.handed_in_s,
        )

    def _find(self, name: str) -> Unit:
        """Return a unit with the values of the student's seed in a class, or else of the document's."""
        return unit_file.for_seed(catalog.find(name), self._seed)

    @property
    def _seed(self) -> int:
        return self._drawn_seed() if self._rules.seed is None else self._rules.seed

    def page(self, name: str) -> LessonPage:
        """Return the lesson of a unit."""
        return page_of(self._find(name))

    def figure(self, name: str, figure: str) -> Path:
        """Return the path of a figure of a unit's lesson; `figure` is its name without .svg."""
        figures = {path.stem: path for path in student_files.figures_of(catalog.find(name))}
        if figure not in figures:
            raise WanlabError(f"{name} has no figure {figure}.svg")
        return figures[figure]

    # -- the open unit ----------------------------------------------------------------------------

    def unit_folder(self, unit: Unit) -> SharedFolder:
        """Return the folder of a unit in the working folder."""
        return self._folder.shared.subfolder(unit.folder.name)

    def begin(self, command: LessonCommand) -> tuple[Topology, str | None]:
        """Open a unit; return its topology and the path of the file. The caller calls `push` then.

        Where the student draws the topology, the canvas begins empty, without a file.
        """
        self._start_jitter_ns = parse_start_jitter(command.start_jitter)
        unit = self._find(command.unit)
        folder = self.unit_folder(unit)
        _install(folder, catalog.with_labs(unit))
        self.unit = unit
        self.opened_s = time.time()
        if begins_empty(unit):
            return Topology(), None
        name = student_files.student_topology(unit)
        path = folder.path / name
        if folder.has_file(name):
            topology = load_content(folder.read(name, MAX_TOPOLOGY_BYTES), path)
        else:
            topology = load(unit.topology)
        return topology, self._folder.path_of(path)

    def raise_hand(self, *, is_raised: bool) -> None:
        """Ask the teacher for help, or no longer."""
        if not self._rules.is_class:
            raise WanlabError("only in a class is there a teacher to ask")
        self.hand_raised_s = time.time() if is_raised else None
        self.push()

    def note_look(self, *, is_looked_at: bool) -> None:
        """Note whether the teacher looks at this laboratory, which the student must know."""
        if is_looked_at != self._is_looked_at:
            self._is_looked_at = is_looked_at
            self.push()

    @property
    def idle_since_s(self) -> float | None:
        """Since when no step of the open unit has been done; None if none is open or all are done."""
        if self.unit is None:
            return None
        info = self._info(self.unit)
        is_done = len(info.done) >= info.steps
        return None if is_done else max(self.opened_s, self.progress.done_s)

    def close(self) -> None:
        """Close the open unit."""
        self.unit = None
        self.push()

    def is_outside(self, path: str) -> bool:
        """Return whether a file is outside the folder of the open unit."""
        return self.unit is not None and not path.startswith(f"{self.unit.folder.name}/")

    def plan_run(self, document: Document, topology: Topology) -> RunPlan:
        """Return how to run the network of the open unit from its start."""
        assert self.unit is not None
        # A check of this network expects the values of its seed, even if the seed changes later.
        self.unit = unit = self._with_seed(self.unit)
        folder, clock, rules = self.unit_folder(unit), document.preferences.clock, self._rules
        seed = self._seed
        # The seed may have changed since the unit was opened.
        _install(folder, [unit] if unit.draws else [])

        def make() -> Network:
            return network_of(
                unit,
                topology,
                folder.path,
                seed=seed,
                clock=clock,
                memory_bytes=rules.memory_bytes,
                choice=rules.choice,
            )

        return self.plan_run_of(document, topology, make)

    def _with_seed(self, unit: Unit) -> Unit:
        """Return the unit itself unless the seed draws values for it."""
        return self._find(unit.name) if unit.draws else unit

    def plan_run_of(
        self, document: Document, topology: Topology, make: Callable[[], Network]
    ) -> RunPlan:
        """Return how to run a network of the open unit that `make` returns."""
        self.start_jitter = StartJitter(self._start_jitter_ns, self._seed)
        return RunPlan(
            document,
            topology,
            make,
            home=student_files.HOME,
            environment=student_files.environment(self._seed, self._start_jitter_ns),
            prepare=student_files.link_home,
        )

    # -- starting at a later step -----------------------------------------------------------------

    def check_can_start_at(self, name: str, at: int) -> None:
        """Raise WanlabError if a unit cannot be started at a step."""
        start_at.steps_before(self._find(name), at)

    async def start_at(self, at: int, clock: ClockKind, session: Path | bool) -> StartedUnit:
        """Start the open unit's network with the steps before `at` done. The caller stops it."""
        unit, loop = self.unit, asyncio.get_running_loop()
        assert unit is not None
        self._is_start_cancelled = False

        def say(line: str) -> None:
            if self._is_start_cancelled:
                raise WanlabError("the start was cancelled")
            loop.call_soon_threadsafe(self._note_starting, line.strip())

        self._note_starting("starting")
        try:
            started = await asyncio.to_thread(
                partial(
                    start_at.start_at,
                    unit,
                    at,
                    self.unit_folder(unit).path,
                    seed=self._seed,
                    clock=clock,
                    session=session,
                    say=say,
                    memory_bytes=self._rules.memory_bytes,
                    start_jitter_ns=self._start_jitter_ns,
                    choice=self._rules.choice,
                )
            )
        finally:
            self._note_starting("")
        self.progress.mark_done(unit, (step.n for step in start_at.steps_before(unit, at)))
        return started

    def cancel_start(self) -> None:
        """Stop performing steps, before the next one."""
        self._is_start_cancelled = True

    @property
    def is_starting(self) -> bool:
        """Whether steps are being performed to start a unit at a later one."""
        return bool(self._starting)

    def _note_starting(self, line: str) -> None:
        self._starting = line
        self.push()

    # -- steps and checks -------------------------------------------------------------------------

    def canvas_step(self, name: str, number: int) -> tuple[Step, str]:
        """Return a step of a unit, and the folder for the unit's topologies."""
        unit = self._find(name)
        return _step_of(unit, number), _topology_folder(unit)

    def step(self, number: int) -> Step:
        """Return a step of the open unit."""
        if self.unit is None:
            raise WanlabError("no lesson is open")
        return _step_of(self.unit, number)

    def mark_step(self, name: str, step: int, *, is_done: bool) -> None:
        """Mark a step of a unit as done, or as not done."""
        self.progress.mark_step(catalog.find(name), step, is_done=is_done)

    def show_hint(self, hint: StepHint | None) -> None:
        """Show help with a step, or no more help."""
        if hint != self._hint:
            self._hint = hint
            self.push()

    def show_running(self, steps: Iterable[int]) -> None:
        """Show which steps have commands that run now."""
        running = tuple(sorted(set(steps)))
        if running != self._running_steps:
            self._running_steps = running
            self.push()

    @property
    def is_checking(self) -> bool:
        """Whether the running network is being checked."""
        return bool(self._checking)

    def note_checking(self, what: str) -> None:
        """Show the check that is running; "" once it is over."""
        self._checking = what
        self.push()

    def note_check(self, unit: Unit, marks: list[grade.Mark]) -> list[CheckResult]:
        """End a check, and keep its results; return them."""
        self._checking = ""
        return self.progress.keep_check(unit, marks)

    def note_handed_in(self, unit: Unit, at_s: float) -> None:
        """Note when a unit was handed in."""
        self.progress.keep_hand_in(unit, at_s)
        self._push(MessagePush(level="info", what=f"{unit.heading} was handed in"))

    async def report(self, name: str) -> None:
        """Begin to make the report of a unit."""
        if self._rules.is_class:  # the report performs the solution
            raise WanlabError("in a class, only the teacher can make reports")
        await self.reports.start(catalog.find(name))


def _topology_folder(unit: Unit) -> str:
    """Return the folder for a unit's topologies, in the working folder."""
    return f"{unit.folder.name}/{student_files.topology_folder_of(unit)}"


def _step_of(unit: Unit, number: int) -> Step:
    for step in unit.steps:
        if step.n == number:
            return step
    raise WanlabError(f"{unit.heading} has no step {number}")


def begins_empty(unit: Unit) -> bool:
    """Return whether the student draws the topology before anything is run or opened."""
    words = (word for step in unit.steps if step.where == (GUI,) for word in step.do)
    return next((word for word in words if word in ("draw", "open", "run")), "open") == "draw"


def _install(folder: SharedFolder, units: Iterable[Unit]) -> None:
    """Write the files of units for a student. WanlabError if the folder cannot be written to."""
    try:
        student_files.install(folder.make(), units, lesson.PAGE)
    except OSError as error:
        raise file_error("write to", folder.path, error) from None


def keys_of(step: Step) -> str:
    """Return the keys to type for a step."""
    if step.stops:
        return "\x03"
    if step.enter:
        return "\n"
    text = "\n".join(step.lines)
    return text if step.waits_for_enter else f"{text}\n"


def check(unit: Unit, network: Network, report_progress: Callable[[str], None]) -> list[grade.Mark]:
    """Grade a running network, in its thread."""
    if not unit.check:
        raise WanlabError(f"{unit.heading} has no checks, so it cannot be graded")
    return grade.grade(unit, network, report_progress)
