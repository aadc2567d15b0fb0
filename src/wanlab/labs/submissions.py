"""A folder of submissions, and the list of students with their seeds.

submissions/Anna Müller/prob1.sh                        a script, or steps (.yaml)
submissions/Anna Müller/prob1-seed12.zip                a hand-in; the newest file counts
submissions/Anna Müller_4711_assignsubmission_file/...  as Moodle exports them
"""

from __future__ import annotations

import csv
import re
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wanlab.errors import InputError, Problem, WanlabError, reason_of
from wanlab.session import SessionIdentity, parse

from . import hand_in

NAME_COLUMNS = ("student", "Student", "name", "Full name")
SEED = "seed"
_EXPORTED = re.compile(r"(.+?)_\d+_assignsubmission_\w+?_?")


@dataclass(frozen=True)
class Student:
    """A row of the list: its other columns go into the tables for Moodle and Canvas."""

    name: str
    seed: int
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """The part of a student's hand-in for a unit that is graded: a script, or a session file."""

    script: str
    suffix: str
    file: Path
    handed_in_s: float
    """When the file was written, in seconds since the epoch."""
    notes: tuple[str, ...] = ()
    sessions: tuple[SessionIdentity, ...] = ()
    session: bytes | None = None
    """The session file to perform, instead of the script."""
    error: str = ""
    """Why it cannot be graded."""

    @property
    def handed_in(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.handed_in_s))


