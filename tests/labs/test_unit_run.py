"""Test the folder of a run, with a unit made for these tests: one flow of half a second."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import record, save, shapes
from wanlab.errors import RequirementError
from wanlab.labs import run_inputs, unit_file
from wanlab.labs.outcome import Outcome
from wanlab.labs.report import UnitReport
from wanlab.labs.runner import StepRunner
from wanlab.labs.shell import LabShell
from wanlab.labs.unit import Unit
from wanlab.labs.unit_run import run_unit
from wanlab.network import MachineChoice

pytestmark = [pytest.mark.machine, pytest.mark.costs(2)]

SHAPER = "tc qdisc add dev s1-eth2 root handle 1: tbf rate 10mbit burst 10000 limit 50000"
UNIT = f"""\
number: 99
kind: lab
title: A test
goal: To leave a folder.
file: Lab 99.mn
steps:
- {{n: 0, where: gui, do: run}}
- {{n: 1, where: client, type: "{SHAPER}"}}
- {{n: 2, where: h2, type: iperf3 -s, starts: server}}
- n: 3
  where: h1
  type: iperf3 -c 10.0.0.2 -n 600K -J > out.json; ping -c 1 10.0.0.2
  record:
    name: flow
    title: one flow
    sources: [queue(s1-eth2), tcp(h1), iperf3(out.json), ping]
    limit_bytes: 50000
  expect:
  - what: peak
    metric: queue(s1-eth2).peak_bytes
    manual: 10 to 5e4
    at_least: 0
    at_most: 50000
- {{n: 4, where: h2, stops: server}}
- n: 5
  where: h1
  type: ping -c 1 10.0.0.2
  expect:
  - {{what: idle, metric: queue(s1-eth2).first_bytes, manual: 0, at_least: 0, at_most: 100}}
check:
- {{what: the shaper, state: tc -j qdisc show dev s1-eth2, metric: tbf.rate_mbps, at_least: 9, hint: s1}}
"""
FILE_OF_THE_COMPUTER = "computer.json"
"""This file says how long the run took, and its programs computed."""


def ignore(line: str) -> None:
    pass


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    folder = tmp_path / "lab99"
    folder.mkdir()
    (folder / "lab.yaml").write_text(UNIT)
    save(shapes.single(2), folder / "topology.mn")
    return unit_file.read(folder)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def run(
    unit: Unit, results: Path, seed: int = 1, say: Callable[[str], None] = ignore
) -> UnitReport:
    return run_unit(unit, seed=seed, clock="virtual", results=results, say=say)


def content(folder: Path) -> dict[str, str]:
    """Return the hashes of all files by path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_file_of_the_computer_says_how_long_programs_computed(
    unit: Unit, results: Path
) -> None:
    choice = MachineChoice(traps="inprocess")
    run_unit(unit, seed=1, clock="virtual", results=results, say=ignore, choice=choice)
    folder = results / "lab99-seed1"
    computed = json.loads((folder / FILE_OF_THE_COMPUTER).read_text())["programs_computed_real_s"]
    assert set(computed) == {"h1", "h2"}
    assert min(computed.values()) > 0
    assert run_inputs.computing_warnings(folder) == []
    run_inputs.write_computer(folder, 1.0, {"h1": 2.0}, ["programs of h1 computed for long"])
    assert run_inputs.computing_warnings(folder) == ["programs of h1 computed for long"]
    assert run_inputs.read_real_s(folder) == 1.0


