"""The folder of a class: its students with their tokens, folders and limits.

CLASS/students.csv     the teacher's list: a column for names, and others that are optional
CLASS/seeds.csv        the same with the seed of each student, for `wanlab lab grade`
CLASS/tokens.csv       the link of each student; mode 0600
CLASS/students/NAME/   the folder of a student, the only one that the student reaches
CLASS/hand-ins/NAME/   what the student has handed in
CLASS/grades/          what `wanlab lab grade` has written
CLASS/.wanlab/         the server's own state
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import InputError, Problem, WanlabError
from wanlab.labs.students import SEED, Student, read_students, read_table, students_of
from wanlab.shared_folder import SharedFolder
from wanlab.units import parse_size

from ..folder import write_atomically
from ..server.auth import new_token

STUDENTS, SEEDS, TOKENS = "students.csv", "seeds.csv", "tokens.csv"
FOLDERS, HAND_INS, GRADES = "students", "hand-ins", "grades"
TEACHER = "teacher"
MAX_NAME_BYTES = 200
MAX_SEED = 999_999
MIN_MEMORY_BYTES = 128 << 20
MEMORY, DISK, USER = "memory", "disk", "user"
STUDENT = "student"


@dataclass(frozen=True)
class Limits:
    """The limits of a student."""

    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class Participant:
    """A student, as the hub knows one. With a `user` their processes run as that user."""

    name: str
    seed: int
    token: str
    folder: Path
    hand_ins: Path
    limits: Limits
    user: str = ""

    @property
    def cookie(self) -> str:
        """The cookie that the token is exchanged for; the same after a restart of the server."""
        return cookie_of(self.token)


@dataclass(frozen=True)
class Roster:
    """A class."""

    folder: Path
    teacher_token: str
    participants: tuple[Participant, ...]


def cookie_of(token: str) -> str:
    """Return the cookie of a token. It does not reveal the token."""
    return hmac.new(token.encode(), b"wanlab class cookie", hashlib.sha256).hexdigest()


def read_roster(folder: Path, limits: Limits, *, may_be_empty: bool = False) -> Roster:
    """Read the class, and make the seeds, tokens and folders that are missing.

    `limits` hold where the list has no columns for them. InputError names all rows that are wrong.
    With `may_be_empty`, the class may have no list yet: see `enrol`.
    """
    folder = folder.resolve()
    is_empty = may_be_empty and not (folder / STUDENTS).is_file()
    students = [] if is_empty else students_with_seeds(folder)
    problems = [problem for student in students for problem in _problems(student)]
    if problems:
        raise InputError(problems, str(folder / STUDENTS))
    tokens = _read_tokens(folder / TOKENS)
    participants, shared = [], SharedFolder(folder)
    for student in students:
        own, hand_ins = folder / FOLDERS / student.name, folder / HAND_INS / student.name
        for name in (f"{FOLDERS}/{student.name}", f"{HAND_INS}/{student.name}"):
            shared.subfolder(name).make()
            shared.set_status(name, 0o700)
        participants.append(
            Participant(
                student.name,
                student.seed,
                tokens.get(("student", student.name)) or new_token(),
                own,
                hand_ins,
                _limits_of(student, limits),
                student.columns.get(USER, "").strip(),
            )
        )
    return Roster(folder, tokens.get((TEACHER, "")) or new_token(), tuple(participants))


def enrol(folder: Path, name: str) -> None:
    """Add a student to the list, which is created if there is none. InputError if the name is unfit."""
    path = folder / STUDENTS
    if problems := _problems(Student(name, 0)):
        raise InputError(problems, str(path))
    listed = read_table(path) if path.is_file() else None
    columns, name_column = (listed.columns, listed.name_column) if listed else ((STUDENT,), STUDENT)
    rows = [row for _, row in listed.rows] if listed else []
    if SEED in columns:
        rows.append({name_column: name, SEED: str(secrets.randbelow(MAX_SEED) + 1)})
    else:
        rows.append({name_column: name})
    table = io.StringIO()
    writer = csv.DictWriter(table, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, table.getvalue().encode())


def write_links(roster: Roster, url: str) -> Path:
    """Write all links to a file that only the teacher can read; return its path."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["role", "student", "token", "link"])
    rows.writerow([TEACHER, "", roster.teacher_token, link(url, roster.teacher_token)])
    for it in roster.participants:
        rows.writerow(["student", it.name, it.token, link(url, it.token)])
    path = roster.folder / TOKENS
    SharedFolder(roster.folder).write(TOKENS, table.getvalue().encode(), 0o600)
    return path


def link(url: str, token: str) -> str:
    """Return the address that a browser opens first."""
    return f"{url}/?token={token}"


def students_with_seeds(folder: Path) -> list[Student]:
    """Return the students; those without a seed in the list are given one, once."""
    path = folder / STUDENTS
    if not path.is_file():
        raise WanlabError(
            f"there is no file {path}",
            "write a row for each student into it; its first line is: student",
        )
    listed = read_table(path)
    if SEED in listed.columns:
        return students_of(listed)
    drawn = _drawn_seeds(folder / SEEDS)
    table = io.StringIO()
    writer = csv.DictWriter(table, [*listed.columns, SEED], lineterminator="\n")
    writer.writeheader()
    for _, name, row in listed.names():
        writer.writerow({**row, SEED: drawn.get(name) or secrets.randbelow(MAX_SEED) + 1})
    write_atomically(folder / SEEDS, table.getvalue().encode())
    return read_students(folder / SEEDS)


def _drawn_seeds(path: Path) -> Mapping[str, int]:
    if not path.is_file():
        return {}
    return {student.name: student.seed for student in read_students(path)}


def _read_tokens(path: Path) -> dict[tuple[str, str], str]:
    """Return tokens by role and name."""
    if not path.is_file():
        return {}
    if path.stat().st_mode & 0o077:
        raise WanlabError(
            f"other users of this computer can read {path}, which holds the tokens",
            f"remove it for new tokens, or keep these: chmod 600 {path}",
        )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["role"], row["student"]): row["token"] for row in rows if row.get("token")}


def _problems(student: Student) -> list[Problem]:
    """Return the problems of a row."""
    problems = []
    name = student.name
    if (
        name.startswith(".")
        or not name.isprintable()
        or {"/", "\\"} & set(name)
        or len(os.fsencode(name)) > MAX_NAME_BYTES
    ):
        problems.append(
            Problem(repr(name), "cannot be the name of a folder", "use letters and spaces")
        )
    for column in (MEMORY, DISK):
        if text := student.columns.get(column, "").strip():
            try:
                size = parse_size(text)
            except WanlabError as error:
                problems.append(Problem(f"{name} ({column})", error.what, error.hint))
                continue
            if column == MEMORY and size < MIN_MEMORY_BYTES:
                what = f"{text} is too little for a network"
                problems.append(Problem(f"{name} ({column})", what, "at least 128 MiB"))
    return problems


def _limits_of(student: Student, limits: Limits) -> Limits:
    memory, disk = (student.columns.get(name, "").strip() for name in (MEMORY, DISK))
    return Limits(
        parse_size(memory) if memory else limits.memory_bytes,
        parse_size(disk) if disk else limits.disk_bytes,
    )
