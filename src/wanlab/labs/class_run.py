"""Grades a class: each submission in a separate process, several in parallel.

    grades/
      grades.csv          a row for each student and unit
      moodle-prob1.csv    for Moodle: Upload grading worksheet
      canvas.csv          for Canvas: Gradebook, Import
      alike.csv           submissions that are equal or nearly so
      feedback/NAME.html  the page for each student
      results/NAME/prob1.json, .key

Each grade is stored with a key, a digest of the script, the seed, the unit and the version of wanlab.
Work whose key has not changed is not graded again, so an interrupted run can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError, did_you_mean
from wanlab.session import SessionIdentity
from wanlab.temporary import TemporaryFolder

from . import (
    catalog,
    feedback,
    grade_tables,
    hand_in,
    similar,
    submissions,
    unit_file,
    unit_process,
)
from .feedback import StudentResult
from .grade import whole
from .report import GradeReport
from .submissions import Student, Submission
from .unit import Unit

POLL_REAL_S = 0.1
END_REAL_S = 10.0
MAX_ERROR_CHARACTERS = 300
Say = Callable[[str], None]


@dataclass(frozen=True)
class ClassOptions:
    """What to grade, and how. `due_s` is in seconds since the epoch; None: there is no deadline."""

    folder: Path
    students: Sequence[Student]
    results: Path
    units: Sequence[str] = ()
    course: Path | None = None
    jobs: int = 1
    real_minutes: float = 15
    due_s: float | None = None
    only: Sequence[str] = ()
    by_session: bool = False
    """Grade the newest session of a hand-in, and not its script."""


@dataclass(frozen=True)
class GradingJob:
    """One student's work on one unit."""

    student: Student
    unit: Unit
    submission: Submission | None


@dataclass
class RunningGradingJob:
    """A grading job whose process is running."""

    job: GradingJob
    process: subprocess.Popen[bytes]
    folder: TemporaryFolder
    began: float


