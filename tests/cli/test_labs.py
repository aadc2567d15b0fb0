"""Test `wanlab lab`: names of units, lessons, exit statuses."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from process_tree import children

from wanlab import load
from wanlab.cli import execute, lab_start
from wanlab.errors import WanlabError
from wanlab.labs import catalog, lesson
from wanlab.labs.distribution import CONSTANT
from wanlab.labs.lab_network import network_of
from wanlab.labs.series import expected_s


def test_a_lesson_is_shown_without_answers_however_it_is_printed(wanlab: Any) -> None:
    cure = b"tbf rate 800mbit burst 500000 limit"
    for options in ((), ("--text",)):
        shown = wanlab("lab", "show", "prob1", "--seed", "3", *options).output
        assert b"800 Mbit/s" in shown
        assert cure not in shown
        assert b"wanlab lab show prob1 --hint 1 --seed 3" in shown
    assert cure in wanlab("lab", "show", "prob1", "--seed", "3", "--answers").output
    assert b"What can be wrong" in wanlab("lab", "show", "prob1", "--instructor").output


def test_a_figure_is_opened_by_its_name(wanlab: Any) -> None:
    shown = wanlab("lab", "show", "7", "--figure", "phases").output
    assert Path(shown.decode().strip()).read_bytes().startswith(b"<svg")
    errors = wanlab("lab", "show", "7", "--figure", "phase").errors
    assert "no figure phase" in errors
    assert "did you mean phases?" in errors


def test_hints_are_shown_one_at_a_time(wanlab: Any) -> None:
    first = wanlab("lab", "show", "prob1", "--hint", "1").output
    assert b"First hint" in first
    assert b"Second hint" not in first
    assert b"--hint 2" in first
    assert "its hints: 1 to 2" in wanlab("lab", "show", "prob1", "--hint", "3").errors


def test_answers_can_be_switched_off(wanlab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lesson.SWITCH, "no")
    with pytest.raises(WanlabError, match="switched off"):
        lesson.refuse_answers()
    monkeypatch.setenv(lesson.SWITCH, "yes")
    lesson.refuse_answers()


def test_units_are_listed_for_programs(wanlab: Any) -> None:
    rows = json.loads(wanlab("lab", "list", "--json").output)
    units = {row["name"]: row for row in rows}
    for name in catalog.names():
        assert units[name]["steps"] == len(catalog.find(name).steps)


def test_the_steps_are_listed_with_their_numbers(wanlab: Any) -> None:
    lines = wanlab("lab", "show", "16", "--steps").output.decode().splitlines()
    assert len(lines) == 1 + 57
    assert lines[0].split() == ["step", "section", "what", "to", "do"]
    assert " ".join(lines[15].split()).startswith("15 3.1/4 h3$ sysctl -w net.ipv4.tcp_wmem=")
    # The steps of a problem are those before its tasks, never its solution.
    assert "tbf" not in wanlab("lab", "show", "prob1", "--steps").output.decode()


def test_a_lesson_goes_to_a_pipe_as_its_markdown_source(wanlab: Any) -> None:
    name = next(n for n in catalog.names() if (catalog.folder_of(n) / "lesson.md").is_file())
    unit = catalog.find(name)
    text = lesson.for_students(lesson.read(unit), unit)
    assert wanlab("lab", "show", name).output.decode() == text


@pytest.mark.parametrize("verb", ["show", "run", "check", "start"])
def test_an_unknown_unit_is_reported(wanlab: Any, verb: str) -> None:
    ran = wanlab("lab", verb, "77")
    assert ran.status == 1
    assert "there is no unit 77 here" in ran.errors


def test_a_check_needs_a_script_or_a_session(wanlab: Any) -> None:
    ran = wanlab("lab", "check", "ex1")
    assert ran.status == 1
    assert "--script FILE" in ran.errors


def test_a_missing_script_is_reported(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("lab", "check", "ex1", "--script", str(tmp_path / "none.sh"))
    assert ran.status == 1
    assert "cannot read" in ran.errors


def test_the_longest_unit_is_started_first() -> None:
    assert expected_s(catalog.find("14")) > expected_s(catalog.find("15")) > 20
    assert expected_s(catalog.find("1")) < 20


@pytest.mark.long
@pytest.mark.machine
def test_units_run_side_by_side_and_are_summed_up(wanlab: Any, tmp_path: Path) -> None:
    options = ["-j", "2", "--json", "--results", str(tmp_path / "results")]
    ran = wanlab("lab", "run", "1", "ex1", *options, "--table", str(tmp_path / "course.md"))
    rows = json.loads(ran.output)
    assert [(row["name"], row["status"]) for row in rows] == [("1", 0), ("ex1", 0)]
    kept = json.loads((tmp_path / "results" / "course.json").read_text())
    assert kept["units"] == rows
    assert kept["together"]["steps"] == sum(row["steps"] for row in rows)
    page = (tmp_path / "results" / "course.html").read_text()
    assert all((tmp_path / "results" / row["report"]).is_file() for row in rows)
    assert all(row["report"] in page for row in rows)
    assert "Lab 1: Introduction to Mininet" in (tmp_path / "course.md").read_text()
    written = [(tmp_path / "results" / row["report"]).stat().st_mtime_ns for row in rows]
    ran = wanlab("lab", "run", "1", "ex1", *options, "--resume")
    assert json.loads(ran.output) == rows
    assert written == [(tmp_path / "results" / row["report"]).stat().st_mtime_ns for row in rows]


@pytest.mark.long
@pytest.mark.machine
def test_one_unit_with_several_seeds_gives_distributions(wanlab: Any, tmp_path: Path) -> None:
    options = ["--seeds", "2", "--seed", "5", "-j", "2", "--results", str(tmp_path / "results")]
    ran = wanlab("lab", "run", "1", *options)
    assert ran.status == 0, ran.errors
    written = (tmp_path / "results" / "lab01-seed5" / "report.json").stat().st_mtime_ns
    assert wanlab("lab", "run", "1", *options).output == ran.output
    assert (tmp_path / "results" / "lab01-seed5" / "report.json").stat().st_mtime_ns == written
    lines = ran.output.decode().splitlines()
    assert lines[0] == "Lab 1: Introduction to Mininet, 2 seeds"
    (kept,) = (tmp_path / "results").glob("*-seed5-to-6.json")
    document = json.loads(kept.read_text())
    assert (document["seeds"], document["failed"]) == ([5, 6], {})
    assert document["numbers"]
    assert all(len(number["values"]) == 2 for number in document["numbers"])
    constant = sum(number["verdict"] == CONSTANT for number in document["numbers"])
    says = f"{len(document['numbers'])} numbers: {constant} are the same with every seed"
    assert says in ran.output.decode()


def test_distributions_need_a_table(wanlab: Any) -> None:
    ran = wanlab("lab", "run", "1", "--distributions", "docs")
    assert (ran.status, "--distributions needs --table" in ran.errors) == (2, True)


def test_several_seeds_need_a_single_unit(wanlab: Any) -> None:
    ran = wanlab("lab", "run", "1", "2", "--seeds", "3")
    assert (ran.status, "--seeds works with a single unit only" in ran.errors) == (1, True)


@pytest.mark.machine
def test_a_series_that_is_interrupted_ends_its_units(wanlab: Any) -> None:
    series = wanlab.start("lab", "run", "14", "16", "1", "-j", "2")
    began = [series.stderr.readline() for _ in range(2)]
    assert all(b"started" in line for line in began)
    units = units_with_a_machine(series.pid, 2)
    series.terminate()
    ran = wanlab.end(series)
    assert ran.status == 128 + signal.SIGTERM
    # This process has adopted whatever has outlived the series.
    assert ran.left_behind == []
    assert [pid for pid in units if Path(f"/proc/{pid}").exists()] == []


def units_with_a_machine(series: int, count: int) -> list[int]:
    """Wait until this many units of a series run a machine; return all processes of these units.

    A series has workers, a worker forks a process for each unit, and the kernel of a unit's machine
    is a child of that one, as are programs that it asks for a moment.
    """
    give_up = time.monotonic() + PATIENCE_S
    while True:
        workers = list(children(series))
        units = [unit for worker in workers for unit in children(worker)]
        below = {unit: children(unit) for unit in units}
        running = [
            (unit, *found)
            for unit, found in below.items()
            if any("memory_file=" in words for words in found.values())
        ]
        if len(running) >= count:
            return [pid for unit in running for pid in unit]
        assert time.monotonic() < give_up, f"not {count} units with a machine: {below}"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("start", "1", "--pace", "slow"), "slow"),
        (
            ("start", "1", "--pace", "fast", "--clock", "real"),
            "--pace fast needs the virtual clock",
        ),
        (("start", "1", "--start-jitter", "5"), 'the time "5" has no unit'),
        (("run", "1", "--start-jitter", "soon"), '"soon" is not a time'),
    ],
)
def test_options_of_time_are_checked_before_anything_runs(
    wanlab: Any, options: tuple[str, ...], message: str
) -> None:
    ran = wanlab("lab", *options)
    assert ran.status == 1
    assert message in ran.errors
    assert list(wanlab.folder.iterdir()) == []


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_student_at_a_terminal_is_asked_to_wait_while_the_network_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_terminal: bool,
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr(execute, "run_in", lambda *_: 0)
    lab_start.start("1", seed=None, clock="virtual", folder=tmp_path / "x", without_tmux=True)
    assert (lab_start.STARTING in capsys.readouterr().err) == is_terminal


@pytest.mark.long
@pytest.mark.machine
def test_a_lab_starts_at_a_step_with_all_earlier_ones_done(wanlab: Any) -> None:
    lines = b"h1 iperf3 -c 10.0.0.2 -t 1 -f m\nsh pkill -INT iperf3\nh1 pwd\n"
    ran = wanlab("lab", "start", "16", "--at", "18", "--folder", "x", "--no-tmux", input=lines)
    assert ran.status == 0, ran.errors
    errors = ran.errors
    assert "performing 17 steps, about 10 s of virtual time" in errors
    assert "h1$ sysctl -w net.ipv4.tcp_wmem='10240 87380 52428800'" in errors
    assert "running: iperf3 -s (h3); to end it: h3 pkill -INT iperf3" in errors
    assert "went wrong" not in errors
    (session,) = (wanlab.folder / "x" / "transcripts").glob("*.wanlab")
    verified = wanlab("replay", str(session), "--verify")
    assert verified.status == 0, verified.errors


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("99", "Lab 16: Random Early Detection has no step 99 (its steps are 1 to 57; see: "),
        ("0", "has no step 0"),
        (
            "22",
            "at step 22, the command of step 20 is still waiting for Enter (start at step 20, or",
        ),
    ],
)
def test_a_lab_does_not_start_at_a_wrong_step(wanlab: Any, at: str, message: str) -> None:
    ran = wanlab("lab", "start", "16", "--at", at, "--folder", "x")
    assert ran.status == 1
    assert message in ran.errors
    assert not (wanlab.folder / "x").exists()


def test_terminals_open_in_the_folder_that_earlier_steps_changed_to(tmp_path: Path) -> None:
    unit = catalog.find("16")
    network = network_of(unit, load(unit.topology), tmp_path, seed=1, clock="virtual")
    words = lab_start.tmux(unit, network, "hello", {"h1": "/home/admin/RED", "client": "/x y"})
    assert "cd /home/admin/RED; exec wanlab-node h1" in words
    assert "cd /home/admin; exec wanlab-node h2" in words
    assert any(word.startswith("cd '/x y'; PS1='client") for word in words)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_ctrl_b_changes_the_window_however_fast_keys_arrive(tmp_path: Path) -> None:
    """The network's clock may stand still, so that all keys seem to arrive at once."""
    options = [
        word for pair in lab_start.TMUX_OPTIONS.items() for word in (";", "set", "-g", *pair)
    ]
    tmux = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    windows = ["new-session", "-n", "one", "cat", ";", "new-window", "-d", "-n", "two", "cat"]
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}
    master, slave = pty.openpty()
    started = subprocess.Popen(
        [*tmux, *windows, *options], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    try:
        read_until(master, b"0:one*")
        os.write(master, b"typed\x021")
        read_until(master, b"1:two*")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, env=environment)
        started.wait(PATIENCE_S)
        os.close(slave)
        os.close(master)


def read_until(terminal: int, text: bytes) -> None:
    seen = b""
    give_up = time.monotonic() + PATIENCE_S
    while text not in seen:
        assert select.select([terminal], [], [], max(0, give_up - time.monotonic()))[0], seen
        seen += os.read(terminal, 65536)


@pytest.mark.machine
def test_the_advice_for_a_teachers_unit_works_where_it_is_given(wanlab: Any) -> None:
    """The folder of units is named in full, and is visible in the network, even below /tmp."""
    advice = wanlab("lab", "new", "slow", "--units", "my units").output.decode()
    assert "then: wanlab lab start slow --units 'my units'" in advice
    units = wanlab.folder / "my units"
    check = f"wanlab lab check slow --units '{units}'"
    ran = wanlab(
        "lab",
        "start",
        "slow",
        "--units",
        "my units",
        "--no-tmux",
        input=f"sh {check}\n".encode(),
    )
    assert f"to have your work graded, type in the client's terminal: {check}\n" in ran.errors
    assert b"of 4 points" in ran.output
