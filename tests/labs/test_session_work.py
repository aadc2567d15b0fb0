"""Submitted sessions are graded by performing their input again; their recorded output is ignored.

The unit's bottleneck should have 100 Mbit/s and has 10.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from session_text import lines_of, written

from wanlab import Network, load, save, shapes
from wanlab.errors import WanlabError
from wanlab.labs import hand_in, session_work, student_files, unit_file, unit_run
from wanlab.labs.class_run import ClassOptions, ClassRun, alike
from wanlab.labs.lab_network import network_of
from wanlab.labs.report import GradeReport
from wanlab.labs.students import read_students
from wanlab.labs.unit import Unit
from wanlab.session import SessionError, parse
from wanlab.shared_folder import SharedFolder

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

UNIT = """\
number: 9
kind: problem
title: A test
goal: To be graded.
file: Problem9.mn
steps:
- {n: 1, where: gui, do: {open: Problem9.mn, run: true}}
check:
- what: the bottleneck is used
  measure: {server: h2, client: h1, flow: "iperf3 -c 10.0.0.2 -t 1 -J"}
  metric: iperf3.receiver.mbps
  through: s1-eth2
  at_least: 80
  at_most: 100
  points: 3
  hint: look at the shaper
- what: it has its rate
  state: tc -j qdisc show dev s1-eth2
  metric: tbf.rate_mbps
  at_least: 99
  at_most: 101
  points: 2
  hint: look at the shaper's rate
