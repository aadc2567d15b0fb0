"""Read lab.yaml and solution.yaml; report everything that is wrong in them at once.

An unknown word is an error with its position: `line 31 (steps[6].expect[0].atleast)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.fields import Fields, Problems
from wanlab.input_file import read_input
from wanlab.measure.metrics import parse_metric
from wanlab.yaml_text import YamlDocument, parse_yaml

from . import seed_values
from .durations import parse_duration
from .sources import parse_source
from .unit import (
    CLIENT,
    GUI,
    KINDS,
    Band,
    Check,
    CheckFlow,
    Decision,
    Expectation,
    Recording,
    Step,
    Unit,
)

GUI_WORDS = {
    "open",
    "run",
    "stop",
    "terminal",
    "close",
    "new",
    "draw",
    "properties",
    "preferences",
    "save",
    "look",
}
WITHOUT_LINES = ("do", "stops", "ends", "enter", "skip")
"""A step with one of these words needs no lines to type."""
MAX_BYTES = 1 << 20
MANUAL_SEED = 0
"""The seed with which a unit has the values that the manual prints, not drawn ones."""
Value = TypeVar("Value")


class UnitError(InputError):
    """A unit that cannot be used, with every problem found in it."""


@dataclass(frozen=True)
class Work:
    """A file of steps: a solution, or a wrong one."""

    steps: tuple[Step, ...]
    what: str = ""
    hints: tuple[str, ...] = ()
    """Texts that the check must print."""
    variant: int | None = None
    """The variant of the unit that it is meant for."""
    seed: int | None = None


def read(folder: Path, seed: int = 1, own_name: str = "") -> Unit:
    """Read the unit in a folder, with the values that a seed draws.

    `own_name` is the name of a unit in a teacher's folder.

    Raises UnitError with everything that is wrong in its lab.yaml.
    """
    path = folder / "lab.yaml"
    document = _document(path)
    values = _values(document, path, seed)
    data = seed_values.fill(document.data, values) if values else document.data
    unit = _checked(data, document, path, lambda fields: _unit(fields, folder, values))
    return replace(unit, own_name=own_name)


def for_seed(unit: Unit, seed: int) -> Unit:
    """Return a unit with the values that a seed draws.

    A unit is found by its name before its seed is known, so its file is read again where a seed draws
    values. One seed decides three things: these values, the variant of a problem's faults, and the
    random numbers of the machine.
    """
    return read(unit.folder, seed, unit.own_name) if unit.draws else unit


def read_work(
    path: Path, values: seed_values.Values | None = None, *, is_trusted: bool = True
) -> Work:
    """Read a solution. Raises UnitError with everything that is wrong in it.

    It is a mapping, or a list of steps, which may end with {hint: ...}. `values` fill its
    placeholders. A file that is not trusted may not repeat parts by reference, because a short file
    could then become arbitrarily large.
    """
    document = _document(path, allow_references=is_trusted)
    if document.data is None and not document.problems:
        raise WanlabError(f"{path} is empty", "write the steps of your solution into it")
    data = seed_values.fill(document.data, values) if values else document.data
    if isinstance(data, list):
        last = data[-1] if data else None
        if isinstance(last, Mapping) and set(last) <= {"hint", "hints"}:
            data = {"steps": data[:-1], **last}
        else:
            data = {"steps": data}
    return _checked(data, document, path, _work)


def _checked(
    data: object, document: YamlDocument, path: Path, read_fields: Callable[[Fields], Value]
) -> Value:
    """Return what `read_fields` reads, if neither the YAML nor the reading has a problem."""
    is_list = isinstance(document.data, list)
    problems = Problems(
        lambda field: document.locate(field.removeprefix("steps") if is_list else field)
    )
    problems.extend(document.problems)
    value = read_fields(Fields(data, "", problems))
    if problems:
        raise UnitError(problems, str(path))
    return value


def _document(path: Path, *, allow_references: bool = True) -> YamlDocument:
    try:
        text = read_input(path, max_bytes=MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise WanlabError(f"cannot read {path}: it is not UTF-8 text") from None
    # Some units repeat steps by reference. These files are trusted, so no text is too large.
    return parse_yaml(text, str(path), allow_references=allow_references)


# -- what the seed draws --------------------------------------------------------------------------


def _values(document: YamlDocument, path: Path, seed: int) -> dict[str, seed_values.Value]:
    """Draw the values of a seed, and calculate those that follow from them."""
    if not isinstance(document.data, Mapping) or "draw" not in document.data:
        return {}

    def read_values(fields: Fields) -> dict[str, seed_values.Value]:
        draws = fields.mapping("draw")
        lists: dict[str, list[object]] = {}
        for name in draws:
            lists[name] = [value for _, value in draws.items(name)]
            if not lists[name] and isinstance(draws.value(name), list | None):
                draws.problem(name, "there is nothing to draw")
        count = len(tuple(fields.mappings("variants")))
        values: dict[str, seed_values.Value] = {"seed": seed}
        if count:
            values["variant"] = max(seed - 1, 0) % count + 1
        if not fields.problems:
            values |= seed_values.draw(path.parent.name, lists, seed)
        manual = fields.mapping("manual")
        for name in manual if not fields.problems else ():
            if name not in values:
                manual.problem(name, "nothing of this name is drawn", did_you_mean(name, values))
        if seed == MANUAL_SEED:
            values |= seed_values.plain(manual.rest())
        calculations = fields.mapping("calculate")
        for name in calculations if not fields.problems else ():
            try:
                values[name] = seed_values.calculate(str(calculations.value(name)), values)
            except WanlabError as error:
                calculations.problem(name, error.what, error.hint)
        return seed_values.with_texts_filled(values)

    return _checked(document.data, document, path, read_values)


# -- the whole file -------------------------------------------------------------------------------


def _unit(fields: Fields, folder: Path, values: seed_values.Values) -> Unit:
    for word in ("draw", "manual", "calculate"):
        fields.value(word)
    fields.require("title", "goal", "file", "kind")
    kind = fields.word("kind") or ""
    if kind and kind not in KINDS:
        fields.problem("kind", f"unknown kind {kind!r}", did_you_mean(kind, KINDS))
    wire = fields.word("wire") or "gso"
    if wire not in ("mtu", "gso"):
        fields.problem("wire", f"unknown wire {wire!r}", "use one of: mtu, gso")
    hours, seed = fields.number("hours"), fields.integer("seed")
    if seed is not None and not fields.word("seed_why"):
        fields.problem(
            "seed", "it needs a reason", "state in seed_why how probable its results are"
        )
    unit = Unit(
        folder=folder,
        number=fields.integer("number") or 0,
        kind=kind,
        title=fields.word("title") or "",
        goal=fields.word("goal") or "",
        file=fields.word("file") or "",
        aliases=fields.words("aliases"),
        wire=wire,
        wire_why=fields.word("wire_why") or "",
        line_rate=fields.word("line_rate") or "0",
        line_rate_why=fields.word("line_rate_why") or "",
        sysctls={name: str(value) for name, value in fields.mapping("sysctls").rest().items()},
        seed=1 if seed is None else seed,
        seed_why=fields.word("seed_why") or "",
        hours=1.0 if hours is None else hours,
        steps=_steps(fields),
        check=tuple(_check(item) for item in fields.mappings("check")),
        decisions=tuple(_decision(item) for item in fields.mappings("decisions")),
        variants=tuple(item.rest() for item in fields.mappings("variants")),
        draws=bool(values),
        values=values,
    )
    fields.refuse_rest()
    return unit


def _work(fields: Fields) -> Work:
    fields.value("why")
    fields.value("note")
    work = Work(
        steps=_steps(fields),
        what=fields.word("what") or fields.word("title") or "",
        hints=fields.words("hint") or fields.words("hints"),
        variant=fields.integer("variant"),
        seed=fields.integer("seed"),
    )
    fields.word("title")
    fields.words("hints")
    fields.refuse_rest()
    return work


# -- steps ----------------------------------------------------------------------------------------


def _steps(fields: Fields) -> tuple[Step, ...]:
    steps = tuple(_step(item, count) for count, item in enumerate(fields.mappings("steps"), 1))
    waiting: set[int] = set()
    running: set[str] = set()
    earlier: set[int] = set()
    for i, step in enumerate(steps):
        path = f"{fields.path_of('steps')}[{i}]"
        earlier.add(step.n)
        for j, expected in enumerate(step.expect):
            if expected.of is not None and expected.of not in earlier:
                what = f"there is no step {expected.of} before this one"
                fields.problems.add(f"{path}.expect[{j}].of", what)
        waiting |= {step.n} if step.waits_for_enter else set()
        for number in step.enter:
            if number not in waiting:
                fields.problems.add(f"{path}.enter", f"nothing waits for Enter in step {number}")
            waiting.discard(number)
        for word, name in (("stops", step.stops), ("ends", step.ends)):
            if name and name not in running:
                hint = did_you_mean(name, running)
                fields.problems.add(f"{path}.{word}", f"{name} is not running", hint)
            running.discard(name)
        running |= {step.starts} if step.starts else set()
    if waiting:
        fields.problem("steps", f"step {min(waiting)} waits for Enter, and nobody presses it")
    return steps


def _step(fields: Fields, count: int) -> Step:
    where = tuple(name.strip() for name in (fields.word("where") or "").split(","))
    lines = fields.words("type")
    if not lines and not any(word in fields for word in WITHOUT_LINES):
        hint = f"it needs one of: type, {', '.join(WITHOUT_LINES)}"
        fields.problems.add(fields.path, "this step does nothing", hint)
    if lines and where == (GUI,):
        hint = "name a terminal in `where`"
        fields.problem("type", "nothing can be typed into the GUI", hint)
    if not where[0] and "skip" not in fields:
        fields.problem("where", '"where" is missing')
    if "skip" in fields and "expect" in fields:
        fields.problem("expect", "a step that is not performed has no numbers", "leave out one")
    waits_for = fields.value("waits_for")
    if waits_for not in (None, "enter"):
        fields.problem("waits_for", f"{waits_for!r} is unknown", "it may be: enter")
    after = fields.value("after")
    if after not in (None, "check"):
        fields.problem("after", f"{after!r} is unknown", "it may be: check")
    number = fields.integer("n")
    step = Step(
        n=count if number is None else number,
        at=fields.word("at") or "",
        where=where,
        lines=lines,
        for_ns=fields.parsed("for", lambda text: parse_duration(str(text))),
        do=_gui_actions(fields),
        starts=fields.word("starts") or "",
        stops=fields.word("stops") or "",
        ends=fields.word("ends") or "",
        waits_for_enter=waits_for == "enter",
        enter=_step_numbers(fields, "enter"),
        printed=fields.word("printed") or "",
        note=fields.word("note") or "",
        is_optional=bool(fields.value("optional")),
        follows_check=after == "check",
        skip=fields.word("skip") or "",
        status=fields.integer("status"),
        expect=tuple(_expectation(item) for item in fields.mappings("expect")),
        says=fields.words("says"),
        record=_recording(fields),
    )
    fields.value("file")
    fields.refuse_rest()
    return step


def _gui_actions(fields: Fields) -> Mapping[str, object]:
    """Read `do: run`, or `do: {open: FILE, run: true}`."""
    action = fields.value("do")
    if isinstance(action, str) and action:
        return {action: True}
    actions = fields.mapping("do")
    for word in actions:
        if word not in GUI_WORDS:
            actions.problem(word, f'unknown action "{word}"', did_you_mean(word, GUI_WORDS))
    return actions.rest()


def _step_numbers(fields: Fields, key: str) -> tuple[int, ...]:
    """Read one number of a step, or a list of them."""
    if not isinstance(fields.value(key), list):
        number = fields.integer(key)
        return () if number is None else (number,)
    numbers = []
    for path, value in fields.items(key):
        if isinstance(value, int):
            numbers.append(value)
        else:
            fields.problems.add(path, f"{value!r} is not the number of a step")
    return tuple(numbers)


def _expectation(fields: Fields) -> Expectation:
    fields.require("what", "metric")
    expectation = Expectation(
        what=fields.word("what") or "",
        metric=_metric(fields),
        manual=fields.word("manual") or "",
        unit=fields.word("unit") or "",
        band=_band(fields),
        why=fields.word("why") or "",
        cause=fields.word("cause") or "",
        tried=fields.word("tried") or "",
        changed=fields.word("changed") or "",
        means=_range(fields, "means"),
        seeds=_range(fields, "seeds"),
        of=fields.integer("of"),
    )
    fields.refuse_rest()
    return expectation


def _range(fields: Fields, key: str) -> tuple[float, float] | None:
    """Read one number, or a list of the lowest and the highest."""
    if isinstance(fields.value(key), list):
        ends = [value for _, value in fields.items(key) if isinstance(value, int | float)]
        if len(ends) == 2 and ends[0] <= ends[1]:
            return float(ends[0]), float(ends[1])
        fields.problem(key, "this is no range", "write two numbers, the lower one first: [25, 40]")
        return None
    number = fields.number(key)
    return None if number is None else (number, number)


def _recording(step: Fields) -> Recording | None:
    """Read the description of a step's record."""
    if "record" not in step:
        return None
    if "stops" in step or "ends" in step:
        hint = "put it at the step that starts the command"
        step.problem("record", "a step that ends a command has no record of its own", hint)
    fields = step.mapping("record")
    fields.require("name", "title", "sources")
    sources = fields.words("sources")
    for index, source in enumerate(sources):
        try:
            parse_source(source)
        except WanlabError as error:
            fields.problem(f"sources[{index}]", error.what, error.hint)
    recording = Recording(
        name=fields.word("name") or "",
        title=fields.word("title") or "",
        sources=sources,
        limit_bytes=fields.integer("limit_bytes"),
    )
    fields.refuse_rest()
    return recording


