"""Test the values drawn from seeds: networks of students differ, and no script solves all."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.labs import catalog, lesson, seed_values, student_files, unit_file, unit_run
from wanlab.labs.agreement import manual_range
from wanlab.labs.instructor import solution_of
from wanlab.labs.unit import Unit
from wanlab.labs.unit_file import UnitError
from wanlab.shared_folder import SharedFolder

DRAWING = ("prob1", "prob2", "prob3")
SEEDS = range(1, 41)
UNIT = """\
title: A test
goal: To be drawn.
file: test.mn
kind: problem
draw:
  rate: [100, 200, 400]
  side: [{sender: h1, receiver: h2}, {sender: h2, receiver: h1}]
  text: ["from <sender> at <rate>"]
calculate:
  bdp: rate * 40 * 125
  twice: 2 * bdp
check:
- what: <text>, <twice>, <br>
  state: tc -j qdisc show dev <sender>-eth0
  in: <sender>
  metric: tbf.rate_mbps
  at_least: <0.5 * rate>
  hint: look at <receiver>
"""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("prob1", {"rate": 1000, "rtt": 50}),
        ("prob2", {"rate": 1000, "delay": 20, "loss": 0.1, "sender": "h1", "bdp": 2_500_000}),
        ("prob3", {"rate": 100, "access": 0, "bdp": 500_000}),
    ],
)
def test_seed_0_has_the_values_that_the_manual_prints(
    name: str, printed: dict[str, int | float | str]
) -> None:
    values = unit_file.for_seed(catalog.find(name), 0).values
    assert {key: values[key] for key in printed} == printed


@pytest.mark.parametrize(("seed", "counts"), [(0, True), (1, False), (2, False)])
def test_the_goal_of_problem_2_counts_as_the_manuals_number_with_its_path_only(
    seed: int, counts: bool
) -> None:
    unit = unit_file.for_seed(catalog.find("prob2"), seed)
    file = solution_of(unit, seed)
    assert file is not None
    steps = unit_file.read_work(file, unit.values).steps
    goals = [expected for step in steps for expected in step.expect if "900" in expected.manual]
    assert [bool(manual_range(goal.manual, goal.means)) for goal in goals] == [counts]


def test_a_value_of_the_manual_must_be_one_that_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(UNIT + "manual: {rat: 100}\n")
    with pytest.raises(UnitError, match="nothing of this name is drawn"):
        unit_file.read(tmp_path)


def commands(name: str, seed: int) -> tuple[str, ...]:
    """Return the commands of a seed's own solution that change something."""
    unit = unit_file.for_seed(catalog.find(name), seed)
    file = solution_of(unit, seed)
    assert file is not None
    steps = unit_file.read_work(file, unit.values).steps
    lines = [(step.where, line) for step in steps for line in step.lines]
    changing = ("tc qdisc change", "tc qdisc del", "sysctl -w")
    return tuple(
        f"{where[0]} {line}" for where, line in lines if any(word in line for word in changing)
    )


@pytest.mark.parametrize("name", DRAWING)
def test_few_seeds_share_a_solution(name: str) -> None:
    solutions = [commands(name, seed) for seed in SEEDS]
    assert all(solutions)
    most = max(solutions.count(solution) for solution in solutions)
    assert most <= len(SEEDS) // 3
    assert len(set(solutions)) >= len(SEEDS) // 4


@pytest.mark.parametrize("name", DRAWING)
def test_the_promised_values_differ_from_seed_to_seed(name: str) -> None:
    units = [unit_file.for_seed(catalog.find(name), seed) for seed in SEEDS]
    promised = [tuple((c.what, c.band) for c in unit.check if c.is_guard) for unit in units]
    assert max(promised.count(one) for one in promised) <= len(SEEDS) // 4


def read(tmp_path: Path, text: str, seed: int = 1) -> Unit:
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    (folder / "lab.yaml").write_text(text)
    return unit_file.read(folder, seed)


