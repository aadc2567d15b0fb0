"""The course's units can be read, and all that they refer to exists."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from wanlab import load
from wanlab.labs import catalog, distribution, instructor, student_files, unit_file
from wanlab.labs.agreement import (
    COMPARED,
    CONTRADICTS,
    NEAR_ZERO_MS,
    SAME,
    UNKNOWN,
    manual_range,
)
from wanlab.labs.unit import CLIENT, GUI, MININET, Expectation, Unit
from wanlab.shared_folder import SharedFolder
from wanlab.topology import draw

NAMES = list(catalog.names())
SOLVED = ("exercise", "problem")
DISTRIBUTIONS = Path(__file__).parents[2] / "docs" / "evidence" / "distributions"
WIDEST = 1.5
"""The ratio of the ends of a band within which one number is like another."""


@pytest.fixture(params=NAMES)
def unit(request: pytest.FixtureRequest) -> Unit:
    return catalog.find(request.param)


def test_the_course_has_units() -> None:
    assert NAMES


def test_a_unit_is_found_under_its_name(unit: Unit) -> None:
    assert catalog.find(unit.name).folder == unit.folder == catalog.folder_of(unit.name)


def test_every_number_of_a_step_occurs_once_in_order(unit: Unit) -> None:
    assert [step.n for step in unit.steps] == list(range(1, len(unit.steps) + 1))


def test_the_topology_can_be_loaded_and_has_all_nodes_with_terminals(unit: Unit) -> None:
    topology = load(unit.topology)
    if not topology.nodes:  # the student draws the topology
        assert unit.kind == "exercise"
        return
    known = {node.name for node in topology.nodes} | {CLIENT, MININET, GUI}
    assert {place for step in unit.steps for place in step.where if place} <= known
    assert {check.terminal for check in unit.check} <= known
    assert {end for c in unit.check for f in c.flows for end in (f.server, f.client)} <= known


def test_a_topology_file_asks_for_the_wire_of_its_unit(unit: Unit) -> None:
    assert draw(load(unit.topology))["preferences"]["wire"] == unit.wire


def test_every_check_has_points_and_a_hint(unit: Unit) -> None:
    assert unit.check
    assert all(check.points > 0 and check.hint for check in unit.check)


def test_a_number_of_the_manuals_says_where_its_band_comes_from(unit: Unit) -> None:
    expected = [one for step in unit.steps for one in step.expect]
    assert [one.what for one in expected if not one.why] == []


def _expectations(unit: Unit) -> list[Expectation]:
    """Return all numbers of a unit and of its solution."""
    solution = instructor.solution_of(unit, unit.seed)
    solved = unit_file.read_work(solution, unit.values).steps if solution else ()
    return [one for step in (*unit.steps, *solved) for one in step.expect]


def _is_wide(expected: Expectation) -> bool:
    low, high = expected.band.at_least, expected.band.at_most
    if low is None or high is None:
        return True
    is_near_zero = expected.unit == "ms" and high <= NEAR_ZERO_MS
    return low != high and not is_near_zero and (low <= 0 or high / low > WIDEST)


def test_a_wide_band_is_only_for_numbers_that_differ_for_a_cause(unit: Unit) -> None:
    for expected in _expectations(unit):
        if manual_range(expected.manual, expected.means) and _is_wide(expected):
            assert expected.cause or expected.tried or expected.seeds, (unit.name, expected)


def test_ranges_over_seeds_are_those_of_the_distributions(unit: Unit) -> None:
    ranges = {one.what: one.seeds for one in _expectations(unit) if one.seeds}
    known = distribution.read_all(DISTRIBUTIONS).get(unit.name)
    assert not ranges or known is not None
    measured = {number.range for number in known.numbers} if known else set()
    assert [what for what, seeds in ranges.items() if seeds not in measured] == []


def test_the_readme_has_the_counts_of_the_page_and_every_difference_has_a_sentence() -> None:
    page = (DISTRIBUTIONS.parent / "course.md").read_text()
    counts = [re.search(rf"^\* \*{status}\* \((\d+)\)", page, re.M) for status in COMPARED]
    numbers = [int(match[1]) for match in counts if match]
    readme = " ".join((DISTRIBUTIONS.parents[2] / "README.md").read_text().split())
    within, same, contradicts, unknown = numbers
    assert (
        f"Of the manual's {sum(numbers)} numbers, {within} agree with wanlab's, {same} differ for a "
        f"stated cause although the lesson's point holds, {contradicts} contradict the lesson, and "
        f"{unknown} differ for a cause that is [not known]"
    ) in readme
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d+ \| ", line)]
    differing = [row for row in rows if row[-2] in (SAME, CONTRADICTS, UNKNOWN)]
    assert len(differing) == same + contradicts + unknown
    assert [row for row in differing if not row[-1].rstrip(" |").isdigit()] == []


def test_solutions_and_wrong_solutions_of_exercises_can_be_read(unit: Unit) -> None:
    if unit.kind not in SOLVED:
        return
    solutions = sorted(unit.folder.glob("solution*.yaml"))
    wrong = sorted((unit.folder / "wrong").glob("*.yaml"))
    assert solutions
    assert all(unit_file.read_work(path, unit.values).steps for path in solutions)
    works = {path.name: unit_file.read_work(path, unit.values) for path in wrong}
    assert [name for name, work in works.items() if not (work.steps and work.hints)] == []
    hints = " ".join(check.hint for check in unit.check)
    assert [n for n, work in works.items() if any(h not in hints for h in work.hints)] == []


def test_a_unit_with_variants_solves_each(unit: Unit) -> None:
    names = {path.stem for path in unit.folder.glob("solution*.yaml")}
    for number in range(1, len(unit.variants) + 1):
        assert names & {"solution", f"solution-{number}"}
        assert unit.variant(number) == number


def test_units_do_not_install_different_files_under_one_name() -> None:
    files = [(name, path) for n in NAMES for name, path in student_files.files_of(catalog.find(n))]
    counts = Counter(name for name, _ in files)
    assert [name for name, count in counts.items() if count > 1] == []


def test_the_manuals_folders_are_installed_and_a_students_changes_are_kept(
    unit: Unit, tmp_path: Path
) -> None:
    student_files.install(SharedFolder(tmp_path), [unit])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)) for path in files} == {
        n for n, _ in student_files.files_of(unit)
    }
    for path in files:
        assert bool(path.stat().st_mode & 0o100) is (path.suffix == ".sh")
        path.write_text("mine")
    student_files.install(SharedFolder(tmp_path), [unit])
    of_the_seed = {"lesson.md", "set_env.sh"} if unit.draws else set()
    kept = [path for path in files if path.name not in of_the_seed]
    assert {path.read_text() for path in kept} <= {"mine"}