def _metric(fields: Fields) -> str:
    fields.parsed("metric", lambda text: parse_metric(str(text)))
    return fields.word("metric") or ""


def _band(fields: Fields) -> Band:
    band = Band(fields.number("at_least"), fields.number("at_most"))
    if band.at_least is not None and band.at_most is not None and band.at_least > band.at_most:
        what = f"no number is at least {band.at_least} and at most {band.at_most}"
        fields.problems.add(fields.path, what)
    return band


# -- checks ---------------------------------------------------------------------------------------


def _check(fields: Fields) -> Check:
    fields.require("what", "hint")
    for word in ("unit", "why"):
        fields.value(word)
    if "metric" not in fields and "says" not in fields:
        fields.problems.add(fields.path, "this checks nothing", "it needs metric or says")
    flows = _flows(fields)
    if bool(flows) == ("state" in fields):
        fields.problems.add(fields.path, "it needs either measure or state")
    points = fields.number("points")
    check = Check(
        what=fields.word("what") or "",
        points=1.0 if points is None else points,
        hint=fields.word("hint") or "",
        metric=_metric(fields),
        band=_band(fields),
        says=fields.words("says"),
        flows=flows,
        state=fields.word("state") or "",
        terminal=fields.word("in") or CLIENT,
        through=fields.words("through"),
        is_guard=bool(fields.value("guard")),
    )
    fields.refuse_rest()
    return check


def _flows(fields: Fields) -> tuple[CheckFlow, ...]:
    """Read one flow, or a list of them."""
    value = fields.value("measure")
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(_flow(item) for item in fields.mappings("measure"))
    return (_flow(fields.mapping("measure")),)


def _flow(fields: Fields) -> CheckFlow:
    return CheckFlow(*_required_words(fields, "server", "client", "flow"))


def _decision(fields: Fields) -> Decision:
    return Decision(*_required_words(fields, "what", "decided", "because"))


def _required_words(fields: Fields, *keys: str) -> tuple[str, ...]:
    fields.require(*keys)
    words = tuple(fields.word(key) or "" for key in keys)
    fields.refuse_rest()
    return words
