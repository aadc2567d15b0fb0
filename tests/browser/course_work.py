"""A student who goes through a unit of the course in the page, step by step.

Steps on the canvas are done with the lesson's *Do*. Commands are typed by hand into the terminal that
the step names, or with the lesson's *Type*: by turns, so that both are tried. A step counts once the
lesson shows it as done. What a student has to find out (the solution of an exercise or a problem) is
typed by hand.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, expect
from student import Student

from wanlab.labs.unit import CLIENT, GUI, MININET, Step, Unit
from wanlab.web import canvas_steps

LONGEST_S = 1800.0
TICK_S = 300.0
"""How long after the end of a command its step may become done."""
LOOK_MS = 100
PROMPT = re.compile(r"(?:[#$]|mininet>)\s*$")
WAITED = re.compile("waiting for|intercepts")
PANELS = "(tabs) => tabs.map((tab) => tab.getAttribute('aria-controls'))"
HAS_NEW_IN_FRONT = (
    "(before) => [...document.querySelectorAll('.dock [role=tab][aria-selected=true]')]"
    ".some((tab) => !before.includes(tab.getAttribute('aria-controls')))"
)
ANSWERS = {"Save the changes?": "Discard", "Replace the file?": "Replace"}


class StuckError(Exception):
    """A step that a student cannot do."""


@dataclass
class Walk:
    """The result of doing a unit."""

    done: list[int] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """The steps that could not be done, and why."""
    unoffered: list[int] = field(default_factory=list)
    """The steps with a command for which the lesson has no *Type* button."""
    points: float = 0.0
    of: float = 0.0
    lost: list[str] = field(default_factory=list)
    """The checks that failed."""


def _section(step: Step) -> str:
    """Return the section of the manual that a step belongs to: "3.1" of "3.1/2"."""
    return step.at.partition("/")[0]


class CourseWork:
    """Does a unit in a student's window."""

    def __init__(
        self,
        student: Student,
        unit: Unit,
        *,
        progress: Path,
        speed: str = "as fast as possible",
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.walk = Walk()
        self._student = student
        self._page = student.page
        self._page.set_default_timeout(1000 * TICK_S)
        self._unit = unit
        self._progress = progress
        self._speed = speed
        self._say = say
        self._lesson: Any = None
        self._started: dict[str, list[str]] = {}
        """The terminals of each running command, by its name."""
        self._typed: dict[int, str] = {}
        """The terminal in which a step's line waits for Enter, by step."""
        self._waiting: dict[int, Step] = {}
        """The steps whose lines wait for Enter."""

    def do_all(self, solution: Sequence[Step] = ()) -> Walk:
        """Start the unit, perform its steps and those of a solution, and check."""
        try:
            self._lesson = self._student.starts_lesson(f"{self._unit.heading.split(':')[0]}:")
        except Error as problem:
            self._miss("Start", problem)
            return self.walk
        self._waiting = {step.n: step for step in self._unit.steps if step.waits_for_enter}
        self._student.picture("started")
        steps = list(filter(canvas_steps.can_be_done, self._unit.steps))
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            self._attempt(step, self._perform)
            if following is None or _section(step) != _section(following):
                self._student.picture(f"section {_section(step)}")
        self._waiting = {step.n: step for step in solution if step.waits_for_enter}
        for step in solution:
            self._attempt(step, self._solve)
        if self._unit.check:
            try:
                self._check()
            except (Error, AssertionError) as problem:
                self._miss("Check", problem)
        return self.walk

    def _attempt(self, step: Step, act: Callable[[Step], None]) -> None:
        began = time.monotonic()
        text = step.text.splitlines()[0] if step.text else ""
        try:
            act(step)
        except (StuckError, Error, AssertionError, KeyError) as problem:
            self._miss(f"{step.title}, {text}", problem)
        else:
            self._say(f"  {step.n:3} {text[:90]} ({time.monotonic() - began:.1f} s)")

    def _miss(self, what: str, problem: Exception) -> None:
        lines = str(problem).strip().splitlines()
        reason = lines[0] if lines else type(problem).__name__
        # Playwright's reason: the element that it waited for, or one that intercepted a click.
        reason += "".join(f"; {line.strip(' -')}" for line in lines[1:] if WAITED.search(line))[
            :300
        ]
        self.walk.missed.append(f"{what}: {reason}")
        self._say(f"  MISSED {self.walk.missed[-1]}")
        self._student.picture(f"missed {self._unit.name} {what[:20]}")

    # -- steps ------------------------------------------------------------------------------------

    def _perform(self, step: Step) -> None:
        """Perform a step of the lesson, and wait until it is marked as done."""
        if step.where == (GUI,):
            before = self._page.locator(".dock [role=tab]").evaluate_all(PANELS)
            self._lesson.locator(f'.row[data-step="{step.n}"]').get_by_role("button").click()
            self._wait_for_tick(step, ())
            if "terminal" in step.do:
                # Otherwise it would come to the front while the next command is typed elsewhere.
                self._page.wait_for_function(HAS_NEW_IN_FRONT, arg=before)
            if "run" in step.do or "terminal" in step.do:
                self._begins_to_run()
        elif step.waits_for_enter:
            self._typed[step.n] = self._type_by_hand(step)[0]
            return  # it is done once Enter is pressed
        else:
            terminals = self._act(step, by_hand=step.n % 2 == 0)
            self._wait_for_tick(step, terminals)
            if step.enter:
                self._wait_for_prompts(terminals)
        self.walk.done += [step.n, *step.enter]

    def _solve(self, step: Step) -> None:
        """Perform a step that the lesson does not show."""
        if step.where == (GUI,):
            self._do_by_hand(step)
        elif step.waits_for_enter:
            self._typed[step.n] = self._type_by_hand(step)[0]
        else:
            terminals = self._act(step, by_hand=True)
            if not step.starts:
                self._wait_for_prompts(terminals)

    def _act(self, step: Step, *, by_hand: bool) -> list[str]:
        """Type, press Enter or Ctrl-C; return the terminals in which this was done."""
        if step.enter:
            return self._press_enter(step)
        if step.stops:
            terminals = self._started.pop(step.stops)
            for terminal in terminals:
                self._bring_to_front(terminal)
                self._student.presses("Control+C")
            return terminals
        if step.ends:
            return self._started.pop(step.ends)
        before_s = self._clock_s()
        terminals = self._type_by_hand(step) if by_hand else self._type_with_button(step)
        if step.starts:
            self._started[step.starts] = terminals
        if step.for_ns is not None:
            self._let_run(terminals, before_s + step.for_ns / 1e9)
        return terminals

    def _wait_for_tick(self, step: Step, terminals: Sequence[str]) -> None:
        """Wait until a step is done, while its terminals are busy, and answer questions."""
        steps = {step.n, *step.enter}
        last_busy = began = time.monotonic()
        while not steps <= self._done():
            self._answer_questions()
            now = time.monotonic()
            if any(self._is_busy(terminal) for terminal in terminals):
                last_busy = now
            if now - last_busy > TICK_S or now - began > LONGEST_S:
                shown = " / ".join(map(self._screen, terminals))
                raise StuckError(f"not marked as done. {shown[-300:]}")
            self._page.wait_for_timeout(LOOK_MS)

    def _done(self) -> set[int]:
        try:
            progress = json.loads(self._progress.read_bytes())
        except FileNotFoundError:
            return set()
        return set(progress.get(self._unit.name, {}).get("steps", ()))

    def _answer_questions(self) -> None:
        dialog = self._page.locator("dialog[open]").first
        if not dialog.count():
            return
        answer = ANSWERS.get(dialog.get_attribute("aria-label") or "")
        if answer is None:
            raise StuckError(f"a question: {dialog.inner_text()}")
        dialog.get_by_role("button", name=answer, exact=True).click()

    def _begins_to_run(self) -> None:
        stop = self._page.get_by_role("button", name="Stop", exact=True)
        expect(stop).to_be_enabled(timeout=1000 * TICK_S)
        self._student.chooses_pace(self._speed)

    # -- typing -----------------------------------------------------------------------------------

    def _type_by_hand(self, step: Step) -> list[str]:
        """Type the lines of a step into its terminals; return these."""
        terminals = [self._terminal(name) for name in step.where]
        for line in step.commands:
            for terminal in terminals:
                self._bring_to_front(terminal)
                self._wait_for_prompt(terminal)
                for part in line.split("\n"):
                    self._page.keyboard.type(part)
                    if not step.waits_for_enter:
                        self._student.presses("Enter")
        return terminals

    def _type_with_button(self, step: Step) -> list[str]:
        """Click *Type* for each line; where there is no such button, type by hand."""
        rows = [self._rows(step, line) for line in step.commands]
        if not all(row.count() >= len(step.where) for row in rows):
            self.walk.unoffered.append(step.n)
            return self._type_by_hand(step)
        terminals: list[str] = []
        for row in rows:
            terminals = [self._terminal(name) for name in step.where]
            for number, terminal in enumerate(terminals):
                self._bring_to_front(terminal)  # a command goes to the free terminal in front
                self._wait_for_prompt(terminal)
                row.nth(number).get_by_role("button").click()
        return terminals

    def _rows(self, step: Step, line: str) -> Any:
        wanted = re.compile(rf"[$>]\s+{re.escape(line)}\s*Type$")
        return self._lesson.locator(f'.row[data-step-of="{step.n}"]').filter(has_text=wanted)

    def _press_enter(self, step: Step) -> list[str]:
        """Press Enter in several terminals at the same instant, with *Type in several*."""
        waiting = {number: self._typed.pop(number) for number in step.enter}
        before_s = self._clock_s()
        self._page.get_by_role("button", name="Type in several").click()
        form = self._page.get_by_role("form", name="Type into several terminals")
        names = {name for number in waiting for name in self._waiting[number].where}
        for box in form.locator("label.check").all():
            box.get_by_role("checkbox").set_checked(box.inner_text().strip() in names)
        form.get_by_role("button", name=f"Enter in {len(names)}").click()
        self._page.get_by_role("button", name="Type in several").click()
        for number, terminal in waiting.items():
            if (for_ns := self._waiting[number].for_ns) is not None:
                self._let_run([terminal], before_s + for_ns / 1e9)
        return list(waiting.values())

    def _let_run(self, terminals: Sequence[str], until_s: float) -> None:
        """Press Ctrl-C once the network's clock has reached a time, unless the command has ended."""
        deadline = time.monotonic() + LONGEST_S
        while self._clock_s() < until_s and time.monotonic() < deadline:
            self._page.wait_for_timeout(LOOK_MS)
        for terminal in terminals:
            self._bring_to_front(terminal)
            if not PROMPT.search(self._screen(terminal)):
                self._student.presses("Control+C")

    def _clock_s(self) -> float:
        shown = self._page.locator(".clock-time")
        if not shown.count():
            return 0.0
        seconds = 0.0
        for part in str(shown.inner_text()).removesuffix(" s").split(":"):
            seconds = 60 * seconds + float(part)
        return seconds

    # -- terminals --------------------------------------------------------------------------------
    # A terminal is known by the id of its panel.

    def _tabs(self, title: str) -> Any:
        tabs = self._page.get_by_role("tablist", name="Terminals, charts and files")
        return tabs.get_by_role("tab", name=title, exact=True)

    def _tab(self, terminal: str) -> Any:
        return self._page.locator(f'[role="tab"][aria-controls="{terminal}"]')

    def _is_busy(self, terminal: str) -> bool:
        return bool(self._tab(terminal).get_attribute("title") == "busy")

    def _terminal(self, name: str) -> str:
        """Return a terminal of a node that waits for a command, or else is busy; or open one."""
        if name == MININET and (prompt := self._mininet_prompt()):
            return prompt
        titles: dict[str, str] = self._tabs(name).evaluate_all(
            "(tabs) => Object.fromEntries("
            "tabs.map((tab) => [tab.getAttribute('aria-controls'), tab.title]))"
        )
        for wanted in ("waiting for a command", "busy"):
            for terminal, title in titles.items():
                if title == wanted:
                    return terminal
        self._student.opens_terminal("mininet" if name == MININET else name)
        opened = {tab.get_attribute("aria-controls") for tab in self._tabs(name).all()} - {*titles}
        if not opened:
            raise StuckError(f"no terminal of {name} opens")
        return str(opened.pop())

    def _mininet_prompt(self) -> str | None:
        """Return the terminal with Mininet's prompt: one started by a command, or the network's own."""
        for name in (CLIENT, MININET):
            for tab in self._tabs(name).all():
                terminal = str(tab.get_attribute("aria-controls"))
                if tab.get_attribute("title") != "ended":
                    self._bring_to_front(terminal)
                    if self._screen(terminal).endswith("mininet>"):
                        return terminal
        return None

    def _bring_to_front(self, terminal: str) -> None:
        tab = self._tab(terminal)
        if tab.get_attribute("aria-selected") != "true":
            tab.click()
        # A click on a file's name in the terminal in use would open the file.
        if not self._page.locator(f"#{terminal} textarea:focus").count():
            self._page.locator(f"#{terminal} .xterm-screen").click()

    def _screen(self, terminal: str) -> str:
        rows = self._page.locator(f"#{terminal} .xterm-rows")
        return str(rows.inner_text()).replace("\xa0", " ").rstrip() if rows.count() else ""

    def _wait_for_prompt(self, terminal: str) -> None:
        """Wait until the last line of the front terminal is a prompt."""
        self._page.wait_for_function(
            "([id, prompt]) => new RegExp(prompt).test("
            "document.querySelector(`#${id} .xterm-rows`)?.innerText.trimEnd() ?? '')",
            arg=[terminal, PROMPT.pattern],
            timeout=1000 * LONGEST_S,
        )

    def _wait_for_prompts(self, terminals: Sequence[str]) -> None:
        for terminal in terminals:
            self._bring_to_front(terminal)
            self._wait_for_prompt(terminal)

    # -- without the lesson -----------------------------------------------------------------------

    def _do_by_hand(self, step: Step) -> None:
        """Draw, set preferences, save and run as a solution says, without the lesson's buttons."""
        for word, argument in step.do.items():
            if word == "draw":
                self._draw(argument)
            elif word == "preferences":
                self._student.chooses("Edit", "Preferences")
                dialog = self._page.get_by_role("dialog", name="Preferences")
                dialog.get_by_label("Start CLI").check()
                dialog.get_by_role("button", name="Done").click()
            elif word == "save":
                self._student.saves_as(str(argument))
            elif word == "run":
                self._student.runs()
                self._begins_to_run()
            else:
                raise StuckError(f"{word} is not tried by hand")

    def _draw(self, argument: Any) -> None:
        names = [*argument["hosts"], *argument["switches"]]
        for index, name in enumerate(names):
            tool = "Host" if name in argument["hosts"] else "Switch"
            self._student.draws(
                tool, 0.15 + 0.7 * index / (len(names) - 1), 0.3 + 0.3 * (index % 2)
            )
        for a, b in argument["links"]:
            self._student.links(a, b)

    def _check(self) -> None:
        """Press *Check*, and read the results."""
        stop = self._page.get_by_role("button", name="Stop", exact=True)
        if not stop.is_enabled():
            self._student.runs()
            self._begins_to_run()
        self._page.get_by_role("button", name="Check", exact=True).click()
        results = self._page.get_by_role("region", name="Check results")
        results.wait_for(timeout=1000 * LONGEST_S)
        points = re.search(r"([\d.]+) of ([\d.]+) points", results.inner_text())
        assert points is not None
        self.walk.points, self.walk.of = float(points[1]), float(points[2])
        self.walk.lost = [one.inner_text() for one in results.locator("li.is-missing").all()]
        self._student.picture(f"checked {self._unit.name}")
