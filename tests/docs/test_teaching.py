"""The program on the page for instructors runs as printed, and the units on the page exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.labs import catalog
from wanlab.labs.students import read_students

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "teaching.md"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Write the program that the page shows to a file."""
    found = re.findall(r"```python\n(# seeds.py:.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(found) == 1
    path = tmp_path / "seeds.py"
    path.write_text(found[0], encoding="utf-8")
    return path


def table(program: Path, names: str) -> str:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(program)],
        input=names.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_every_student_always_gets_the_same_seed(program: Path, tmp_path: Path) -> None:
    names = "Ada Lovelace\nAnna Müller\n\nDoe, Jane\n"
    (tmp_path / "seeds.csv").write_text(table(program, names), encoding="utf-8")
    students = read_students(tmp_path / "seeds.csv")
    assert [student.name for student in students] == ["Ada Lovelace", "Anna Müller", "Doe, Jane"]
    assert len({student.seed for student in students}) == 3
    assert all(student.seed >= 1 for student in students)
    assert table(program, names) == table(program, names)


def test_the_units_that_the_page_names_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"wanlab lab (?:show|start|run|check|hand-in) (\w+)", text)) - {"all"}
    assert named
    assert named <= set(catalog.names())