def test_values_fill_texts_and_numbers(tmp_path: Path) -> None:
    seen = set()
    for seed in range(20):
        unit = read(tmp_path, UNIT, seed)
        rate, sender = unit.values["rate"], unit.values["sender"]
        assert isinstance(rate, int)
        check = unit.check[0]
        assert check.what == f"from {sender} at {rate}, {rate * 10000}, <br>"
        assert (check.terminal, check.band.at_least) == (sender, rate / 2)
        seen.add((rate, sender))
    assert len(seen) == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate * 40 * 125", "rate * delay", "line 10 (calculate.bdp): .*there is no number delay"),
        ("rate * 40 * 125", "open('x')", "line 10 (calculate.bdp): .*it is not a calculation"),
        ("[100, 200, 400]", "[]", "line 6 (draw.rate): there is nothing to draw"),
    ],
)
def test_an_invalid_drawing_rule_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(UnitError) as error:
        read(tmp_path, UNIT.replace(old, new))
    place, _, what = message.partition(": ")
    assert place in str(error.value)
    assert what.replace(".*", "") in str(error.value)


def test_expressions_contain_only_numbers() -> None:
    values: seed_values.Values = {"a": 3, "b": "text"}
    assert seed_values.calculate("-(a + 1) * 2 / 4", values) == -2
    for expression in ("b", "a ** 9", "__import__('os')", "a.real", "1 / 0", ""):
        with pytest.raises(WanlabError):
            seed_values.calculate(expression, values)


def test_notes_are_for_everybody_and_answers_are_not() -> None:
    text = (
        "<details><summary>In the manual</summary>\n\nIt says 9.\n\n</details>\n\n"
        "<details><summary>Answer</summary>\n\nIt is 8.\n\n</details>\n"
    )
    shown = lesson.for_students(text, catalog.find("1"))
    assert "**In the manual.** It says 9." in shown
    assert "It is 8" not in shown


def test_the_students_folder_holds_no_answers(tmp_path: Path) -> None:
    for name in DRAWING:
        unit = unit_file.for_seed(catalog.find(name), 2)
        home = tmp_path / name
        student_files.install(SharedFolder(home), [unit])
        texts = "".join(p.read_text() for p in home.rglob("*") if p.suffix in (".md", ".sh"))
        for word in ("netem", "tc qdisc", "Answer", "cure", "fault and"):
            assert word not in texts.replace("tc -s qdisc", "").replace("tc qdisc show", "") or (
                word in lesson.for_students(lesson.read(unit), unit)
            )
        script = next(home.rglob(f"*{unit.number}/set_env.sh")).read_text()
        assert "loss" not in script
        assert "delay" not in script


def test_another_seed_writes_another_script(tmp_path: Path) -> None:
    scripts = set()
    for seed in (1, 2, 3):
        student_files.install(
            SharedFolder(tmp_path), [unit_file.for_seed(catalog.find("prob1"), seed)]
        )
        scripts.add(next(tmp_path.rglob("set_env.sh")).read_text())
    assert len(scripts) == 3


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(12)
def test_a_solution_solves_its_own_seed_and_not_the_next(tmp_path: Path) -> None:
    script = tmp_path / "seed3.sh"
    lines = [line.removeprefix("client ") for line in commands("prob1", 3)]
    script.write_text("\n".join(lines))
    points = []
    for seed in (3, 4):
        unit = catalog.find("prob1")
        report = unit_run.grade_work(unit, script, seed=seed, clock="virtual", say=lambda _: None)
        points.append((report["points"], report["passed"]))
    assert points == [(10, True), (0, False)]


@pytest.mark.parametrize(
    "expression",
    ["9" * 400 + " / 3", "1e308 * 10", "1e308 * 10 - 1e308 * 10", "-" * 100_000 + "1", "(" * 999],
)
def test_a_calculation_that_python_cannot_do_is_refused(expression: str) -> None:
    with pytest.raises(WanlabError, match="as in rate"):
        seed_values.calculate(expression, {})
