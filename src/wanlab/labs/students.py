"""The list of students with their seeds: a CSV file of a teacher, of Moodle or of Canvas.

student,seed                    the columns that are needed
Full name,Identifier,seed,...   others go into the tables for Moodle and Canvas
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wanlab.errors import InputError, Problem, WanlabError, reason_of
from wanlab.input_file import read_input

NAME_COLUMNS = ("student", "Student", "name", "Full name")
SEED = "seed"
MAX_SEED = 2**64 - 1
"""The largest seed of a network."""
MAX_DIGITS = 40
MAX_LIST_BYTES = 16 << 20
MAX_NAME_BYTES = 240
"""A name becomes the name of a file, which has at most 255 bytes."""
IDENTIFIER = "Identifier"
"""Moodle's column: "Participant 4711". The number is part of the names of exported folders."""
POINTS_POSSIBLE = "Points Possible"
"""Canvas has a row of points below its heading."""


@dataclass(frozen=True)
class Student:
    """A row of the list: its other columns go into the tables for Moodle and Canvas."""

    name: str
    seed: int
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StudentTable:
    """A list of students as it is in the file, with or without seeds."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]
    """Each row with the number of its last line."""
    name_column: str

    def names(self) -> Iterator[tuple[int, str, Mapping[str, str]]]:
        """Yield the rows of students, each with its line and the student's name, which may be empty."""
        for line, row in self.rows:
            name = row[self.name_column].strip()
            is_empty = not name and not row.get(SEED, "").strip()
            if not is_empty and not name.startswith(POINTS_POSSIBLE):
                yield line, name, row


def read_students(path: Path) -> list[Student]:
    """Read the list of students: CSV with a column for names and a column `seed`.

    Raises InputError with every row that is wrong.
    """
    return students_of(read_table(path))


def read_table(path: Path) -> StudentTable:
    """Read a list of students. Raises WanlabError if it is no CSV file or has no column for names."""
    try:
        text = read_input(path, max_bytes=MAX_LIST_BYTES).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval="")
        columns = tuple(filter(None, reader.fieldnames or ()))
        rows = tuple((reader.line_num, {name: row[name] for name in columns}) for row in reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise WanlabError(f"cannot read {path}: {reason_of(error)}") from None
    name_column = next((name for name in NAME_COLUMNS if name in columns), None)
    if name_column is None:
        raise _lacks_column(path, columns, f"the column {NAME_COLUMNS[0]}")
    table = StudentTable(path, columns, rows, name_column)
    if not any(table.names()):
        raise WanlabError(f"{path} names no students", "write a row for each student into it")
    return table


def students_of(table: StudentTable) -> list[Student]:
    """Return the students of a list with seeds. Raises InputError with every row that is wrong.

    Students of the same name get the number of their Identifier as a part of it.
    """
    if SEED not in table.columns:
        raise _lacks_column(table.path, table.columns, f"the columns student and {SEED}")
    problems: list[Problem] = []
    students: list[Student] = []
    lines: dict[str, tuple[int, str]] = {}
    """The line of each name, by the name of its files."""
    counts = Counter(name for _, name, _ in table.names())
    for line, name, row in table.names():
        seed = row[SEED].strip()
        number = row.get(IDENTIFIER, "").strip().rpartition(" ")[2]
        if counts[name] > 1 and number:
            name = numbered(name, number)
        if problem := _problem(line, name, seed, lines, table.name_column):
            problems.append(problem)
            continue
        lines[file_name(name)] = line, name
        rest = {key: value for key, value in row.items() if key != SEED}
        students.append(Student(name, int(seed), rest))
    if problems:
        raise InputError(problems, str(table.path))
    return students


def numbered(name: str, number: str) -> str:
    """Return the name of a student who has it in common with others."""
    return f"{name} ({number})"


def file_name(student: str) -> str:
    """Return a file name for a student's name."""
    name = "".join("_" if letter in '/\\:*?"<>|\0' else letter for letter in student)
    return name.strip(". ") or hashlib.sha256(student.encode()).hexdigest()[:12]


def _problem(
    line: int, name: str, seed: str, lines: Mapping[str, tuple[int, str]], name_column: str
) -> Problem | None:
    """Return what is wrong with a row."""
    about_name, about_seed = f"line {line} ({name_column})", f"line {line} ({SEED})"
    if not name:
        return Problem(about_name, "the name is missing")
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        return Problem(about_name, f"the name {name[:40]}... is too long", "shorten it")
    if not seed:
        return Problem(about_seed, f"{name} has no seed", "a whole number, from 0")
    if not (seed.isdecimal() and seed.isascii()):
        return Problem(about_seed, f"{_short(seed)} is not a seed", "a whole number, from 0")
    if len(seed) > MAX_DIGITS or int(seed) > MAX_SEED:
        return Problem(about_seed, f"the seed {_short(seed)} is too large", f"at most {MAX_SEED}")
    if file_name(name) in lines:
        other_line, other = lines[file_name(name)]
        if other == name:
            return Problem(about_name, f"{name} is on line {other_line}, too")
        what = f"the files of {name} would have the names of those of {other} (line {other_line})"
        return Problem(about_name, what, "change one of these names")
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= MAX_DIGITS else f"{text[:MAX_DIGITS]}...")


def _lacks_column(path: Path, columns: tuple[str, ...], needed: str) -> WanlabError:
    named = ", ".join(columns) or "nothing"
    return WanlabError(
        f"{path} lacks a column: its first line names {named}", f"it must name {needed}"
    )
