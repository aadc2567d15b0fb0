"""Test the list of students: every row that is wrong is reported, and nothing that follows it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.labs.students import MAX_SEED, file_name, read_students


def students(tmp_path: Path, content: str | bytes) -> list[tuple[str, int]]:
    path = tmp_path / "seeds.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(student.name, student.seed) for student in read_students(path)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name\nAda\n", "lacks a column: its first line names name (it must name the columns"),
        ("who,seed\nAda,1\n", "lacks a column: its first line names who, seed"),
        ("", "lacks a column: its first line names nothing"),
        ("student,seed\n", "seeds.csv names no students"),
        ("student,seed\n,\n", "seeds.csv names no students"),
        ("student,seed\nAda,x\n", "line 2 (seed): 'x' is not a seed"),
        ("student,seed\nAda,1\nAda,2\n", "line 3 (student): Ada is on line 2, too"),
        ("student,seed\nAda,\n", "line 2 (seed): Ada has no seed"),
        ("student,seed\nAda\n", "line 2 (seed): Ada has no seed"),
        ("student,seed\n,1\n", "line 2 (student): the name is missing"),
        ("student,seed\nAda,\u00b2\n", "line 2 (seed): '\u00b2' is not a seed"),
        ("student,seed\nAda,\u0663\n", "line 2 (seed): '\u0663' is not a seed"),
        ("student,seed\nAda,-1\n", "line 2 (seed): '-1' is not a seed"),
        ("student,seed\nAda,1e3\n", "line 2 (seed): '1e3' is not a seed"),
        ("student,seed\nAda,NaN\n", "line 2 (seed): 'NaN' is not a seed"),
        (f"student,seed\nAda,{MAX_SEED + 1}\n", f"is too large (at most {MAX_SEED})"),
        (f"student,seed\nAda,{'9' * 5000}\n", "999...' is too large"),
        (f"student,seed\n{'A' * 241},1\n", "is too long (shorten it)"),
        ("student,seed\nA/B,1\nA:B,2\n", "the files of A:B would have the names of those of A/B"),
        ("student,seed\n\nAda,x\n", "line 3 (seed)"),
        (b"student,seed\n\xff,1\n", "cannot read"),
        (f'student,seed\n"{"x" * 200_000}",1\n', "cannot read"),
    ],
)
def test_an_invalid_list_of_students_is_reported(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(WanlabError) as error:
        students(tmp_path, content)
    assert message in str(error.value)
    assert len(str(error.value)) < 500


def test_a_list_without_end_is_not_read() -> None:
    with pytest.raises(WanlabError, match="larger than 16 MiB"):
        read_students(Path("/dev/zero"))


def test_a_list_of_moodle_or_canvas_is_read_as_it_is(tmp_path: Path) -> None:
    assert students(tmp_path, "\ufeffFull name,,seed\r\nAda,x,7,more\r\n,,\r\n") == [("Ada", 7)]
    canvas = 'Student,ID,seed\n"    Points Possible",,\n"Lovelace, Ada",1,007\n'
    assert students(tmp_path, canvas) == [("Lovelace, Ada", 7)]
    assert students(tmp_path, f"name,seed\nA,0\nB,{MAX_SEED}\n") == [("A", 0), ("B", MAX_SEED)]


def test_students_of_the_same_name_are_told_apart_by_moodles_number(tmp_path: Path) -> None:
    head = "Identifier,Full name,seed\n"
    same = "Participant 41,Anna Lee,1\nParticipant 42,Anna Lee,2\nParticipant 43,Ben,3\n"
    assert students(tmp_path, head + same) == [
        ("Anna Lee (41)", 1),
        ("Anna Lee (42)", 2),
        ("Ben", 3),
    ]
    with pytest.raises(WanlabError, match=r"Anna Lee \(41\) is on line 2, too"):
        students(tmp_path, head + 2 * "Participant 41,Anna Lee,1\n")


@pytest.mark.parametrize("name", ["..", "/", "a/../b", "x\0y", ". .", "CON:", "\u202e"])
def test_a_name_becomes_the_name_of_a_file(name: str) -> None:
    made = file_name(name)
    assert made not in ("", ".", "..")
    assert not {"/", "\0"} & set(made)
