"""Reads lab.yaml, and solution.yaml, into a Unit; tells all that is wrong in it at once.

A word that is not known is an error with its place: `steps[6].expect[0].atleast`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from wanlab.errors import Problem, WanlabError, did_you_mean

from . import takes
from .durations import parse_duration
from .unit import CLIENT, GUI, KINDS, Band, Check, Decision, Expectation, Flow, Step, Unit

GUI_WORDS = {
    *("open", "run", "stop", "terminal", "close", "new", "draw", "properties", "preferences"),
    *("save", "look"),
}
BAND_WORDS = {"at_least", "at_most"}
EXPECT_WORDS = {"what", "take", "of", "manual", "unit", "why", "explained", *BAND_WORDS}
STEP_WORDS = {
    *(
        "n",
        "at",
        "where",
        "type",
        "for",
        "do",
        "starts",
        "stops",
        "ends",
        "waits_for",
        "enter",
        "printed",
    ),
    *("note", "optional", "skip", "status", "expect", "says", "file"),
}
CHECK_WORDS = {
    *("what", "measure", "state", "in", "take", "points", "hint", "says", "unit", "why"),
    *BAND_WORDS,
}
UNIT_WORDS = {
    *("number", "kind", "title", "goal", "file", "aliases", "wire", "wire_why", "line_rate"),
    *("line_rate_why", "sysctls", "hours", "steps", "check", "decisions", "variants"),
}
WORK_WORDS = {"steps", "hint", "hints", "what", "why", "title", "variant", "seed", "note"}
NOT_TYPED = {"do", "stops", "ends", "enter", "skip"}
Value = TypeVar("Value")


class UnitError(WanlabError):
    """A unit that cannot be used, with every problem found in it."""

    def __init__(self, problems: list[Problem], source: str) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in problems]
        if len(lines) > 1:
            lines = [f"{len(lines)} problems", *(f"  {line}" for line in lines)]
        super().__init__(f"{source}: " + "\n".join(lines))


class Reader:
    """Takes values out of mappings and notes what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, place: str, what: str, hint: str = "") -> None:
        self.problems.append(Problem(place, what, hint))

    def mapping(self, value: Any, place: str, known: set[str] | None) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self.wrong(place, f"{value!r} is not a mapping")
            return {}
        for word in value:
            if known is not None and word not in known:
                self.wrong(f"{place}.{word}".lstrip("."), "unknown", did_you_mean(str(word), known))
        return dict(value)

    def list(self, value: Any, place: str) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong(place, f"{value!r} is not a list")
            return []
        return value

    def text(self, value: Any, place: str, *, needed: bool = False) -> str:
        if value is None or value == "":
            if needed:
                self.wrong(place, "is missing")
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.wrong(place, f"{value!r} is not a text")
            return ""
        return str(value)

    def texts(self, value: Any, place: str) -> tuple[str, ...]:
        """One, or a list."""
        values = value if isinstance(value, list) else [] if value is None else [value]
        return tuple(self.text(one, f"{place}[{i}]") for i, one in enumerate(values))

    def number(self, value: Any, place: str) -> float | None:
        if value is None:
            return None
        # YAML reads 1e6 as a text.
        if not isinstance(value, bool):
            try:
                return float(value)
            except (TypeError, ValueError):
                pass
        self.wrong(place, f"{value!r} is not a number")
        return None

    def whole(self, value: Any, place: str) -> int | None:
        return None if value is None else int(self.number(value, place) or 0)

    def parsed(self, value: Any, place: str, parse: Callable[[str], Value]) -> Value | None:
        try:
            return None if value is None else parse(str(value))
        except WanlabError as error:
            self.wrong(place, error.what, error.hint)
            return None

    def band(self, own: Mapping[str, Any], place: str) -> Band:
        band = Band(*(self.number(own.get(w), f"{place}.{w}") for w in ("at_least", "at_most")))
        if band.at_least is not None and band.at_most is not None and band.at_least > band.at_most:
            self.wrong(place, f"nothing is at least {band.at_least} and at most {band.at_most}")
        return band

    # -- steps ------------------------------------------------------------------------------------

    def step(self, value: Any, place: str, count: int) -> Step:
        own = self.mapping(value, place, STEP_WORDS)
        where = tuple(
            name.strip() for name in self.text(own.get("where"), f"{place}.where").split(",")
        )
        do = own.get("do") or {}
        do = {do: True} if isinstance(do, str) else self.mapping(do, f"{place}.do", GUI_WORDS)
        lines = self.texts(own.get("type"), f"{place}.type")
        if not lines and not NOT_TYPED & set(own):
            self.wrong(place, "nothing is done", f"it needs one of: type, {', '.join(NOT_TYPED)}")
        if lines and where == (GUI,):
            self.wrong(f"{place}.type", "nothing is typed into a GUI", "name a terminal in `where`")
        if not where[0] and "skip" not in own:
            self.wrong(f"{place}.where", "is missing")
        if own.get("waits_for") not in (None, "enter"):
            self.wrong(f"{place}.waits_for", f"{own['waits_for']!r} is unknown", "it may be: enter")
        numbers = own.get("enter")
        numbers = numbers if isinstance(numbers, list) else [numbers] if numbers else []
        return Step(
            n=int(self.number(own.get("n", count), f"{place}.n") or 0),
            at=self.text(own.get("at"), f"{place}.at"),
            where=where,
            lines=lines,
            for_ns=self.parsed(own.get("for"), f"{place}.for", parse_duration),
            do=do,
            starts=self.text(own.get("starts"), f"{place}.starts"),
            stops=self.text(own.get("stops"), f"{place}.stops"),
            ends=self.text(own.get("ends"), f"{place}.ends"),
            waits_for_enter=own.get("waits_for") == "enter",
            enter=tuple(int(self.number(n, f"{place}.enter") or 0) for n in numbers),
            printed=self.text(own.get("printed"), f"{place}.printed"),
            note=self.text(own.get("note"), f"{place}.note"),
            is_optional=bool(own.get("optional")),
            skip=self.text(own.get("skip"), f"{place}.skip"),
            status=None if own.get("status") is None else int(own["status"]),
            expect=tuple(
                self.expectation(one, f"{place}.expect[{i}]")
                for i, one in enumerate(self.list(own.get("expect"), f"{place}.expect"))
            ),
            says=self.texts(own.get("says"), f"{place}.says"),
        )

    def expectation(self, value: Any, place: str) -> Expectation:
        own = self.mapping(value, place, EXPECT_WORDS)
        take = self.text(own.get("take"), f"{place}.take", needed=True)
        self.parsed(take or None, f"{place}.take", takes.parse)
        return Expectation(
            what=self.text(own.get("what"), f"{place}.what", needed=True),
            take=take,
            manual=self.text(own.get("manual"), f"{place}.manual"),
            unit=self.text(own.get("unit"), f"{place}.unit"),
            band=self.band(own, place),
            why=self.text(own.get("why"), f"{place}.why"),
            explained=self.text(own.get("explained"), f"{place}.explained"),
            of=self.whole(own.get("of"), f"{place}.of"),
        )

    def steps(self, value: Any, place: str = "steps") -> tuple[Step, ...]:
        listed = self.list(value, place)
        steps = tuple(self.step(one, f"{place}[{i}]", i + 1) for i, one in enumerate(listed))
        waiting: set[int] = set()
        running: set[str] = set()
        earlier: set[int] = set()
        for i, step in enumerate(steps):
            earlier.add(step.n)
            for j, one in enumerate(step.expect):
                if one.of is not None and one.of not in earlier:
                    self.wrong(f"{place}[{i}].expect[{j}].of", f"there is no step {one.of} before")
            waiting |= {step.n} if step.waits_for_enter else set()
            for number in step.enter:
                if number not in waiting:
                    self.wrong(f"{place}[{i}].enter", f"nothing waits for Enter in step {number}")
                waiting.discard(number)
            for word, name in (("stops", step.stops), ("ends", step.ends)):
                if name and name not in running:
                    hint = did_you_mean(name, running)
                    self.wrong(f"{place}[{i}].{word}", f"{name} does not run", hint)
                running.discard(name)
            running |= {step.starts} if step.starts else set()
        if waiting:
            self.wrong(place, f"step {min(waiting)} waits for Enter, and nobody presses it")
        return steps

    # -- checks -----------------------------------------------------------------------------------

    def check(self, value: Any, place: str) -> Check:
        own = self.mapping(value, place, CHECK_WORDS)
        take = self.text(own.get("take"), f"{place}.take")
        self.parsed(take or None, f"{place}.take", takes.parse)
        if not take and "says" not in own:
            self.wrong(place, "nothing is looked at", "it needs take or says")
        flows = own.get("measure")
        flows = flows if isinstance(flows, list) else [] if flows is None else [flows]
        if bool(flows) == ("state" in own):
            self.wrong(place, "it needs either measure or state")
        return Check(
            what=self.text(own.get("what"), f"{place}.what", needed=True),
            points=self.number(own.get("points", 1), f"{place}.points") or 0.0,
            hint=self.text(own.get("hint"), f"{place}.hint", needed=True),
            take=take,
            band=self.band(own, place),
            says=self.texts(own.get("says"), f"{place}.says"),
            flows=tuple(self.flow(one, f"{place}.measure") for one in flows),
            state=self.text(own.get("state"), f"{place}.state"),
            place=self.text(own.get("in", CLIENT), f"{place}.in"),
        )

    def flow(self, value: Any, place: str) -> Flow:
        own = self.mapping(value, place, {"server", "client", "flow"})
        words = ("server", "client", "flow")
        return Flow(*(self.text(own.get(w), f"{place}.{w}", needed=True) for w in words))

    def decision(self, value: Any, place: str) -> Decision:
        own = self.mapping(value, place, {"what", "decided", "because"})
        words = ("what", "decided", "because")
        return Decision(*(self.text(own.get(w), f"{place}.{w}", needed=True) for w in words))

    # -- the whole --------------------------------------------------------------------------------

    def unit(self, value: Any, folder: Path) -> Unit:
        own = self.mapping(value, "", UNIT_WORDS)
        kind = self.text(own.get("kind"), "kind", needed=True)
        if kind and kind not in KINDS:
            self.wrong("kind", f"{kind!r} is unknown", did_you_mean(kind, KINDS))
        wire = self.text(own.get("wire", "gso"), "wire")
        if wire not in ("mtu", "gso"):
            self.wrong("wire", f"{wire!r} is unknown", "it may be: mtu, gso")
        sysctls = self.mapping(own.get("sysctls") or {}, "sysctls", None)
        title, goal, file = (self.text(own.get(w), w, needed=True) for w in _NEEDED)
        return Unit(
            folder=folder,
            number=int(self.number(own.get("number"), "number") or 0),
            kind=kind,
            title=title,
            goal=goal,
            file=file,
            aliases=self.texts(own.get("aliases"), "aliases"),
            wire=wire,
            wire_why=self.text(own.get("wire_why"), "wire_why"),
            line_rate=self.text(own.get("line_rate", "0"), "line_rate"),
            line_rate_why=self.text(own.get("line_rate_why"), "line_rate_why"),
            sysctls={name: str(setting) for name, setting in sysctls.items()},
            hours=self.number(own.get("hours", 1), "hours") or 0.0,
            steps=self.steps(own.get("steps")),
            check=tuple(
                self.check(one, f"check[{i}]")
                for i, one in enumerate(self.list(own.get("check"), "check"))
            ),
            decisions=tuple(
                self.decision(one, f"decisions[{i}]")
                for i, one in enumerate(self.list(own.get("decisions"), "decisions"))
            ),
            variants=tuple(
                self.mapping(one, f"variants[{i}]", None)
                for i, one in enumerate(self.list(own.get("variants"), "variants"))
            ),
        )


