"""The course's units can be read, and all that they refer to exists."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wanlab import load
from wanlab.labs import catalog, student_files, unit_file, unit_run
from wanlab.labs.unit import CLIENT, GUI, MININET, Unit
from wanlab.topology import draw

NAMES = list(catalog.names())
SOLVED = ("exercise", "problem")


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
    student_files.install(tmp_path, [unit])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)) for path in files} == {
        n for n, _ in student_files.files_of(unit)
    }
    for path in files:
        assert bool(path.stat().st_mode & 0o100) is (path.suffix == ".sh")
        path.write_text("mine")
    student_files.install(tmp_path, [unit])
    of_the_seed = {"lesson.md", "set_env.sh"} if unit.draws else set()
    kept = [path for path in files if path.name not in of_the_seed]
    assert {path.read_text() for path in kept} <= {"mine"}


@pytest.mark.machine
@pytest.mark.parametrize("seed", [102, 114])
def test_lab_3_is_passed_whether_or_not_h1_knows_the_hardware_address(
    tmp_path: Path, seed: int
) -> None:
    script = tmp_path / "3.sh"
    script.write_text(
        "wanlab-node h1 tc qdisc add dev h1-eth0 root netem delay 100ms 20ms distribution normal\n"
    )
    unit = catalog.find("3")
    report = unit_run.grade_work(unit, script, seed=seed, clock="virtual", say=lambda line: None)
    assert report["points"] == report["of"]