"""
SET_ENV = """\
#!/bin/sh
tc qdisc replace dev s1-eth2 root handle 1: tbf rate 10mbit burst 20000 limit 500000
"""
CURE = "tc qdisc replace dev s1-eth2 root handle 1: tbf rate 100mbit burst 50000 limit 500000\n"
RESULT = json.dumps({"end": {"sum_received": {"bits_per_second": 9.5e7, "bytes": 1.2e7}}})
FAKE = f"cat > iperf3 <<'X'\n#!/bin/sh\necho '{RESULT}'\nX\nchmod +x iperf3\n"
MOUNT = "mount --bind iperf3 /usr/bin/iperf3\n"


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    folder = tmp_path / "units" / "problem9"
    folder.mkdir(parents=True)
    (folder / "lab.yaml").write_text(UNIT)
    (folder / "set_env.sh").write_text(SET_ENV)
    (folder / "set_env.sh").chmod(0o755)
    save(shapes.linear(2), folder / "topology.mn")
    return unit_file.read(folder)


def session_of(unit: Unit, home: Path, typed: str) -> bytes:
    """Record what a student types in a terminal of `wanlab lab start`."""
    home.mkdir(parents=True, exist_ok=True)
    student_files.install(SharedFolder(home), [unit])
    network = network_of(unit, load(unit.topology), home, seed=1, clock="virtual")
    network.session.record(home / "s.wanlab")
    with network:
        network.root.run(f"sh {student_files.folder_of(unit)}/set_env.sh")
        shell = network.root.start("bash --norc", terminal=(24, 80))
        for line in typed.splitlines(keepends=True):
            network.run_for("200ms")
            shell.write(line)
        network.run_for("1s")
    return (home / "s.wanlab").read_bytes()


def graded(unit: Unit, content: bytes) -> GradeReport:
    return unit_run.grade_work(
        unit,
        None,
        session=parse(content, "s.wanlab"),
        seed=1,
        clock="virtual",
        say=lambda line: None,
    )


def edited(content: bytes, before: str, after: str) -> bytes:
    """Replace text in a session file, and calculate its checksums again."""
    text = json.dumps(lines_of(content))
    assert before in text
    return written(json.loads(text.replace(before, after)))


def test_an_honest_session_gets_its_points_and_a_truncated_one_those_of_its_rest(
    unit: Unit, tmp_path: Path
) -> None:
    content = session_of(unit, tmp_path / "home", f"echo begin\n{CURE}echo done\n")
    report = graded(unit, content)
    assert (report["points"], report["of"]) == (5, 5), report["checks"]
    assert (report["notes"], report["changed_programs"]) == ([], [])
    assert "done" in report["outputs"][-1]["output"]

    cut = content[: content.index(b"100mbit") + 10]
    report = graded(unit, cut)
    assert report["points"] == 0
    assert report["notes"][0].startswith("the session file was cut short at ")

    with pytest.raises(SessionError, match="has been changed"):
        parse(content.replace(b"100mbit", b"101mbit"), "s.wanlab")


@pytest.mark.parametrize(
    ("typed", "changed"),
    [
        (FAKE + "export PATH=$PWD:$PATH\n", "iperf3"),
        ("mkdir -p /tmp/bin; cd /tmp/bin\n" + FAKE + "PATH=/tmp/bin:$PATH\n", "/tmp/bin/iperf3"),
        (FAKE + MOUNT, "iperf3"),
    ],
    ids=["in the working folder", "in PATH", "bind mount"],
)
def test_a_faked_program_gets_no_points_and_is_named(
    unit: Unit, tmp_path: Path, typed: str, changed: str
) -> None:
    report = graded(unit, session_of(unit, tmp_path / "home", typed))
    assert report["points"] == 0, report["checks"]
    assert any(path.endswith(changed) for path in report["changed_programs"]), report
    assert not any("wanlab-check" in path for path in report["changed_programs"])


def test_forged_content_of_a_session_gets_no_points(unit: Unit, tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    (home / "result.json").write_text(RESULT)
    content = session_of(unit, home, "echo all is as it was\n")
    # The output, the network's set-up and the working folder are forged, with correct checksums.
    forged = edited(content, "all is as it was", "passed 5 of 5 points")
    forged = edited(forged, '"seed": 1,', '"seed": 2,')
    forged = edited(forged, '"line_rate_bps": ', '"line_rate_bps": 1')
    report = graded(unit, forged)
    assert report["points"] == 0
    assert report["notes"] == ["recorded with seed 2, graded with 1"]
    with pytest.raises(SessionError, match=r'a line of a session .*"arguments" is missing'):
        graded(unit, edited(content, '"arguments"', '"argument"'))


def test_a_session_cannot_write_outside_of_its_folder(unit: Unit, tmp_path: Path) -> None:
    (secret := tmp_path / "set_env.sh").write_text("mine")
    name = f"{student_files.folder_of(unit)}/set_env.sh"
    content = session_of(unit, tmp_path / "home", CURE)
    forged = edited(content, f'"file": "{name}"', f'"link": "{name}", "to": "{secret}"')
    assert graded(unit, forged)["points"] == 5
    assert secret.read_text() == "mine"


@pytest.mark.long
def test_a_class_is_graded_by_its_sessions(unit: Unit, tmp_path: Path) -> None:
    home = tmp_path / "home"
    honest = session_of(unit, home, CURE)
    faked = session_of(unit, tmp_path / "other", FAKE + MOUNT)
    students = {"Ada": honest, "Ben": honest, "Cy": faked, "Dora": honest[:-30], "Eve": b"no\n"}
    for name, content in students.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "problem9.wanlab").write_bytes(content)
    (home / "s.wanlab").write_bytes(honest)
    (home / "problem9.sh").write_text("true\n")
    (tmp_path / "class" / "Ada" / "problem9.wanlab").unlink()
    zipped = tmp_path / "class" / "Ada" / "problem9-seed1.zip"
    named = replace(unit, own_name="problem9")  # as in the folder of the course
    hand_in.pack(named, 1, SharedFolder(home), home / "problem9.sh", zipped, home / "s.wanlab")
    (tmp_path / "seeds.csv").write_text("student,seed\n" + "".join(f"{n},1\n" for n in students))
    options = ClassOptions(
        folder=tmp_path / "class",
        students=read_students(tmp_path / "seeds.csv"),
        results=tmp_path / "grades",
        course=tmp_path / "units",
        jobs=2,
        by_session=True,
    )
    run = ClassRun(options)
    results = {result["student"]: result for result in run.run()}
    assert {name: result["points"] for name, result in results.items()} == {
        "Ada": 5,
        "Ben": 5,
        "Cy": 0,
        "Dora": 5,
        "Eve": 0,
    }, results
    assert "programs changed" in results["Cy"]["notes"][0]
    assert "cut short" in results["Dora"]["notes"][0]
    assert "is not a session file" in results["Eve"]["error"]
    assert results["Eve"]["handed_in"] != ""
    pairs = {(pair.first, pair.second): pair.text for pair in alike(run.scripts, run.sessions)}
    assert pairs["Ada", "Ben"] == "the same session file"
    with pytest.raises(WanlabError, match="has no session"):
        hand_in.pack(unit, 1, SharedFolder(tmp_path / "class"), home / "problem9.sh", zipped)
        session_work.read_session(zipped)


def test_inputs_are_performed_in_another_network(tmp_path: Path) -> None:
    """A program that reads lines, Ctrl-C, and a command at the prompt of the host service."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Network(shapes.single(2), folder=tmp_path / "a", session=tmp_path / "s.wanlab") as network:
        reader = network["h1"].start("read word; echo got $word in $PWD", stdin=True)
        network.run_for("1s")
        reader.write("hello\n")
        shell = network["h2"].start("bash --norc", terminal=(24, 80))
        shell.write("sleep 100; echo slept\n")
        network.run_for("1s")
        shell.write("\x03")
        network.run_for("1s")
        shell.write("echo $((6 * 7)) > result\n")
        network.run_for("1s")
    session = parse((tmp_path / "s.wanlab").read_bytes(), "s")
    with Network(shapes.single(2), folder=tmp_path / "b", seed=7) as network:
        network.run_for("300ms")
        performed = network.session.perform_inputs(session)
        assert network.now_ns == 4_300_000_000
        assert performed.processes[0].output == f"got hello in {tmp_path / 'b'}\n"
        assert performed.problems == []
    assert (tmp_path / "b" / "result").read_text() == "42\n"
