"""Checks x states: what each check of a lab says of an untouched, a half-done and a right network.

A state is made by the lab's own commands up to a step, without its measurements. `P` is a check that
passes, `F` one that fails, in the order of lab.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.labs import catalog, grade, student_files, unit_run
from wanlab.labs.runner import StepRunner
from wanlab.labs.unit import Step, Unit
from wanlab.shared_folder import SharedFolder

pytestmark = pytest.mark.machine

CHANGES = re.compile(
    r"(sudo )?(tc (qdisc|class|filter) (add|del|change|replace)|sysctl -w|ethtool -K|ifconfig \S+ mtu) "
)
UNTOUCHED, ALL = 0, 10_000
SHAPER_STAYS = "sudo tc qdisc del dev s1-eth1 parent 1: handle 2:"
QUICK = [
    # unit, the step up to which the commands are typed, marks
    ("1", UNTOUCHED, "FFF"),
    ("3", UNTOUCHED, "FFPF"),
    ("3", ALL, "PPPP"),
    ("4", UNTOUCHED, "PPPPF"),
    ("4", 8, "FPFPF"),
    ("4", ALL, "PPPPF"),
    ("6", UNTOUCHED, "FFFFFP"),
    ("6", 8, "PFFFFP"),
    ("6", ALL, "PPPPPP"),
    ("10", UNTOUCHED, "FFFFFF"),
    ("10", 8, "FPFFFF"),
    ("10", ALL, "PPPPFF"),
    ("11", UNTOUCHED, "FFFFFF"),
    ("16", 16, "PFFP"),
    ("16", 30, "PFPP"),
    ("16", ALL, "PPPP"),
]
LONG = [
    ("2", UNTOUCHED, "FFP"),
    ("5", UNTOUCHED, "FFFPF"),
    ("5", 22, "FFPPF"),
    ("5", ALL, "PPPPP"),
    ("7", UNTOUCHED, "FFFFF"),
    ("7", 9, "PFPFP"),
    ("7", 25, "PPPFF"),
    ("7", ALL, "PPPPP"),
    ("8", UNTOUCHED, "FFFFF"),
    ("8", 9, "PPFFF"),
    ("8", 17, "PPPFF"),
    ("8", ALL, "PPPPP"),
    ("9", UNTOUCHED, "FPFF"),
    ("9", 9, "FFPP"),
    ("9", 19, "PPFF"),
    ("9", ALL, "PPPP"),
    ("11", 23, "PPFFPF"),
    ("11", 81, "PPPPPF"),
    ("11", ALL, "PPPPPP"),
    ("12", UNTOUCHED, "FFFPP"),
    ("12", 18, "PPFPP"),
    ("12", ALL, "PPPPP"),
    ("13", UNTOUCHED, "FFFFFP"),
    ("13", 9, "FFFFPF"),
    ("13", 16, "PPFFPF"),
    ("13", 19, "PPPFPF"),
    ("13", ALL, "PPPPPP"),
    ("14", UNTOUCHED, "FFFFF"),
    ("14", 12, "PFFFF"),
    ("14", 19, "PFPFP"),
    ("14", ALL, "PPPPP"),
    ("15", UNTOUCHED, "FFFF"),
    ("15", 8, "PFFF"),
    ("15", ALL, "PPPP"),
    ("16", UNTOUCHED, "FFFF"),
    ("16", 9, "PFFF"),
    ("17", UNTOUCHED, "FFFFF"),
    ("17", 22, "PPFPF"),
    ("17", ALL, "PPPPP"),
    ("18", UNTOUCHED, "FFFFF"),
    ("18", 20, "PFFFF"),
    ("18", 22, "PFPFF"),
    ("18", 40, "PFPFP"),
    ("18", 58, "PFPFF"),
    ("18", 59, "PFPPP"),
    ("18", ALL, "PPPPP"),
    ("19", UNTOUCHED, "FFFF"),
    ("19", 16, "PFFF"),
    ("19", 30, "PFPP"),
    ("19", ALL, "PPPP"),
    ("20", UNTOUCHED, "FFFFF"),
    ("20", 20, "PFFFF"),
    ("20", 32, "PPPFF"),
    ("20", 34, "PPPPF"),
    ("20", ALL, "PPPPP"),
]
OF_FILES = [
    # unit, the steps that are performed, marks
    ("1", (10, 11, 12, 26), "PFP"),  # without the base of section 3.3
    ("1", (10, 11, 12, 19, 20), "FFF"),  # drawn, but not saved
    ("1", (10, 11, 12, 19, 20, 26), "PPP"),
]
LONG_OF_FILES = [
    ("2", (31, 32, 36), "PFP"),
    ("2", (31, 32, 33, 36), "PPP"),
]
OTHERWISE_RIGHT = [
    # unit, what is done otherwise than in the lesson, and how
    ("8", "52428800", "400000000"),
    ("11", "limit 26214400", "limit 25000000"),
    ("11", "131072000", "262144000"),
    ("13", "(s[12]-eth[12]) mtu 9000", r"\1 mtu 9216"),
]
DELAY = "tc qdisc add dev h1-eth0 root netem delay 100ms"


def commands(unit: Unit, until: int) -> Iterator[Step]:
    """Yield the steps of a lab that change qdiscs, kernel parameters and offloads."""
    for step in unit_run.beginning(unit):
        lines = tuple(line for line in step.lines if CHANGES.match(line))
        if step.n <= until and lines and not step.skip:
            yield Step(step.n, "", step.where, lines)


def marks(folder: Path, name: str, steps: list[Step], seed: int = 1) -> str:
    unit = catalog.find(name)
    student_files.install(SharedFolder(folder), [unit])
    with StepRunner(unit, folder, seed=seed, clock="virtual", say=lambda line: None) as runner:
        runner.run_topology()
        outcomes = runner.perform(steps)
        results = grade.grade(unit, runner.network)
    assert [problem for outcome in outcomes for problem in outcome.problems] == []
    return "".join("P" if mark.is_passed else "F" for mark in results)


@pytest.mark.parametrize(("name", "until", "expected"), QUICK)
def test_a_check_says_what_is_so(tmp_path: Path, name: str, until: int, expected: str) -> None:
    assert marks(tmp_path, name, [*commands(catalog.find(name), until)]) == expected


@pytest.mark.long
@pytest.mark.parametrize(("name", "until", "expected"), LONG)
def test_a_check_that_measures_flows_says_what_is_so(
    tmp_path: Path, name: str, until: int, expected: str
) -> None:
    assert marks(tmp_path, name, [*commands(catalog.find(name), until)]) == expected


def chosen(name: str, numbers: tuple[int, ...]) -> list[Step]:
    return [step for step in catalog.find(name).steps if step.n in numbers]


@pytest.mark.parametrize(("name", "numbers", "expected"), OF_FILES)
def test_a_check_of_a_file_says_what_is_so(
    tmp_path: Path, name: str, numbers: tuple[int, ...], expected: str
) -> None:
    assert marks(tmp_path, name, chosen(name, numbers)) == expected


@pytest.mark.long
@pytest.mark.parametrize(("name", "numbers", "expected"), LONG_OF_FILES)
def test_a_check_of_files_of_flows_says_what_is_so(
    tmp_path: Path, name: str, numbers: tuple[int, ...], expected: str
) -> None:
    assert marks(tmp_path, name, chosen(name, numbers)) == expected


def test_lab_10_is_passed_with_what_its_scripts_set(tmp_path: Path) -> None:
    scripts = [
        Step(1, "", ("h4",), ("sysctl -w net.ipv4.tcp_rmem='10240 87380 52428800'",)),
        Step(2, "", ("h3",), ("sysctl -w net.ipv4.tcp_congestion_control=bbr",)),
    ]
    typed = [*commands(catalog.find("10"), ALL)]
    assert marks(tmp_path, "10", [*typed, *scripts]) == "PPPPPP"


@pytest.mark.parametrize(
    "seed", [5, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 21) if seed != 5)]
)
def test_lab_4_notices_a_loss_of_10_percent_with_every_seed(tmp_path: Path, seed: int) -> None:
    half_done = [*commands(catalog.find("4"), 8)]
    assert marks(tmp_path, "4", half_done, seed) == "FPFPF"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 21))
def test_lab_4_is_right_at_its_end_with_every_seed(tmp_path: Path, seed: int) -> None:
    right = [*commands(catalog.find("4"), ALL)]
    assert marks(tmp_path, "4", right, seed) == "PPPPF"  # the tests themselves were not made


@pytest.mark.long
@pytest.mark.parametrize(("name", "printed", "typed"), OTHERWISE_RIGHT)
def test_a_check_accepts_another_right_network(
    tmp_path: Path, name: str, printed: str, typed: str
) -> None:
    unit = catalog.find(name)
    steps = [
        Step(step.n, "", step.where, tuple(re.sub(printed, typed, line) for line in step.lines))
        for step in commands(unit, ALL)
    ]
    assert marks(tmp_path, name, steps) == "P" * len(unit.check)


@pytest.mark.long
def test_lab_12_accepts_a_delay_of_which_each_direction_has_half(tmp_path: Path) -> None:
    halves = Step(0, "", ("client",), ("sudo tc qdisc add dev s2-eth1 root netem delay 10ms",))
    steps = [
        Step(step.n, "", step.where, tuple(line.replace("20ms", "10ms") for line in step.lines))
        for step in commands(catalog.find("12"), ALL)
    ]
    assert marks(tmp_path, "12", [halves, *steps]) == "PPPPP"


def lab_3(jitter: str) -> list[Step]:
    return [Step(1, "", ("h1",), (f"{DELAY} {jitter}",))]


@pytest.mark.parametrize(
    "seed", [1, 102, 114, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 19))]
)
def test_lab_3_asks_for_jitter_whether_or_not_h1_knows_the_hardware_address(
    tmp_path: Path, seed: int
) -> None:
    right = "20ms distribution normal"
    assert marks(tmp_path / "right", "3", lab_3(right), seed) == "PPPP"
    # The first reply waits for ARP and takes 200 ms: that is not jitter.
    assert marks(tmp_path / "half", "3", lab_3(""), seed) == "PFPF"


@pytest.mark.long
def test_lab_20_is_not_passed_if_a_shaper_before_htb_remains(tmp_path: Path) -> None:
    steps = [
        Step(step.n, "", step.where, tuple(line for line in step.lines if line != SHAPER_STAYS))
        for step in commands(catalog.find("20"), ALL)
    ]
    assert marks(tmp_path, "20", steps) == "PPPPF"