def read_students(path: Path) -> list[Student]:
    """Read the list of students: CSV with a column for names and a column `seed`.

    Raises InputError with every row that is wrong.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise WanlabError(f"cannot read {path}: {reason_of(error)}") from None
    columns = list(rows[0]) if rows else []
    name_column = next((name for name in NAME_COLUMNS if name in columns), None)
    if name_column is None or SEED not in columns:
        raise WanlabError(
            f"{path} lacks a column: it has {', '.join(map(str, columns)) or 'no rows'}",
            f"its first line must name the columns student and {SEED}",
        )
    problems: list[Problem] = []
    students: list[Student] = []
    lines: dict[str, int] = {}
    for line, row in enumerate(rows, 2):
        name, seed = (row[name_column] or "").strip(), (row[SEED] or "").strip()
        if not name and not seed:
            continue
        # Canvas has a row of points below its heading.
        if name.startswith("Points Possible"):
            continue
        if not name:
            problems.append(Problem(f"line {line} ({name_column})", "the name is missing"))
        elif not seed.isdigit():
            what = f"{seed!r} is not a seed" if seed else f"{name} has no seed"
            problems.append(Problem(f"line {line} ({SEED})", what, "a whole number, from 0"))
        elif name in lines:
            what = f"{name} is on line {lines[name]}, too"
            problems.append(Problem(f"line {line} ({name_column})", what))
        else:
            lines[name] = line
            rest = {key: value or "" for key, value in row.items() if key and key != SEED}
            students.append(Student(name, int(seed), rest))
    if problems:
        raise InputError(problems, str(path))
    return students


def folders(folder: Path, students: Sequence[Student]) -> dict[str, list[Path]]:
    """Return the folders of each student. Raises WanlabError if `folder` cannot be read."""
    try:
        entries = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise WanlabError(f"cannot read {folder}: {error.strerror or error}") from None
    by_student: dict[str, list[Path]] = {student.name: [] for student in students}
    known = {_normal(student.name): student.name for student in students}
    for path in entries:
        match = _EXPORTED.fullmatch(path.name)
        name = known.get(_normal(match[1] if match else path.name))
        if name is not None:
            by_student[name].append(path)
    return by_student


def strangers(folder: Path, students: Sequence[Student]) -> list[str]:
    """Return the names of folders that belong to no student of the list."""
    owned = {path for paths in folders(folder, students).values() for path in paths}
    return sorted(p.name for p in folder.iterdir() if p.is_dir() and p not in owned)


def units_in(paths: Sequence[Path], units: Sequence[str]) -> set[str]:
    """Return the units that have a submission in these folders."""
    return {unit for unit in units for path in paths if list(_files(path, unit))}


def newest(
    paths: Sequence[Path], unit: str, student: Student, *, by_session: bool = False
) -> Submission | None:
    """Return the newest submission of a unit; None if there is none.

    With `by_session`, the newest session of a hand-in counts, and not its script.
    """
    files = sorted(
        (file for path in paths for file in _files(path, unit)),
        key=lambda file: (file.stat().st_mtime, file.name),
    )
    if not files:
        return None
    file = files[-1]
    notes = []
    if len(files) > 1:
        notes.append(f"{len(files)} submissions; {file.name}, the newest, counts")
    try:
        return _read(file, notes, student, by_session=by_session)
    except WanlabError as error:
        about = (file.suffix, file, file.stat().st_mtime, tuple(notes))
        return Submission("", *about, error=str(error))


def _read(file: Path, notes: list[str], student: Student, *, by_session: bool) -> Submission:
    """Read a submission. Raises WanlabError if it cannot be read, or lacks a needed session."""
    if file.suffix == hand_in.SESSION_SUFFIX:
        return _session(file, notes)
    if by_session and file.suffix != ".zip":
        raise WanlabError(f"{file.name} is neither a session nor a hand-in that contains one")
    if file.suffix != ".zip":
        return Submission(_text(file), file.suffix, file, file.stat().st_mtime, tuple(notes))
    packed = hand_in.read(file)
    if packed.seed != student.seed:
        notes.append(f"made with seed {packed.seed}, graded with {student.seed}")
    if not packed.is_intact:
        notes.append("files were changed after packing")
    sessions = []
    for content in packed.sessions:
        try:
            sessions.append(parse(content, file.name).identity)
        except (WanlabError, KeyError) as error:
            notes.append(f"a session cannot be read: {error}")
    session = None
    if by_session:
        if not packed.sessions:
            raise WanlabError(f"{file.name} has no session")
        session = packed.sessions[-1]
        parse(session, f"the newest session in {file.name}")  # raises an error if it is damaged
        if len(packed.sessions) > 1:
            notes.append(f"{len(packed.sessions)} sessions; the newest counts")
    return Submission(
        *(packed.script, packed.suffix, file, file.stat().st_mtime),
        notes=tuple(notes),
        sessions=tuple(sessions),
        session=session,
    )


def _session(file: Path, notes: Sequence[str]) -> Submission:
    try:
        if file.stat().st_size > hand_in.MAX_SESSION_BYTES:
            raise WanlabError(f"{file.name} is larger than {hand_in.MAX_SESSION_BYTES >> 20} MiB")
        content = file.read_bytes()
    except OSError as error:
        raise WanlabError(f"cannot read {file}: {error.strerror or error}") from None
    try:
        identity = parse(content, file.name).identity
    except KeyError as error:
        raise WanlabError(f"{file.name} is not a session file: it lacks {error}") from None
    return Submission(
        *("", file.suffix, file, file.stat().st_mtime, tuple(notes), (identity,)), session=content
    )


def _files(folder: Path, unit: str) -> list[Path]:
    names = [folder / f"{unit}{suffix}" for suffix in hand_in.SUFFIXES]
    scripts = [path for path in names if path.is_file()]
    sessions = [
        path
        for path in folder.glob(f"*{hand_in.SESSION_SUFFIX}")
        if path.stem == unit or path.stem.startswith(f"{unit}-")
    ]
    packed = []
    for path in folder.glob("*.zip"):
        with suppress(WanlabError):
            if hand_in.read(path).unit == unit:
                packed.append(path)
        if path.stem == unit or path.stem.startswith(f"{unit}-"):
            packed.append(path)
    return [*scripts, *sessions, *dict.fromkeys(packed)]


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > hand_in.MAX_BYTES:
        raise WanlabError(f"{path.name} is larger than {hand_in.MAX_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WanlabError(f"{path.name} is not UTF-8 text") from None


def _normal(name: str) -> str:
    """Return a name for comparisons: zip files may store a letter and its accent separately."""
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()
