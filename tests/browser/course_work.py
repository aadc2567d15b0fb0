"""A student who goes through a unit of the course in the page, led only by the lesson's player.

All that the student knows is what the player shows: the step that comes next, the terminal that it
names, the lines to type, when to press Ctrl-C or Enter, and *Next* once a card is done. Steps on the
canvas are done with the player's button. Commands are typed by hand or with *Type*, by turns, so that
both are tried. What a student has to find out (the solution of an exercise or a problem) is typed by
hand.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playwright.sync_api import Error, expect
from student import Student

from wanlab.labs.unit import CLIENT, GUI, MININET, Step, Unit

LONGEST_S = 1800.0
"""How long one command may take."""
TICK_S = 300.0
"""How long after the end of a command its step may become done."""
LOOK_MS = 100
AGAIN_S = 5.0
"""After this time, Ctrl-C is pressed again if the command has not ended."""
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


@dataclass(frozen=True)
class Shown:
    """A step as the player shows it."""

    n: int
    kind: str
    places: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    waits_for_enter: bool = False
    keeps_running: bool = False
    for_s: float | None = None
    ends: str = ""

    @property
    def commands(self) -> list[str]:
        """The lines that are typed together: several lines may be one command."""
        return Step(0, "", (), self.lines).commands


@dataclass
class Walk:
    """The result of doing a unit."""

    done: int = 0
    steps: int = 0
    """How many steps the player counts."""
    missed: list[str] = field(default_factory=list)
    """The steps that could not be done, and why."""
    cards: int = 0
    """How many cards the player has shown."""
    points: float = 0.0
    of: float = 0.0
    lost: list[str] = field(default_factory=list)
    """The checks that failed."""
    following: str = ""
    """The lesson that the player offers at the end."""


def shown_step(row: Any) -> Shown:
    """Read a step from the player."""
    text = str(row.locator(".player-what").inner_text())
    places = re.search(r"terminals? of (.+?)(?::|,? which|, one right|\.|$)", text)
    names = re.split(r", | and ", places[1]) if places else []
    if "Mininet's prompt" in text:
        names = [MININET]
    after = re.search(r"Press Ctrl-C after ([\d.]+) (s|min)", text)
    return Shown(
        n=int(row.get_attribute("data-step")),
        kind=row.get_attribute("data-kind"),
        places=tuple(name.removeprefix("the ") for name in names),
        lines=tuple(row.locator(".player-line").all_inner_texts()),
        waits_for_enter="Do not press Enter yet" in text,
        keeps_running="Leave it running" in text,
        for_s=float(after[1]) * (60 if after[2] == "min" else 1) if after else None,
        ends="".join(row.locator(".player-what > p > code").all_inner_texts()),
    )


def as_shown(step: Step) -> Shown:
    """Return a step of a solution, which the player does not show."""
    return Shown(
        n=step.n,
        kind="enter" if step.enter else "stop" if step.stops else "type",
        places=step.where,
        lines=step.lines,
        waits_for_enter=step.waits_for_enter,
        keeps_running=bool(step.starts),
        for_s=None if step.for_ns is None else step.for_ns / 1e9,
    )


class CourseWork:
    """Does a unit in a student's window.

    A step that cannot be done is noted in the walk; with `gives_up`, it raises StuckError.
    """

    def __init__(
        self,
        student: Student,
        unit: Unit,
        *,
        speed: str = "as fast as possible",
        say: Callable[[str], None] = lambda line: None,
        longest_s: float = LONGEST_S,
        tick_s: float = TICK_S,
        gives_up: bool = False,
    ) -> None:
        self.walk = Walk()
        self._student = student
        self._page = student.page
        self._longest_s = longest_s
        self._tick_s = tick_s
        self._gives_up = gives_up
        self._page.set_default_timeout(1000 * tick_s)
        self._unit = unit
        self._speed = speed
        self._say = say
        self._player = self._page.get_by_role("region", name="Steps")
        self._running: dict[str, list[str]] = {}
        """The terminals of each command that was left running, by its line."""
        self._waiting: dict[str, tuple[str, float | None]] = {}
        """The terminal in which a line waits for Enter, and its for_s, by place."""
        self._before: dict[str, str] = {}
        """What each terminal showed before its newest command."""
        self._missed: set[int] = set()

    def do_all(self, solution: Sequence[Step] = ()) -> Walk:
        """Start the unit, do what the player shows, then a solution, and check."""
        try:
            self._student.starts_lesson(f"{self._unit.heading.split(':')[0]}:")
        except Error as problem:
            self._miss("Start", problem)
            return self.walk
        self._student.picture("started")
        self._follow()
        self._follow_solution(solution)
        self._check_once()
        bar = self._player.locator(".player-head progress")
        self.walk.done, self.walk.steps = (
            int(bar.get_attribute("value")),
            int(bar.get_attribute("max")),
        )
        offered = self._player.get_by_role("button", name=re.compile("^Next: "))
        self.walk.following = str(offered.inner_text()) if offered.count() else ""
        return self.walk

    def _follow(self) -> None:
        """Do the step that comes next, or turn to the next card, until the last card is done."""
        self.walk.cards = 1
        while True:
            row = self._player.locator('.player-step[aria-current="step"]')
            if row.count():
                step = shown_step(row)
                if any(one.n == step.n and one.follows_check for one in self._unit.steps):
                    self._check_once()
                if step.n not in self._missed:
                    self._attempt(step, self._perform)
                    continue
            following = self._player.get_by_role("button", name="Next steps", exact=True)
            if not following.is_enabled():
                return
            self._student.picture(str(self._player.get_by_role("heading").first.inner_text()))
            self.walk.cards += 1
            following.click()
            count = f"{self.walk.cards} /"
            expect(self._player.locator(".player-foot")).to_contain_text(count)

    def _follow_solution(self, solution: Sequence[Step]) -> None:
        for step in solution:
            if step.where == (GUI,):
                self._attempt(as_shown(step), partial(self._do_drawn, step))
            else:
                self._attempt(as_shown(step), self._solve)

    def _attempt(self, step: Shown, act: Callable[[Shown], None]) -> None:
        began = time.monotonic()
        text = step.lines[0] if step.lines else step.kind
        try:
            act(step)
        except (StuckError, Error, AssertionError, KeyError) as problem:
            self._missed.add(step.n)
            self._miss(f"step {step.n}, {text}", problem)
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
        if self._gives_up:
            raise StuckError(self.walk.missed[-1]) from problem

    # -- steps ------------------------------------------------------------------------------------

    def _row(self, n: int) -> Any:
        return self._player.locator(f'.player-step[data-step="{n}"]')

    def _perform(self, step: Shown) -> None:
        """Perform a step of the player, and wait until it is marked as done."""
        by_hand = step.n % 2 == 0
        if step.kind == "canvas":
            self._perform_on_canvas(step)
        elif step.waits_for_enter:
            self._type_waiting_lines(step)
        else:
            terminals = self._act(step, by_hand=by_hand)
            self._wait_for_tick([step.n], terminals)
            if step.kind == "enter":
                self._wait_for_prompts(terminals)

    def _perform_on_canvas(self, step: Shown) -> None:
        text = str(self._row(step.n).inner_text())
        before = self._page.locator(".dock [role=tab]").evaluate_all(PANELS)
        self._row(step.n).get_by_role("button", name="for me").click()
        self._wait_for_tick([step.n], ())
        opens = "Open a terminal" in text or "Open terminals" in text
        if opens:
            # Otherwise it would come to the front while the next command is typed elsewhere.
            self._page.wait_for_function(HAS_NEW_IN_FRONT, arg=before)
        if opens or "Press Run" in text:
            self._begins_to_run()

    def _type_waiting_lines(self, first: Shown) -> None:
        """Type all highlighted lines that wait for Enter, and then do as the last step says.

        That is to press Enter, or something to do before.
        """
        rows = self._player.locator(".player-step.is-current")
        steps = [shown_step(row) for row in rows.all()]
        numbers = [step.n for step in steps]
        for step in steps:
            if step.waits_for_enter:
                if step.places[0] not in self._waiting:
                    terminal = self._type_by_hand(step)[0]
                    self._waiting[step.places[0]] = (terminal, step.for_s)
                continue
            if step.kind != "enter":
                self._perform(step)
                continue
            terminals = self._act(step, by_hand=first.n % 4 == 0)
            self._wait_for_tick(numbers, terminals)
            self._wait_for_prompts(terminals)

    def _solve(self, step: Shown) -> None:
        """Perform a step that the player does not show."""
        if step.waits_for_enter:
            self._waiting[step.places[0]] = (self._type_by_hand(step)[0], step.for_s)
            return
        terminals = self._act(step, by_hand=True)
        if not step.keeps_running:
            self._wait_for_prompts(terminals)

    def _act(self, step: Shown, *, by_hand: bool) -> list[str]:
        """Type, press Enter or Ctrl-C; return the terminals in which this was done."""
        if step.kind == "enter":
            return self._press_enter(step, by_hand=by_hand)
        if step.kind == "stop":
            return self._stop(step, by_hand=by_hand)
        if step.kind == "wait":
            return self._running.pop(step.ends)
        before_s = self._clock_s()
        terminals = self._type_by_hand(step) if by_hand else self._type_with_button(step)
        if step.keeps_running:
            self._running[step.lines[-1]] = terminals
        if step.for_s is not None:
            self._let_run(terminals, before_s + step.for_s)
        return terminals

    def _stop(self, step: Shown, *, by_hand: bool) -> list[str]:
        """Press Ctrl-C where a command was left running, or let the player do so."""
        terminals = self._terminals_running(step)
        if not by_hand:
            self._row(step.n).get_by_role("button", name="for me").click()
            return terminals
        for terminal in terminals:
            self._bring_to_front(terminal)
            self._student.presses("Control+C")
        return terminals

    def _terminals_running(self, step: Shown) -> list[str]:
        """Return the busy terminals of a step's places; those of its command are known."""
        known = self._running.get(step.ends, [])
        of_places = [
            str(tab.get_attribute("aria-controls"))
            for place in step.places
            for tab in self._tabs(place).all()
            if tab.get_attribute("title") == "busy"
        ]
        return [terminal for terminal in known if terminal in of_places] or of_places

    def _wait_for_tick(self, numbers: Sequence[int], terminals: Sequence[str]) -> None:
        """Wait until steps are marked as done, while terminals are busy, and answer questions."""
        last_busy = began = time.monotonic()
        while not all("is-done" in self._row(n).get_attribute("class") for n in numbers):
            self._answer_questions()
            now = time.monotonic()
            if any(self._is_busy(terminal) for terminal in terminals):
                last_busy = now
            if now - last_busy > self._tick_s or now - began > self._longest_s:
                shown = " / ".join(map(self._screen, terminals))
                raise StuckError(f"not marked as done. {shown[-300:]}")
            self._page.wait_for_timeout(LOOK_MS)

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
        expect(stop).to_be_enabled(timeout=1000 * self._tick_s)
        self._student.chooses_pace(self._speed)

    # -- typing -----------------------------------------------------------------------------------

    def _type_by_hand(self, step: Shown) -> list[str]:
        """Type the lines of a step into its terminals; return these."""
        terminals = [self._terminal(name) for name in step.places]
        for line in step.commands:
            for terminal in terminals:
                self._await_command(terminal)
                for part in line.split("\n"):
                    self._page.keyboard.type(part)
                    if not step.waits_for_enter:
                        self._student.presses("Enter")
        return terminals

    def _type_with_button(self, step: Shown) -> list[str]:
        """Click *Type*: the lines appear in terminals that wait for a command."""
        terminals = [self._terminal(name) for name in step.places]
        for terminal in terminals:
            self._await_command(terminal)
        self._row(step.n).get_by_role("button", name="Type for me").click()
        return terminals

    def _press_enter(self, step: Shown, *, by_hand: bool) -> list[str]:
        """Press Enter in several terminals at the same instant."""
        waiting = {place: self._waiting.pop(place) for place in step.places}
        before_s = self._clock_s()
        self._before |= {terminal: self._screen(terminal) for terminal, _ in waiting.values()}
        if by_hand or not self._row(step.n).count():
            self._type_in_several(step.places)
        else:
            self._row(step.n).get_by_role("button", name="Enter for me").click()
        for terminal, for_s in waiting.values():
            if for_s is not None:
                self._let_run([terminal], before_s + for_s)
        return [terminal for terminal, _ in waiting.values()]

    def _type_in_several(self, places: Sequence[str]) -> None:
        self._page.get_by_role("button", name="Type in several").click()
        form = self._page.get_by_role("form", name="Type into several terminals")
        for box in form.locator("label.check").all():
            box.get_by_role("checkbox").set_checked(box.inner_text().strip() in places)
        form.get_by_role("button", name=f"Enter in {len(places)}").click()
        self._page.get_by_role("button", name="Type in several").click()

    def _let_run(self, terminals: Sequence[str], until_s: float) -> None:
        """Press Ctrl-C once the network's clock has reached a time, and until the commands end.

        A key that arrives before its command runs ends nothing, so only busy terminals get one.
        """
        deadline = time.monotonic() + self._longest_s
        while self._clock_s() < until_s and time.monotonic() < deadline:
            self._page.wait_for_timeout(LOOK_MS)
        for terminal in terminals:
            self._bring_to_front(terminal)
            pressed: float | None = None
            while not self._has_ended(terminal, was_busy=pressed is not None):
                now = time.monotonic()
                if now > deadline:
                    raise StuckError(f"Ctrl-C ends nothing. {self._screen(terminal)[-300:]}")
                if self._is_busy(terminal) and (pressed is None or now - pressed > AGAIN_S):
                    self._bring_to_front(terminal)
                    self._student.presses("Control+C")
                    pressed = now
                self._page.wait_for_timeout(LOOK_MS)

    def _has_ended(self, terminal: str, *, was_busy: bool) -> bool:
        """Return whether a command has ended; one that has not begun leaves the screen as it was."""
        screen = self._screen(terminal)
        is_new = was_busy or screen != self._before.get(terminal)
        return is_new and PROMPT.search(screen) is not None

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
            timeout=1000 * self._longest_s,
        )

    def _await_command(self, terminal: str) -> None:
        """Wait until a terminal is ready for a command, and note what it shows."""
        self._bring_to_front(terminal)
        self._wait_for_prompt(terminal)
        self._before[terminal] = self._screen(terminal)

    def _wait_for_prompts(self, terminals: Sequence[str]) -> None:
        for terminal in terminals:
            self._bring_to_front(terminal)
            self._wait_for_prompt(terminal)

    # -- without the lesson -----------------------------------------------------------------------

    def _do_drawn(self, step: Step, _: Shown) -> None:
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

    def _check_once(self) -> None:
        if self._unit.check and not self.walk.of:
            try:
                self._check()
            except (Error, AssertionError) as problem:
                self._miss("Check", problem)

    def _check(self) -> None:
        """Press *Check*, and read the results."""
        stop = self._page.get_by_role("button", name="Stop", exact=True)
        if not stop.is_enabled():
            self._student.runs()
            self._begins_to_run()
        self._page.get_by_role("button", name="Check", exact=True).click()
        results = self._page.get_by_role("region", name="Check results")
        results.wait_for(timeout=1000 * self._longest_s)
        points = re.search(r"([\d.]+) of ([\d.]+) points", results.inner_text())
        assert points is not None
        self.walk.points, self.walk.of = float(points[1]), float(points[2])
        self.walk.lost = [one.inner_text() for one in results.locator("li.is-missing").all()]
        self._student.picture(f"checked {self._unit.name}")
