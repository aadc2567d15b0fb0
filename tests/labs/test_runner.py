"""Run a small unit in a machine: its steps, its report, its grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wanlab import save, shapes
from wanlab.errors import MachineError
from wanlab.labs import shell, student_files, unit_file, unit_run
from wanlab.labs.outcome import Outcome
from wanlab.labs.report import is_good
from wanlab.labs.runner import StepRunner
from wanlab.labs.unit import Step, Unit
from wanlab.machine.embedded.machine import EmbeddedMachine
from wanlab.network import StartJitter
from wanlab.shared_folder import SharedFolder

pytestmark = pytest.mark.machine

SET_ENV = """\
#!/bin/sh
tc qdisc add dev s1-eth2 root handle 1: netem delay 10ms
wanlab-node h1 sysctl -q -w net.ipv4.tcp_rmem="10240 87380 50000"
echo "seed $WANLAB_SEED"
"""
UNIT = """\
number: 9
kind: problem
title: A small one
goal: To be performed.
file: Problem 9.mn
line_rate: 50Mbps
steps:
- {n: 1, at: "1", where: client, type: "uname -s; echo $HOME; pwd", says: [Linux /home/admin]}
- {n: 2, at: "1", where: gui, do: {open: Problem 9.mn}}
- {n: 3, at: "1", where: gui, do: run}
- n: 4
  at: "1"
  where: client
  type: ["cd ~/NTP_Problems/Problem9", "sudo ./set_env.sh"]
  says: [seed 3]
- n: 5
  at: "2"
  where: h1
  type: ping 10.0.0.2
  for: 3500ms
  expect: [{what: sent, metric: ping.sent, manual: 4, at_least: 4, at_most: 4, why: one a second}]
- {n: 6, at: "2", where: h2, type: iperf3 -s, starts: server}
- n: 7
  at: "2"
  where: client
  type: plot_q.sh s1-eth2
  starts: plot
  expect: [{what: idle, metric: queue(s1-eth2).first_bytes, manual: 0, at_least: 0, at_most: 0}]
- n: 8
  at: "2"
  where: h1
  type: "iperf3 -c 10.0.0.2 -t 1 -J > out.json"
  expect: [{what: rate, metric: iperf3(out.json).receiver.mbps, manual: 1, at_least: 1}]
- n: 9
  at: "2"
  where: client
  stops: plot
  expect: [{what: queue, metric: queue(s1-eth2).peak_bytes, manual: 0, at_least: 0, at_most: 0}]