class ClassRun:
    """Grades all submissions; `run` returns the results in the order of the list."""

    def __init__(self, options: ClassOptions, say: Say) -> None:
        self._options = options
        self.say = say
        names = [student.name for student in options.students]
        for name in options.only:
            if name not in names:
                raise WanlabError(f"there is no student {name}", did_you_mean(name, names))
        self._folders = submissions.folders(options.folder, options.students)
        self._units = [catalog.find(name, options.course) for name in self._unit_names()]
        for unit in self._units:
            if not unit.check:
                raise WanlabError(f"{unit.heading} has no checks, so it cannot be graded")
        self._results: dict[tuple[str, str], StudentResult] = {}
        self._running: list[RunningGradingJob] = []
        self.scripts: dict[str, dict[str, str]] = {unit.name: {} for unit in self._units}
        self.sessions: dict[str, dict[str, Sequence[SessionIdentity]]] = {
            unit.name: {} for unit in self._units
        }

    def _unit_names(self) -> list[str]:
        known = list(catalog.names(self._options.course))
        if self._options.units:
            return list(self._options.units)
        paths = [path for paths in self._folders.values() for path in paths]
        handed_in = submissions.units_in(paths, known)
        if not handed_in:
            raise WanlabError(
                f"no student has handed in anything in {self._options.folder}",
                "put work into FOLDER/STUDENT, as in FOLDER/Ada Lovelace/prob1.sh; "
                "to grade a unit anyway, use --unit",
            )
        return [name for name in known if name in handed_in]

    def run(self) -> list[StudentResult]:
        """Grade all submissions. If grading is interrupted, finished grades are kept."""
        jobs = [self._job(student, unit) for unit in self._units for student in self._students()]
        waiting = [job for job in jobs if not self._is_done(job)]
        self.say(f"{len(waiting)} to grade, {len(jobs) - len(waiting)} unchanged or not handed in")
        total = len(waiting)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._options.jobs:
                    self._start(waiting.pop(0))
                time.sleep(POLL_REAL_S)
                for running in list(self._running):
                    if self._has_ended(running):
                        done = total - len(waiting) - len(self._running)
                        result = self._results[running.job.student.name, running.job.unit.name]
                        self.say(f"{done} of {total}: {_line(result)}")
        finally:
            self._end(self._running)
            self._running.clear()
        return [
            self._results[student.name, unit.name]
            for student in self._options.students
            for unit in self._units
        ]

    def _students(self) -> Sequence[Student]:
        return self._options.students

    def _job(self, student: Student, unit: Unit) -> GradingJob:
        submission = submissions.newest(
            self._folders[student.name],
            *(unit.name, student),
            by_session=self._options.by_session,
        )
        if submission is not None:
            if submission.script:
                self.scripts[unit.name][student.name] = submission.script
            self.sessions[unit.name][student.name] = submission.sessions
        return GradingJob(student, unit, submission)

    # -- earlier results --------------------------------------------------------------------------

    def _is_done(self, job: GradingJob) -> bool:
        if job.submission is None or job.submission.error:
            error = "nothing handed in" if job.submission is None else job.submission.error
            self._note(job, self._result(job, None, error))
            return True
        is_selected = not self._options.only or job.student.name in self._options.only
        report = self._stored_report(job)
        if report is None and not is_selected:
            self._note(job, self._result(job, None, "not graded yet"))
            return True
        if report is None or (is_selected and self._options.only):
            return False
        self._note(job, self._result(job, report, ""))
        return True

    def _stored_report(self, job: GradingJob) -> GradeReport | None:
        path = self._path(job)
        with suppress(OSError, ValueError):
            if path.with_suffix(".key").read_text(encoding="utf-8") == self._key(job):
                report: GradeReport = json.loads(path.read_text(encoding="utf-8"))
                return report
        return None

    def _key(self, job: GradingJob) -> str:
        assert job.submission is not None
        digest = hashlib.sha256()
        for part in (__version__, job.unit.name, str(job.student.seed), job.submission.suffix):
            digest.update(f"{part}\n".encode())
        digest.update(_content(job.submission))
        for name in ("lab.yaml", "set_env.sh", "topology.mn"):
            with suppress(OSError):
                digest.update((job.unit.folder / name).read_bytes())
        return digest.hexdigest()

    def _path(self, job: GradingJob) -> Path:
        name = file_name(job.student.name)
        return self._options.results / "results" / name / f"{job.unit.name}.json"

    # -- grading ----------------------------------------------------------------------------------

    def _start(self, job: GradingJob) -> None:
        assert job.submission is not None
        folder = TemporaryFolder("class")
        is_session = job.submission.session is not None
        suffix = hand_in.SESSION_SUFFIX if is_session else job.submission.suffix
        work = Path(folder.path, f"{job.unit.name}{suffix}")
        work.write_bytes(_content(job.submission))
        command = check_command(job, work, self._options.course)
        with (
            (folder.path / "stdout").open("wb") as stdout,
            (folder.path / "stderr").open("wb") as stderr,
        ):
            process = unit_process.start(command, stdout=stdout, stderr=stderr)
        self._running.append(RunningGradingJob(job, process, folder, time.monotonic()))

    def _has_ended(self, running: RunningGradingJob) -> bool:
        limit_s = 60 * self._options.real_minutes
        is_late = time.monotonic() - running.began > limit_s
        if running.process.poll() is None and not is_late:
            return False
        self._running.remove(running)
        job = running.job
        if running.process.returncode is None:
            self._end([running])
            error = f"not finished after {self._options.real_minutes:g} minutes; an endless loop?"
            self._note(job, self._result(job, None, error))
            return True
        folder = running.folder.path
        try:
            report: GradeReport = json.loads((folder / "stdout").read_text(encoding="utf-8"))
        except ValueError:
            text = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
            self._note(job, self._result(job, None, f"not graded: {_reason(text, folder)}"))
        else:
            self._store(job, report)
            self._note(job, self._result(job, report, ""))
        running.folder.remove()
        return True

    def _store(self, job: GradingJob, report: GradeReport) -> None:
        path = self._path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".key").unlink(missing_ok=True)
        path.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        path.with_suffix(".key").write_text(self._key(job), encoding="utf-8")

    def _end(self, running: Sequence[RunningGradingJob]) -> None:
        unit_process.end([job.process for job in running], END_REAL_S)
        for job in running:
            job.folder.remove()

    # -- results ----------------------------------------------------------------------------------

    def _note(self, job: GradingJob, result: StudentResult) -> None:
        self._results[job.student.name, job.unit.name] = result

    def _result(self, job: GradingJob, report: GradeReport | None, error: str) -> StudentResult:
        submission, due_s = job.submission, self._options.due_s
        late_s = submission.handed_in_s - due_s if submission and due_s is not None else 0.0
        unit = unit_file.for_seed(job.unit, job.student.seed)
        notes = list(submission.notes) if submission else []
        notes += report.get("notes", []) if report else []
        changed = report.get("changed_programs", []) if report else []
        notes += [f"{feedback.CHANGED}: {', '.join(changed)}"] if changed else []
        return {
            "student": job.student.name,
            "unit": job.unit.name,
            "seed": job.student.seed,
            "title": unit.heading,
            "points": report["points"] if report else 0,
            "of": whole(sum(check.points for check in unit.check)),
            "handed_in": submission.handed_in if submission else "",
            "late": _duration(late_s) if late_s > 0 else "",
            "notes": notes,
            "error": error,
            "missed": [c["what"] for c in report["checks"] if not c["passed"]] if report else [],
            "grade": report,
        }


