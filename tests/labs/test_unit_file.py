"""Test reading lab.yaml; all problems are reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.labs import unit_file
from wanlab.labs.unit import Unit
from wanlab.labs.unit_file import UnitError

GOOD = """\
number: 9
kind: lab
title: A small one
goal: To be read.
file: Lab 9.mn
wire: mtu
steps:
- {n: 1, at: "1/1", where: gui, do: {open: Lab 9.mn}}
- {n: 2, at: "1/2", where: h2, type: iperf3 -s, starts: server}
- n: 3
  at: "1/3"
  where: h1
  type: iperf3 -c 10.0.0.2
  for: 1500ms
  expect:
  - {what: rate, metric: iperf3.sender.mbps, manual: "900", unit: Mbit/s, at_least: 800, at_most: 1e3}
- {n: 4, at: "1/4", where: h2, stops: server}
- {n: 5, at: "1/5", where: h1, type: ping -c 1 10.0.0.2, waits_for: enter}
- {n: 6, at: "1/6", where: h1, enter: [5], expect: [{what: sent, metric: ping.sent, of: 5, manual: 1}]}
check:
- {what: loss, state: tc -j qdisc show, metric: netem.loss_percent, at_most: 0, points: 2, hint: look}
decisions:
- {what: a, decided: b, because: c}
"""


def read(folder: Path, text: str) -> Unit:
    (folder / "lab.yaml").write_text(text)
    return unit_file.read(folder)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(UnitError) as caught:
        read(folder, text)
    return [str(problem) for problem in caught.value.problems]


def test_a_unit_is_read(tmp_path: Path) -> None:
    unit = read(tmp_path, GOOD)
    assert (unit.name, unit.heading, unit.wire) == ("9", "Lab 9: A small one", "mtu")
    assert [step.n for step in unit.steps] == [1, 2, 3, 4, 5, 6]
    assert unit.steps[2].for_ns == 1_500_000_000
    assert unit.steps[2].expect[0].band.at_most == 1000
    assert unit.steps[5].expect[0].of == 5
    assert (unit.check[0].points, unit.check[0].terminal) == (2, "client")


def test_all_problems_are_reported_at_once_with_their_places(tmp_path: Path) -> None:
    text = GOOD.replace("kind: lab", "kind: labour").replace("for: 1500ms", "four: 1500ms")
    text = text.replace("at_least: 800", "atleast: 800").replace("stops: server", "stops: serwer")
    text = text.replace("netem.loss_percent", "netem.loss")
    reported = problems(tmp_path, text)
    assert [line.split(":")[0] for line in reported] == [
        "line 2 (kind)",
        "line 16 (steps[2].expect[0].atleast)",
        "line 14 (steps[2].four)",
        "line 17 (steps[3].stops)",
        "line 21 (check[0].metric)",
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("enter: [5]", "enter: [4]", "nothing waits for Enter in step 4"),
        ("of: 5", "of: 12", "there is no step 12 before this one"),
        ("at_least: 800", "at_least: 8000", "no number is at least 8000.0 and at most 1000.0"),
        ("for: 1500ms", "for: soon", "'soon' is not a duration"),
        (
            "do: {open: Lab 9.mn}",
            "do: {dance: true}",
            'line 8 (steps[0].do.dance): unknown action "dance"',
        ),
        ("title: A small one\n", "", '"title" is missing'),
        (
            "starts: server",
            "after: dinner",
            "(steps[1].after): 'dinner' is unknown (it may be: check)",
        ),
        (", hint: look", "", '(check[0].hint): "hint" is missing'),
    ],
)
def test_a_mistake_is_reported(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in GOOD
    assert any(message in line for line in problems(tmp_path, GOOD.replace(before, after)))


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_an_empty_solution_is_called_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "ex1.yaml").write_text(text)
    with pytest.raises(WanlabError, match=r"ex1\.yaml is empty \(write the steps"):
        unit_file.read_work(tmp_path / "ex1.yaml", is_trusted=False)


def test_a_solution_may_be_a_list_or_have_fields(tmp_path: Path) -> None:
    file = tmp_path / "solution.yaml"
    file.write_text("- {where: client, type: ls}\n- {hint: the buffer}\n")
    work = unit_file.read_work(file)
    assert (len(work.steps), work.hints) == (1, ("the buffer",))
    file.write_text("what: too little\nvariant: 3\nhint: [a, b]\nsteps:\n- {where: h1, type: ls}\n")
    work = unit_file.read_work(file)
    assert (work.what, work.variant, work.hints) == ("too little", 3, ("a", "b"))


def test_invalid_yaml_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("number: 1\nkind: [\n")
    with pytest.raises(Exception, match="line 3, column 1: cannot read this YAML"):
        unit_file.read(tmp_path)
