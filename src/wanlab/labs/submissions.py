"""A folder of submissions.

submissions/Anna Müller/prob1.sh                        a script, or steps (.yaml)
submissions/Anna Müller/prob1-seed12.zip                a hand-in; the newest file counts
submissions/Anna Müller_4711_assignsubmission_file/...  as Moodle exports them

What is in a student's folder comes from the student. So only regular files are read, no link is
followed, sizes are limited, and whatever cannot be read is the submission's error: the others are
graded.
"""

from __future__ import annotations

import hashlib
import re
import stat
import time
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from wanlab.errors import WanlabError, reason_of
from wanlab.session import SessionIdentity, parse
from wanlab.shared_folder import KINDS, SharedFolder

from . import hand_in, hand_in_archive, similar
from .students import Student, numbered

ZIP = ".zip"
SUFFIXES = (*hand_in.SUFFIXES, hand_in.SESSION_SUFFIX, ZIP)
MAX_FILES = 400
"""The limit of a student's folder."""
MAX_ERROR_CHARACTERS = 300
_EXPORTED = re.compile(r"(.+?)_(\d+)_assignsubmission_\w+?_?")
_EXPORTED_FILE = re.compile(r".+?_\d+_assignsubmission_.+")


@dataclass(frozen=True)
class SubmittedFile:
    """A file in a student's folder, or the folder itself. `problem` says why it cannot be read."""

    folder: SharedFolder
    name: str
    handed_in_s: float
    """When the file was written, in seconds since the epoch."""
    problem: str = ""

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @property
    def shown(self) -> str:
        """The name, without characters that a terminal could interpret."""
        return printable(self.name)


@dataclass(frozen=True)
class Listing:
    """The files in the folders of a student, by unit, and those whose unit cannot be read."""

    by_unit: Mapping[str, Sequence[SubmittedFile]]
    unclear: Sequence[SubmittedFile]

    def of(self, unit: str) -> Sequence[SubmittedFile]:
        """Return the files that may be a submission of a unit, the newest last."""
        files = self.by_unit.get(unit) or self.unclear
        return sorted(files, key=lambda file: (file.handed_in_s, file.name))


@dataclass(frozen=True)
class SubmittedWork:
    """What is graded, the content of a script or of a session file, and what came with it."""

    content: bytes
    suffix: str
    script: str = ""
    sessions: tuple[bytes, ...] = ()
    """All sessions that were handed in, the newest last."""
    seed: int | None = None
    is_intact: bool = True

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Submission:
    """A student's submission of a unit. It has no content: those of a class need not fit into memory."""

    file: SubmittedFile
    suffix: str = ""
    digest: str = ""
    """The SHA-256 of the content that is graded."""
    notes: tuple[str, ...] = ()
    script: similar.ScriptShingles | None = None
    sessions: tuple[SessionIdentity, ...] = field(default=(), repr=False)
    error: str = ""
    """Why it cannot be graded."""

    @property
    def handed_in(self) -> str:
        if not self.file.name:  # it is the folder
            return ""
        try:
            return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.file.handed_in_s))
        except (OSError, OverflowError, ValueError):  # file systems accept such times
            return "at an impossible time"


def folders(folder: Path, students: Sequence[Student]) -> dict[str, list[Path]]:
    """Return the folders of each student. Raises WanlabError if `folder` cannot be read."""
    by_student: dict[str, list[Path]] = {student.name: [] for student in students}
    known = {_normal(student.name): student.name for student in students}
    for path in _folders_in(folder):
        match = _EXPORTED.fullmatch(path.name)
        name = known.get(_normal(match[1] if match else path.name))
        if match:
            name = known.get(_normal(numbered(match[1], match[2])), name)
        if name is not None:
            by_student[name].append(path)
    return by_student


def exported_files(folder: Path) -> list[str]:
    """Return the names of files that Moodle has exported without folders, which are not read."""
    names = (path.name for path in _entries(folder) if path.is_file())
    return [printable(name) for name in names if _EXPORTED_FILE.fullmatch(name)]