def _content(submission: Submission) -> bytes:
    """Return the content to grade."""
    return submission.script.encode() if submission.session is None else submission.session


def check_command(job: GradingJob, work: Path, course: Path | None) -> list[str]:
    """Return the command that grades one script or session."""
    command = [sys.executable, "-m", "wanlab.cli", "lab", "check", job.unit.name, "--json"]
    option = "--session" if work.suffix == hand_in.SESSION_SUFFIX else "--script"
    command += [option, str(work), "--seed", str(job.student.seed)]
    return command if course is None else [*command, "--units", str(course)]


def write(
    options: ClassOptions, results: Sequence[StudentResult], pairs: Sequence[similar.Pair]
) -> None:
    """Write all tables and pages."""
    units: dict[str, dict[str, StudentResult]] = {}
    for result in results:
        units.setdefault(result["unit"], {})[result["student"]] = result
    files = {
        "grades.csv": grade_tables.grades(results),
        "canvas.csv": grade_tables.canvas(options.students, units),
        "alike.csv": grade_tables.alike(pairs, {s.name: s.seed for s in options.students}),
    }
    for unit, of_unit in units.items():
        files[f"moodle-{unit}.csv"] = grade_tables.moodle(options.students, of_unit)
    for student in options.students:
        of_student = [result for result in results if result["student"] == student.name]
        files[f"feedback/{file_name(student.name)}.html"] = feedback.page(student.name, of_student)
    try:
        for name, text in files.items():
            path = options.results / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WanlabError(
            f"cannot write to {options.results}: {error.strerror or error}",
            "use another folder with --results",
        ) from None


def alike(
    scripts: Mapping[str, Mapping[str, str]],
    sessions: Mapping[str, Mapping[str, Sequence[SessionIdentity]]],
) -> list[similar.Pair]:
    """Return the pairs of students whose submissions are alike, for all units."""
    return [
        pair
        for unit, of_unit in scripts.items()
        for pair in similar.with_sessions(unit, similar.pairs(unit, of_unit), sessions[unit])
    ]


def file_name(student: str) -> str:
    """Return a file name for a student's name."""
    name = "".join("_" if letter in '/\\:*?"<>|\0' else letter for letter in student)
    return name.strip(". ") or hashlib.sha256(student.encode()).hexdigest()[:12]


def _line(result: StudentResult) -> str:
    text = result["error"] or f"{result['points']:g} of {result['of']:g}"
    return f"{result['student']}, {result['unit']}: {text}"


def _reason(text: str, folder: Path) -> str:
    """Return why grading failed: the last lines of standard error that are not progress.

    The path of `folder`, into which the submission was copied, is removed, because students do not
    know it.
    """
    text = text.replace(f"{folder}/", "").replace("wanlab: ", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return " ".join(" ".join(lines).split())[-MAX_ERROR_CHARACTERS:] or "no reason was given"


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{round(hours / 24)} days"