- {n: 10, at: "2", where: h2, stops: server, says: [receiver]}
- {n: 11, at: "3", where: h1, type: "x=5"}
- {n: 12, at: "3", where: h1, type: "cd /tmp; echo value $x $PWD", says: [value 5 /tmp]}
- {n: 13, at: "3", where: h1, type: ping -c 2 10.0.0.2, waits_for: enter}
- {n: 14, at: "3", where: h2, type: ping -c 2 10.0.0.1, waits_for: enter}
- {n: 15, at: "3", where: "h1,h2", enter: [13, 14]}
- n: 16
  at: "3"
  where: h1
  do: look
  expect: [{what: other's, metric: ping.sent, of: 14, manual: 2, at_least: 2, at_most: 2}]
- {n: 17, at: "4", where: mininet, type: net, says: ["h1 h1-eth0:s1-eth1"]}
- n: 18
  at: "4"
  where: mininet
  type: h1 ping h2
  for: 2500ms
  expect: [{what: sent, metric: ping.sent, manual: 3, at_least: 3, at_most: 3}]
- {n: 19, at: "4", where: mininet, type: exit}
- {n: 20, at: "4", where: client, type: "false", status: 1}
- {n: 21, at: "5", where: gui, do: stop}
- {n: 22, at: "5", where: client, type: sudo mn}
- {n: 23, at: "5", where: mininet, type: nodes, says: [h1 h2 s1]}
- {n: 24, at: "5", where: mininet, type: exit}
- {n: 25, at: "5", where: client, type: echo back, says: [back]}
check:
- what: the delay is there
  state: tc -j qdisc show dev s1-eth2
  metric: netem.delay_ms
  at_least: 9.9
  at_most: 10.1
  hint: look at the delay
- what: the path is used
  measure: {server: h2, client: h1, flow: "iperf3 -c 10.0.0.2 -t 1 -J"}
  metric: iperf3.receiver.mbps
  at_least: 10
  points: 2
  hint: look at the flow
- what: buffers
  state: sysctl net.ipv4.tcp_rmem
  in: h1
  metric: sysctl.value
  at_least: 52428800
  hint: look at tcp_rmem
"""
CURE = "wanlab-node h1 sysctl -w net.ipv4.tcp_rmem='10240 87380 52428800'"


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    folder = tmp_path / "problem9"
    folder.mkdir()
    (folder / "lab.yaml").write_text(UNIT)
    (folder / "set_env.sh").write_text(SET_ENV)
    (folder / "solution.yaml").write_text(f'- {{where: client, type: "{CURE}"}}\n')
    save(shapes.single(2), folder / "topology.mn")
    return unit_file.read(folder)


def perform(unit: Unit, folder: Path, *steps: Step) -> list[Outcome]:
    folder.mkdir()
    student_files.install(SharedFolder(folder), [unit])
    with StepRunner(unit, folder) as runner:
        return runner.perform(steps)


def typed(n: int, where: str, *lines: str, **more: Any) -> Step:
    return Step(n, "", (where,), lines, **more)


def test_all_steps_are_performed_and_reported(unit: Unit, tmp_path: Path) -> None:
    results = tmp_path / "results"
    report = unit_run.run_unit(
        unit, seed=3, clock="virtual", results=results, say=lambda line: None
    )
    told = [figure for step in report["steps"] for figure in step["figures"]]
    assert [(f["what"], f["cause"]) for f in told if not f["in_band"]] == []
    assert [step["problems"] for step in report["steps"] if step["problems"]] == []
    assert (report["performed"], len(told)) == (25, 13)
    assert report["check"]
    assert (report["check"]["points"], report["check"]["passed"]) == (4, True)
    assert is_good(report)
    folder = results / "problem9-seed3"
    assert json.loads((folder / "report.json").read_text())["counts"] == report["counts"]
    page = (folder / "report.html").read_text()
    assert "value 5 /tmp" in page
    assert page.count("data:image/png;base64,") == 2
    assert (folder / "home" / "out.json").is_file()


@pytest.mark.long
def test_work_is_graded(unit: Unit, tmp_path: Path) -> None:
    def points(text: str, name: str = "work.sh") -> tuple[float, list[str]]:
        script = tmp_path / name
        script.write_text(text)
        report = unit_run.grade_work(unit, script, seed=1, clock="virtual", say=lambda line: None)
        return report["points"], [one["hint"] for one in report["checks"] if one["hint"]]

    assert points(f"# mine\nfor i in 1 2; do\n  {CURE}\ndone\n") == (4, [])
    wrong = '- {where: client, type: "sudo tc qdisc del dev s1-eth2 root"}\n'
    assert points(wrong, "work.yaml") == (2, ["look at the delay", "look at tcp_rmem"])


def test_a_terminal_works_whatever_is_typed(unit: Unit, tmp_path: Path) -> None:
    outcomes = perform(
        unit,
        tmp_path / "home",
        typed(1, "client", "echo it's", for_ns=1_000_000_000),
        typed(2, "client", "cat > ~/a.txt <<'X'", "hello $HOME", "X"),
        typed(3, "client", "cat ~/a.txt"),
        typed(4, "client", "sleep 1000 & true"),
        typed(5, "client", "sleep 1000", for_ns=1_000_000_000),
        typed(6, "client", "kill %1 && echo it was there"),
        typed(7, "client", "printf '\\1wanlab:99:0:/\\2'; echo after"),
        typed(8, "client", "exit"),
        typed(9, "client", "echo $HOME"),
        typed(10, "h9", "true"),
    )
    said = {outcome.step.n: outcome.output for outcome in outcomes}
    assert said[3] == "hello $HOME\n"
    assert "it was there" in said[6]
    assert "after" in said[7]
    assert said[9] == "/home/admin\n"
    assert outcomes[9].problems == ["there is no terminal h9 (choose from: h1, h2, s1)"]
    assert [o.problems for o in outcomes[:9]] == [[]] * 9
    assert (tmp_path / "home" / "a.txt").read_text() == "hello $HOME\n"
    assert outcomes[4].seconds == pytest.approx(1, abs=1e-3)


def started_ns(
    unit: Unit, folder: Path, *steps: Step, seed: int = 1, start_jitter_ns: int = 0
) -> list[int]:
    """Perform steps; return the times that `date +%s%N` has printed, in nanoseconds."""
    folder.mkdir(exist_ok=True)
    student_files.install(SharedFolder(folder), [unit])
    with StepRunner(unit, folder, seed=seed, start_jitter_ns=start_jitter_ns) as runner:
        outcomes = runner.perform(steps)
    assert [outcome.problems for outcome in outcomes] == [[]] * len(steps)
    return [int(word) for outcome in outcomes for word in outcome.output.split()]


def test_commands_that_start_together_start_apart_with_a_start_jitter(
    unit: Unit, tmp_path: Path
) -> None:
    steps = (
        typed(1, "h1", "date +%s%N", waits_for_enter=True),
        typed(2, "h2", "date +%s%N", waits_for_enter=True),
        Step(3, "", ("h1", "h2"), enter=(1, 2)),
    )
    ms_ns = 1_000_000

    def distance_ns(seed: int, jitter_ns: int) -> int:
        one, other = started_ns(
            unit, tmp_path / "home", *steps, seed=seed, start_jitter_ns=jitter_ns
        )
        return other - one

    assert abs(distance_ns(1, 0)) < ms_ns
    distances = [distance_ns(seed, 500 * ms_ns) for seed in (1, 2, 1)]
    assert all(ms_ns < abs(distance) < 501 * ms_ns for distance in distances)
    assert distances[0] == distances[2] != distances[1]


def test_commands_at_the_prompt_start_later_with_a_start_jitter(unit: Unit, tmp_path: Path) -> None:
    steps = (
        typed(1, "mininet", "h1 date +%s%N", "h2 date +%s%N"),
        typed(2, "mininet", "exit"),
    )
    ms_ns = 1_000_000
    jitter = StartJitter(500 * ms_ns, seed=1)
    jitter.next_ns()
    delay_ns = jitter.next_ns()
    without = started_ns(unit, tmp_path / "home", *steps)
    late = started_ns(unit, tmp_path / "home", *steps, start_jitter_ns=500 * ms_ns)
    assert late[1] - late[0] - (without[1] - without[0]) == pytest.approx(delay_ns, abs=ms_ns)


def test_a_busy_terminal_accepts_no_commands(unit: Unit, tmp_path: Path) -> None:
    outcomes = perform(
        unit,
        tmp_path / "home",
        typed(1, "h1", "sleep 100", starts="sleeper"),
        typed(2, "h1", "true"),
        Step(3, "", ("h1",), ends="sleeper"),
        typed(4, "h1", "true"),
    )
    assert [len(outcome.problems) for outcome in outcomes] == [0, 1, 0, 0]
    assert "busy with sleeper" in outcomes[1].problems[0]
    assert 99 < outcomes[2].seconds < 101


def test_the_terminal_of_a_server_that_ended_by_itself_can_be_used_again(
    unit: Unit, tmp_path: Path
) -> None:
    """It ends when its client's last packet arrives, which is after the client has ended."""
    outcomes = perform(
        unit,
        tmp_path / "home",
        typed(1, "h1", "tc qdisc add dev h1-eth0 root netem delay 10ms"),
        typed(2, "h2", "iperf3 -s -1", starts="one test"),
        typed(3, "h1", "iperf3 -c 10.0.0.2 -n 1M"),
        typed(4, "h2", "iperf3 -s", starts="server"),
        typed(5, "h1", "iperf3 -c 10.0.0.2 -n 1M", says=("iperf Done.",)),
    )
    assert [outcome.problems for outcome in outcomes] == [[]] * 5


def test_each_step_shows_the_output_printed_during_it(unit: Unit, tmp_path: Path) -> None:
    outcomes = perform(
        unit,
        tmp_path / "home",
        typed(1, "h1", "echo begun; sleep 5; echo ended", starts="slow"),
        typed(2, "h2", "sleep 2"),
        Step(3, "", ("h1",), ends="slow"),
        # This one ends by itself, like `iperf3 -s -1`.
        typed(4, "h1", "echo once; sleep 1; echo enough", starts="once"),
        typed(5, "h2", "sleep 2"),
        typed(6, "h1", "echo next"),
    )
    assert [o.problems for o in outcomes] == [[]] * 6
    said = [outcome.output.split() for outcome in outcomes]
    assert said == [["begun"], [], ["ended"], ["once", "enough"], [], ["next"]]


def test_a_step_that_does_not_end_is_stopped_and_reported(unit: Unit, tmp_path: Path) -> None:
    outcomes = perform(
        unit, tmp_path / "home", typed(1, "h1", "sleep 1000000"), typed(2, "h1", "echo alive")
    )
    assert "had not ended after 1800 s" in outcomes[0].problems[0]
    assert (outcomes[1].output, outcomes[1].problems) == ("alive\n", [])


def test_a_step_that_keeps_time_from_passing_is_ended(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "MIN_REAL_S", 3.0)
    outcomes = perform(
        unit,
        tmp_path / "home",
        typed(1, "h1", "while :; do :; done"),
        typed(2, "h1", "echo alive"),
    )
    assert "computed for 3 s without a pause" in outcomes[0].problems[0]
    assert (outcomes[1].output, outcomes[1].problems) == ("alive\n", [])


def test_a_machine_in_which_time_never_passes_again_is_ended(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if its kernel were stuck: it neither preempts nor ends a process."""
    monkeypatch.setattr(shell, "MIN_REAL_S", 0.3)
    monkeypatch.setattr(EmbeddedMachine, "_check_computing", lambda machine: False)
    monkeypatch.setattr(EmbeddedMachine, "end_stalled_process", lambda machine: None)
    with pytest.raises(MachineError):
        perform(unit, tmp_path / "home", typed(1, "h1", "while :; do :; done"))