_NEEDED = ("title", "goal", "file")


def read(folder: Path) -> Unit:
    """The unit in a folder. UnitError with everything that is wrong in its lab.yaml."""
    path = folder / "lab.yaml"
    reader = Reader()
    unit = reader.unit(_document(path), folder)
    if reader.problems:
        raise UnitError(reader.problems, str(path))
    return unit


@dataclass(frozen=True)
class Work:
    """A file of steps: a solution, or one that is wrong."""

    steps: tuple[Step, ...]
    what: str = ""
    hints: tuple[str, ...] = ()
    """Words that the check must say."""
    variant: int | None = None
    """The variant of the unit that it is meant for."""
    seed: int | None = None


def read_work(path: Path) -> Work:
    """UnitError with everything that is wrong in it."""
    reader = Reader()
    document = _document(path)
    own: dict[str, Any] = {"steps": document}
    if isinstance(document, Mapping):
        own = reader.mapping(document, "", WORK_WORDS)
    elif isinstance(document, list) and document and _is_end(document[-1]):
        own = {"steps": document[:-1], **document[-1]}
    work = Work(
        steps=reader.steps(own.get("steps")),
        what=reader.text(own.get("what", own.get("title")), "what"),
        hints=reader.texts(own.get("hint", own.get("hints")), "hint"),
        variant=reader.whole(own.get("variant"), "variant"),
        seed=reader.whole(own.get("seed"), "seed"),
    )
    if reader.problems:
        raise UnitError(reader.problems, str(path))
    return work


def _is_end(value: Any) -> bool:
    """A list of steps may end with {hint: ...}."""
    return isinstance(value, Mapping) and set(value) <= {"hint", "hints"}


def _document(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f"line {place.line + 1}: " if place else ""
        what = getattr(error, "problem", None) or str(error)
        raise WanlabError(f"{path}: {line}this is not YAML: {what}") from None