def test_a_run_writes_one_folder_with_all_results(unit: Unit, results: Path) -> None:
    report = run(unit, results)
    folder = results / "lab99-seed1"
    assert [path.name for path in results.iterdir()] == [folder.name]
    assert set(content(folder)) == {
        "computer.json",
        "report.html",
        "report.json",
        "report.txt",
        "transcript.txt",
        "figures/flow.pdf",
        "figures/flow.png",
        "figures/step-5.png",
        "flow/iperf3.parquet",
        "flow/ping.parquet",
        "flow/provenance.json",
        "flow/qdisc.parquet",
        "flow/raw/out.json",
        "flow/raw/ping.txt",
        "flow/tcp.parquet",
        "home/lab_topologies/Lab 99.mn",
        "home/out.json",
        "step-5/provenance.json",
        "step-5/qdisc.parquet",
    }
    assert [step["problems"] for step in report["steps"] if step["problems"]] == []
    assert json.loads(json.dumps(report)) == json.loads((folder / "report.json").read_text())
    assert json.loads((folder / FILE_OF_THE_COMPUTER).read_text())["real_s"] > 0
    assert "numbers of the manual: 2 (1 within," in (folder / "report.txt").read_text()
    assert f"client$ {SHAPER}" in (folder / "transcript.txt").read_text()
    flow = record.read(folder / "flow")
    assert report["records"]["flow"] == {"title": "one flow", "digest": flow.digest()}
    assert f"client$ {SHAPER}" in flow.provenance.commands
    assert flow.provenance.parameters == {"step": 3}


LOSSY = """\
number: 99
kind: lab
title: A test
goal: To lose packets.
file: Lab 99.mn
line_rate: 1Gbps
line_rate_why: its queue is faster
steps:
- {n: 0, where: gui, do: run}
- {n: 1, where: h1, type: ping -c 1 10.0.0.2}
- n: 2
  where: client
  type: "tc qdisc replace dev s1-eth2 root handle 1: netem delay 50ms limit 3"
- n: 3
  where: h1
  type: |
    python3 -c 'from socket import *; s = socket(AF_INET, SOCK_DGRAM);
    [s.sendto(bytes(99), ("10.0.0.2", 9)) for _ in range(20)]'; sleep 1
- n: 4
  where: client
  type: tc qdisc replace dev s1-eth1 root tbf rate 10gbit burst 10m limit 10m
- {n: 5, where: gui, do: stop}
"""


def test_a_run_says_where_packets_were_lost_and_which_queue_is_in_vain(
    unit: Unit, results: Path
) -> None:
    """The counters are gone at the end, because the last step stops the network."""
    (unit.folder / "lab.yaml").write_text(LOSSY)
    report = run(unit_file.read(unit.folder), results)
    assert [step["lost"] for step in report["steps"] if step["n"] != 3] == [[]] * 5
    (loss,) = report["steps"][3]["lost"]
    assert loss == {
        "place": "s1-eth2",
        "what": "netem 1:",
        "packets": 17,
        "share": 17 / 20,
        "cause": "netem: its limit of 3 packets was full",
        "remedy": "a larger limit (max_queue_size of a TCLink)",
    }
    (warning,) = report["warnings"]
    assert warning.startswith("s1-eth1: its shaper allows 10Gbps, but its cable carries 1Gbps")
    folder = results / "lab99-seed1"
    sentence = "s1-eth2 (netem 1:) lost 17 packets (85 %): netem: its limit of 3"
    assert f"step 3: {sentence}" in (folder / "report.txt").read_text()
    assert sentence in (folder / "report.html").read_text()


PRINTS_ITS_FOLDER = """\
- {n: 6, where: client, type: "cd ~; pwd -P; readlink -f out.json; xdg-open out.json; env"}
check:
"""


def test_runs_in_different_folders_leave_the_same_bytes(unit: Unit, results: Path) -> None:
    """Only one file says how long a run took, and no file where it was."""
    text = UNIT.replace("check:\n", PRINTS_ITS_FOLDER)
    (unit.folder / "lab.yaml").write_text(text)
    files = []
    for name in ("first", "second, in a folder whose path is much longer"):
        run(unit_file.read(unit.folder), results / name)
        folder = results / name / "lab99-seed1"
        (folder / FILE_OF_THE_COMPUTER).unlink()
        files.append({path: (folder / path).read_bytes() for path in content(folder)})
    assert files[0] == files[1]
    transcript = files[0]["transcript.txt"].decode()
    assert "/home/admin/out.json is ready to be looked at" in transcript
    assert str(results) not in transcript