def strangers(folder: Path, students: Sequence[Student]) -> list[str]:
    """Return the names of folders that belong to no student of the list."""
    owned = {path for paths in folders(folder, students).values() for path in paths}
    return [printable(path.name) for path in _folders_in(folder) if path not in owned]


def listing(paths: Sequence[Path], units: Collection[str]) -> Listing:
    """List the files in a student's folders that are submissions of these units."""
    by_unit: dict[str, list[SubmittedFile]] = {}
    unclear: list[SubmittedFile] = []
    for path in paths:
        for file in _files(SharedFolder(path)):
            unit = _unit_by_name(file.name, units)
            if unit is None and file.suffix == ZIP and not file.problem:
                unit, file = _unit_in(file, units)
            if unit is not None and unit in units:
                by_unit.setdefault(unit, []).append(file)
            elif file.problem:
                unclear.append(file)
    return Listing(by_unit, unclear)


def newest(
    files: Sequence[SubmittedFile], unit: str, student: Student, *, by_session: bool = False
) -> Submission | None:
    """Read the newest of the files that may be a submission of a unit; None if there is none.

    With `by_session`, the newest session of a hand-in counts, and not its script.
    """
    if not files:
        return None
    file = files[-1]
    notes = []
    if len(files) > 1:
        notes.append(f"{len(files)} submissions; {file.shown}, the newest, counts")
    try:
        work = read(file, unit, by_session=by_session)
        notes += _notes(work, student)
        return Submission(
            file,
            work.suffix,
            work.digest,
            script=similar.shingles(work.script),
            sessions=_identities(work, file.shown, notes),
            notes=tuple(notes),
        )
    except Exception as error:
        return Submission(file, notes=tuple(notes), error=error_text(error))


