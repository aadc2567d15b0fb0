"""The programs on the page for instructors run as printed, and give the table that they promise."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.labs import catalog

PAGE = Path(__file__).resolve().parents[2] / "docs" / "teaching.md"
CHECK = """\
#!{python}
import json, sys
words = sys.argv[1:]
assert words[:2] == ["lab", "check"] and words[3] == "--script" and words[5] == "--seed"
if "grace" in words[4]:
    sys.exit("wanlab: cannot read it")
passed = "ada" in words[4]
checks = [{{"what": "the bottleneck is used", "passed": passed}}]
print(json.dumps({{"points": 4 * passed, "of": 4, "checks": checks, "seed": int(words[6])}}))
sys.exit(not passed)
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with what the page prints, and a `wanlab` that decides by the name of the student."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(# (\w+\.py):.*?)```", text, re.DOTALL)
    assert [name for _, name in found] == ["seeds.py", "grade.py"]
    for program, name in found:
        (tmp_path / name).write_text(program, encoding="utf-8")
    command = tmp_path / "bin" / "wanlab"
    command.parent.mkdir()
    command.write_text(CHECK.format(python=sys.executable))
    command.chmod(0o755)
    return tmp_path


def run(folder: Path, *words: str, text: str = "") -> str:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        input=text,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_student_has_a_seed_of_his_own_and_always_the_same(programs: Path) -> None:
    table = run(programs, "seeds.py", text="ada\ngrace\n")
    seeds = {row["student"]: int(row["seed"]) for row in csv.DictReader(io.StringIO(table))}
    assert list(seeds) == ["ada", "grace"]
    assert len(set(seeds.values())) == 2
    assert all(seed >= 1 for seed in seeds.values())
    assert table == run(programs, "seeds.py", text="ada\ngrace\n")


def test_a_folder_of_submissions_becomes_a_table(programs: Path) -> None:
    (programs / "seeds.csv").write_text("student,seed\nada,1\ngrace,2\nkonrad,3\nnobody,4\n")
    for student in ("ada", "grace", "konrad"):
        (programs / "submissions" / student).mkdir(parents=True)
        (programs / "submissions" / student / "prob1.sh").write_text("true\n")
    table = run(programs, "grade.py", "submissions", "seeds.csv", "prob1")
    rows = {row["student"]: row for row in csv.DictReader(io.StringIO(table))}
    assert (rows["ada"]["points"], rows["ada"]["of"], rows["ada"]["missed"]) == ("4", "4", "")
    assert rows["konrad"]["points"] == "0"
    assert rows["konrad"]["missed"] == "the bottleneck is used"
    assert rows["grace"]["missed"] == "not graded: wanlab: cannot read it"
    assert rows["nobody"]["missed"] == "nothing handed in"
    grade = json.loads((programs / "submissions" / "ada" / "prob1.grade.json").read_text())
    assert grade["seed"] == 1


def test_the_units_that_the_page_names_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"wanlab lab (?:show|start|run|check) (\w+)", text)) - {"all"}
    assert named
    assert named <= set(catalog.names())