@pytest.mark.long
def test_steps_that_follow_the_check_do_not_change_what_it_sees(unit: Unit, results: Path) -> None:
    removed = "- {n: 6, where: client, type: tc qdisc del dev s1-eth2 root, after: check}\n"
    later = "- {n: 7, where: h1, type: ping -c 1 10.0.0.2, says: [1 received]}\n"
    (unit.folder / "lab.yaml").write_text(UNIT.replace("check:\n", f"{removed}{later}check:\n"))
    report = run(unit_file.read(unit.folder), results)
    assert report["check"] is not None
    assert report["check"]["passed"]
    assert [step["n"] for step in report["steps"]] == list(range(8))
    assert report["performed"] == 8
    assert all(not step["problems"] for step in report["steps"])


def test_another_seed_gives_other_files(unit: Unit, results: Path) -> None:
    def flow(seed: int) -> str:
        run(unit, results, seed)
        return content(results / f"lab99-seed{seed}")["flow/tcp.parquet"]

    assert flow(seed=1) != flow(seed=2)


@pytest.mark.long
def test_a_second_run_with_the_same_name_replaces_the_first(unit: Unit, results: Path) -> None:
    run(unit, results)
    text = results / "lab99-seed1" / "report.txt"
    text.write_text("old")
    run(unit, results)
    assert "numbers of the manual" in text.read_text()


def test_measurements_from_before_an_interrupt_are_kept(unit: Unit, results: Path) -> None:
    def interrupt(line: str) -> None:
        if line.endswith("h2: Ctrl-C"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        run(unit, results, say=interrupt)
    (partial,) = results.iterdir()
    assert partial.name == "lab99-seed1.partial"
    assert raised.value.__notes__ == [f"the results so far are in {partial}"]
    assert json.loads((partial / "report.json").read_text())["interrupted"]
    assert record.read(partial / "flow").provenance.parameters == {"step": 3}


def test_an_interrupted_measurement_is_kept_up_to_the_interrupt(
    unit: Unit, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(runner: StepRunner, shell: LabShell, outcome: Outcome) -> None:
        if outcome.step.n == 3:
            raise KeyboardInterrupt
        wait(runner, shell, outcome)

    wait = StepRunner._wait
    monkeypatch.setattr(StepRunner, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(unit, results)
    kept = record.read(results / "lab99-seed1.partial" / "flow-interrupted")
    assert list(kept.tables["qdisc"]["time_ns"]) == [0]
    assert kept.provenance.parameters == {"step": 3, "interrupted": True}


def test_a_run_that_fails_to_start_leaves_nothing(unit: Unit, results: Path) -> None:
    def fail(line: str) -> None:
        raise RequirementError("there is no kernel")

    with pytest.raises(RequirementError) as raised:
        run(unit, results, say=fail)
    assert not hasattr(raised.value, "__notes__")
    assert list(results.iterdir()) == []


def test_two_equal_runs_at_once_are_refused(unit: Unit, results: Path) -> None:
    refused: list[str] = []

    def run_again(line: str) -> None:
        if not refused:
            refused.append(line)
            with pytest.raises(RequirementError, match="the same run has already started"):
                run(unit, results)

    assert run(unit, results, say=run_again)["counts"]["within"] == 1


def test_files_of_a_killed_run_are_replaced(unit: Unit, results: Path) -> None:
    run(unit, results)
    folder = results / "lab99-seed1"
    remains = folder.rename(results / "lab99-seed1.partial")
    (remains / "work").mkdir()
    (remains / "link").symlink_to(results)
    run(unit, results)
    assert [path.name for path in results.iterdir()] == [folder.name]
    assert "link" not in content(folder)