def read(file: SubmittedFile, unit: str, *, by_session: bool) -> SubmittedWork:
    """Read a submission. Raises WanlabError if it cannot be read, or lacks a needed session."""
    if file.problem:
        raise WanlabError(file.problem)
    if is_session(file.suffix):
        content = _content(file, hand_in.MAX_SESSION_BYTES)
        return SubmittedWork(content, file.suffix, sessions=(content,))
    if file.suffix == ZIP:
        return _hand_in(file, unit, by_session=by_session)
    if by_session:
        raise WanlabError(f"{file.shown} is neither a session nor a hand-in that contains one")
    try:
        text = _content(file, hand_in.MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WanlabError(f"{file.shown} is not UTF-8 text") from None
    return SubmittedWork(text.encode(), file.suffix, text)


def read_again(submission: Submission, unit: str, *, by_session: bool) -> bytes:
    """Return the content to grade. Raises WanlabError if it is not the one that was read before."""
    work = read(submission.file, unit, by_session=by_session)
    if work.digest != submission.digest:
        what = f"{submission.file.shown} was changed while the class was being graded"
        raise WanlabError(what, "grade again")
    return work.content


def is_session(suffix: str) -> bool:
    """Whether a file with this suffix is a session file, and not a script."""
    return suffix == hand_in.SESSION_SUFFIX


def error_text(error: Exception) -> str:
    """Return why a submission cannot be graded. Whatever a file causes, the others are graded."""
    if isinstance(error, WanlabError):
        return str(error)
    text = f"wanlab cannot read this: {type(error).__name__} {error}"
    return printable(text[:MAX_ERROR_CHARACTERS])


def printable(text: str) -> str:
    """Escape characters that a terminal could interpret, or that are not text."""
    return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


# -- the files of a student -----------------------------------------------------------------------


def _folders_in(folder: Path) -> list[Path]:
    return [path for path in _entries(folder) if path.is_dir()]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise WanlabError(f"cannot read {folder}: {reason_of(error)}") from None


def _files(folder: SharedFolder) -> list[SubmittedFile]:
    """Return the files of a student that may be submissions, or the folder if it cannot be read."""
    name = printable(folder.path.name)
    try:
        entries = [entry for entry in folder.entries() if Path(entry[0]).suffix in SUFFIXES]
    except OSError as error:
        return [
            SubmittedFile(folder, "", 0.0, f"cannot read the folder {name}: {reason_of(error)}")
        ]
    if len(entries) > MAX_FILES:
        what = f"the folder {name} has {len(entries)} submissions; the limit is {MAX_FILES}"
        return [SubmittedFile(folder, "", 0.0, what)]
    return [
        SubmittedFile(folder, entry, status.st_mtime, _problem_of(entry, status.st_mode))
        for entry, status in entries
    ]


def _problem_of(name: str, mode: int) -> str:
    if stat.S_ISREG(mode):
        return ""
    kind = next((words for is_kind, words in KINDS if is_kind(mode)), "of an unknown kind")
    return f"{printable(name)} is {kind}, and not a regular file"


def _unit_by_name(name: str, units: Collection[str]) -> str | None:
    """Return the unit that a file is named after."""
    path = Path(name)
    if path.suffix in hand_in.SUFFIXES:
        return path.stem if path.stem in units else None
    fitting = (unit for unit in units if path.stem == unit or path.stem.startswith(f"{unit}-"))
    return max(fitting, key=len, default=None)


def _unit_in(file: SubmittedFile, units: Collection[str]) -> tuple[str | None, SubmittedFile]:
    """Return the unit that a hand-in names; if it names none, the file with the reason."""
    try:
        with file.folder.open(file.name) as opened:
            unit = hand_in_archive.read_unit(opened, file.shown)
        if unit in units:
            return unit, file
        problem = f'{file.shown} is for the unit "{printable(unit)}", which does not exist here'
    except Exception as error:
        problem = error_text(error)
    return None, replace(file, problem=problem)


# -- reading --------------------------------------------------------------------------------------


def _content(file: SubmittedFile, max_bytes: int) -> bytes:
    with _opened(file) as opened:
        content = opened.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise WanlabError(f"{file.shown} is larger than {max_bytes >> 20} MiB")
    return content


@contextmanager
def _opened(file: SubmittedFile) -> Iterator[BinaryIO]:
    try:
        with file.folder.open(file.name) as opened:
            yield opened
    except OSError as error:
        raise WanlabError(f"cannot read {file.shown}: {reason_of(error)}") from None


def _hand_in(file: SubmittedFile, unit: str, *, by_session: bool) -> SubmittedWork:
    with _opened(file) as opened:
        packed = hand_in_archive.read_hand_in(opened, file.shown)
    if packed.manifest.unit != unit:
        other = printable(packed.manifest.unit)
        raise WanlabError(f"{file.shown} was packed for {other}, and is named after {unit}")
    if by_session and not packed.sessions:
        raise WanlabError(f"{file.shown} has no session")
    content = packed.sessions[-1] if by_session else packed.script.encode()
    suffix = hand_in.SESSION_SUFFIX if by_session else packed.suffix
    seed, sessions = packed.manifest.seed, packed.sessions
    return SubmittedWork(content, suffix, packed.script, sessions, seed, packed.is_intact)


def _notes(work: SubmittedWork, student: Student) -> list[str]:
    notes = []
    if work.seed not in (None, student.seed):
        notes.append(f"made with seed {work.seed}, graded with {student.seed}")
    if not work.is_intact:
        notes.append("files were changed after packing")
    if is_session(work.suffix) and len(work.sessions) > 1:
        notes.append(f"{len(work.sessions)} sessions; the newest counts")
    return notes


def _identities(work: SubmittedWork, source: str, notes: list[str]) -> tuple[SessionIdentity, ...]:
    """Return the identities of the sessions. Of a session that is not graded, an error is a note."""
    identities = []
    for content in work.sessions:
        try:
            identities.append(parse(content, source).identity)
        except Exception as error:
            if content is work.content:
                raise
            notes.append(f"a session cannot be read: {error_text(error)}")
    return tuple(identities)


def _normal(name: str) -> str:
    """Return a name for comparisons: zip files may store a letter and its accent separately."""
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()
