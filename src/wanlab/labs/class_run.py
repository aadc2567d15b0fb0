"""Grades a class: each submission is a job, several in parallel.

    grades/
      grades.csv          a row for each student and unit
      moodle-prob1.csv    for Moodle: Upload grading worksheet
      canvas.csv          for Canvas: Gradebook, Import
      alike.csv           submissions that are equal or nearly so
      feedback/NAME.html  the page for each student
      results/NAME/prob1.json, .key

Each grade is stored with a key, a digest of the submission, the seed, the unit, and wanlab's code,
kernel and programs. Work whose key has not changed is not graded again, so an interrupted run can be
resumed.

Whatever is wrong with a submission is the reason in its row. Only a problem of this computer, such as a
full disk, ends the grading of a class.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from wanlab.errors import WanlabError, did_you_mean, reason_of
from wanlab.input_file import read_input
from wanlab.jobs.batch import Batch, BatchTasks
from wanlab.jobs.job import LATE, EndedJob, Job, Say, read_failure
from wanlab.jobs.origin import key_of
from wanlab.jobs.pool import Workers
from wanlab.jobs.progress import Listener
from wanlab.jobs.store import keep_document, kept_document
from wanlab.jobs.worker import JobProgram, Perform
from wanlab.json_text import decode_json
from wanlab.machine.embedded import protecting_mode
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.session import SessionIdentity
from wanlab.shared_folder import file_error, output_folder
from wanlab.temporary import TemporaryFolder
from wanlab.topology.cpu import FREE

from . import (
    catalog,
    checking,
    feedback,
    grade_tables,
    run_inputs,
    similar,
    submissions,
)
from .feedback import StudentResult
from .grade import whole
from .lab_network import GRADING
from .report import GradeReport
from .students import Student, file_name
from .submissions import Submission
from .unit import Unit

CLOCK = "virtual"
GRADE = "grade.json"
MAX_ERROR_CHARACTERS = 300
PROBE, PROBE_BYTES = ".wanlab-probe", 64 << 10
MAX_PROBLEMS = 3
NOTHING = "nothing handed in"
NOT_YET = "not graded yet"
OTHER_FOLDER = "use another folder with --results"
REPORT: msgspec.json.Decoder[GradeReport] = msgspec.json.Decoder(GradeReport)


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
    choice: MachineChoice = NO_CHOICE
    by_session: bool = False
    """Grade the newest session of a hand-in, and not its script."""


@dataclass(frozen=True, eq=False)
class Grading:
    """One student's work on one unit."""

    student: Student
    unit: Unit
    submission: Submission | None


class ClassRun(BatchTasks[Grading]):
    """Grades all submissions; `run` returns the results in the order of the list."""

    max_attempts = 1

    def __init__(self, options: ClassOptions) -> None:
        protecting_mode(GRADING, options.choice.traps)
        # Whatever processor the teacher has chosen, so that all grades of a class are alike.
        self._choice = replace(options.choice, cpu=FREE)
        self._options = options
        names = [student.name for student in options.students]
        for name in options.only:
            if name not in names:
                raise WanlabError(f"there is no student {name}", did_you_mean(name, names))
        known = {*catalog.names(options.course), *options.units}
        folders = submissions.folders(options.folder, options.students)
        self._files = {name: submissions.listing(paths, known) for name, paths in folders.items()}
        self._units = [catalog.find(name, options.course) for name in self._unit_names()]
        for unit in self._units:
            if not unit.check:
                raise WanlabError(f"{unit.heading} has no checks, so it cannot be graded")
        self._results: dict[tuple[str, str], StudentResult] = {}
        self._folders: dict[Path, TemporaryFolder] = {}
        self.scripts: dict[str, dict[str, similar.ScriptShingles]] = {
            unit.name: {} for unit in self._units
        }
        self.sessions: dict[str, dict[str, Sequence[SessionIdentity]]] = {
            unit.name: {} for unit in self._units
        }

    def _unit_names(self) -> list[str]:
        known = list(catalog.names(self._options.course))
        if self._options.units:
            return list(self._options.units)
        handed_in = {unit for files in self._files.values() for unit in files.by_unit}
        if not handed_in:
            problems = (file.problem for files in self._files.values() for file in files.unclear)
            raise WanlabError(
                f"no student has handed in anything in {self._options.folder}"
                + "".join(f"; {problem}" for problem in itertools.islice(problems, MAX_PROBLEMS)),
                "put work into FOLDER/STUDENT, as in FOLDER/Ada Lovelace/prob1.sh; "
                "to grade a unit anyway, use --unit",
            )
        return [name for name in known if name in handed_in]

    def run(self, listener: Listener | None = None) -> list[StudentResult]:
        """Grade all submissions. If grading is interrupted, finished grades are kept."""
        _try_to_write(self._options.results)
        tasks = [
            self._grading(student, unit)
            for unit in self._units
            for student in self._options.students
        ]
        waiting = [task for task in tasks if not self._is_done(task)]
        batch = Batch(self, len(waiting), listener)
        batch.tell(
            f"{len(waiting)} to grade, {len(tasks) - len(waiting)} unchanged or not handed in"
        )
        pool = Workers(JobProgram(load_grading), self._options.jobs, is_pinned=False)
        try:
            batch.perform(waiting, pool)
        finally:
            pool.close()
            for folder in self._folders.values():
                folder.remove()
        return [
            self._results[student.name, unit.name]
            for student in self._options.students
            for unit in self._units
        ]

    def _grading(self, student: Student, unit: Unit) -> Grading:
        submission = submissions.newest(
            self._files[student.name].of(unit.name),
            unit.name,
            student,
            by_session=self._options.by_session,
        )
        if submission is not None:
            if submission.script is not None:
                self.scripts[unit.name][student.name] = submission.script
            self.sessions[unit.name][student.name] = submission.sessions
        return Grading(student, unit, submission)

    # -- earlier results --------------------------------------------------------------------------

    def _is_done(self, task: Grading) -> bool:
        if task.submission is None or task.submission.error:
            error = NOTHING if task.submission is None else task.submission.error
            self._note(task, self._result(task, None, error))
            return True
        is_selected = not self._options.only or task.student.name in self._options.only
        report = self._stored_report(task)
        if report is None and not is_selected:
            self._note(task, self._result(task, None, NOT_YET))
            return True
        if report is None or (is_selected and self._options.only):
            return False
        self._note(task, self._result(task, report, ""))
        return True

    def _stored_report(self, task: Grading) -> GradeReport | None:
        results = output_folder(self._options.results)
        document = kept_document(results, self._name(task), self._key(task))
        with suppress(WanlabError):
            return None if document is None else decode_json(document, REPORT)
        return None

    def _key(self, task: Grading) -> str:
        assert task.submission is not None
        work = {"submission": task.submission.digest, "suffix": task.submission.suffix}
        return key_of(
            run_inputs.origin_of(task.unit, CLOCK, work, choice=self._choice), task.student.seed
        )

    def _name(self, task: Grading) -> str:
        """Return the name of a report in the folder of results, without its ending."""
        return f"results/{file_name(task.student.name)}/{task.unit.name}"

    # -- grading ----------------------------------------------------------------------------------

    def job(self, task: Grading) -> Job | str:
        assert task.submission is not None
        try:
            content = submissions.read_again(
                task.submission, task.unit.name, by_session=self._options.by_session
            )
        except Exception as error:  # whatever a file causes, the others are graded
            return self._note(task, self._result(task, None, submissions.error_text(error)))
        try:
            folder = TemporaryFolder("class")
            self._folders[folder.path] = folder
            work = folder.path / f"{task.unit.name}{task.submission.suffix}"
            work.write_bytes(content)
        except OSError as error:
            place = error.filename or tempfile.gettempdir()
            raise WanlabError(
                f"cannot grade {_line_of(task)}: {place}: {reason_of(error)}",
                "the grades so far are kept: make space there, or set TMPDIR, and grade again",
            ) from None
        course = self._options.course
        return Job(
            _line_of(task),
            {"unit": task.unit.name, "seed": task.student.seed},
            folder.path,
            {
                "work": str(work),
                "course": None if course is None else str(course.absolute()),
                "machine": asdict(self._choice),
            },
            working_folder=Path.cwd(),
            limit_s=60 * self._options.real_minutes,
        )

    def keep(self, task: Grading, ended: EndedJob) -> str | None:
        report = decode_json(read_input(ended.job.folder / GRADE), REPORT)
        self._folders.pop(ended.job.folder).remove()
        self._store(task, report)
        return self._note(task, self._result(task, report, ""))

    def keep_failure(self, task: Grading, ended: EndedJob) -> str:
        if ended.status == LATE:
            error = f"not finished after {self._options.real_minutes:g} minutes; an endless loop?"
        else:
            failure = read_failure(ended.job.folder)
            reason = _reason(failure.reason if failure else "", ended.job.folder)
            error = f"not graded: {reason}"
        self._folders.pop(ended.job.folder).remove()
        return self._note(task, self._result(task, None, error))

    def _store(self, task: Grading, report: GradeReport) -> None:
        results, name = output_folder(self._options.results), self._name(task)
        text = json.dumps(report, indent=2, sort_keys=True) + "\n"
        try:
            keep_document(results, name, text.encode(), self._key(task))
        except OSError as error:
            hint = f"the grades before it are kept: make space and grade again, or {OTHER_FOLDER}"
            raise file_error("write", results.path / f"{name}.json", error, hint) from None

    # -- results ----------------------------------------------------------------------------------

    def _note(self, task: Grading, result: StudentResult) -> str:
        """Note a result; return a line about it."""
        self._results[task.student.name, task.unit.name] = result
        return _line(result)

    def _result(self, task: Grading, report: GradeReport | None, error: str) -> StudentResult:
        submission, due_s = task.submission, self._options.due_s
        late_s = submission.file.handed_in_s - due_s if submission and due_s is not None else 0.0
        notes = list(submission.notes) if submission else []
        notes += report.get("notes", []) if report else []
        changed = report.get("changed_programs", []) if report else []
        notes += [f"{feedback.CHANGED}: {', '.join(changed)}"] if changed else []
        return {
            "student": task.student.name,
            "unit": task.unit.name,
            "seed": task.student.seed,
            "title": task.unit.heading,
            "points": report["points"] if report else 0,
            "of": whole(sum(check.points for check in task.unit.check)),
            "handed_in": submission.handed_in if submission else "",
            "late": _duration(late_s) if late_s > 0 else "",
            "notes": notes,
            "error": error,
            "missed": [c["what"] for c in report["checks"] if not c["passed"]] if report else [],
            "grade": report,
        }


def load_grading(data: bytes, folder: Path) -> Perform:
    """Load what grades a submission, in a worker."""
    from . import session_work, unit_run  # noqa: F401  before the first fork

    def perform(job: Job, say: Say) -> None:
        course, work = job.options["course"], Path(job.options["work"])
        is_session = submissions.is_session(work.suffix)
        report = checking.check(
            catalog.find(job.subject["unit"], None if course is None else Path(course)),
            script=None if is_session else work,
            session=work if is_session else None,
            seed=job.subject["seed"],
            clock=CLOCK,
            say=say,
            choice=MachineChoice(**job.options["machine"]),
        )
        (job.folder / GRADE).write_text(json.dumps(report), encoding="utf-8")

    return perform


def write(
    options: ClassOptions, results: Sequence[StudentResult], pairs: Sequence[similar.Pair]
) -> None:
    """Write all tables and pages."""
    units: dict[str, dict[str, StudentResult]] = {}
    by_student: dict[str, list[StudentResult]] = {}
    for result in results:
        units.setdefault(result["unit"], {})[result["student"]] = result
        by_student.setdefault(result["student"], []).append(result)
    files = {
        "grades.csv": grade_tables.grades(results),
        "canvas.csv": grade_tables.canvas(options.students, units),
        "alike.csv": grade_tables.alike(pairs, {s.name: s.seed for s in options.students}),
    }
    for unit, of_unit in units.items():
        files[f"moodle-{unit}.csv"] = grade_tables.moodle(options.students, of_unit)
    for name, of_student in by_student.items():
        files[f"feedback/{file_name(name)}.html"] = feedback.page(name, of_student)
    results_folder = output_folder(options.results)
    try:
        for name, text in files.items():
            results_folder.write(name, text.encode())
    except OSError as error:
        raise file_error("write to", options.results, error, OTHER_FOLDER) from None


def alike(
    scripts: Mapping[str, Mapping[str, similar.ScriptShingles]],
    sessions: Mapping[str, Mapping[str, Sequence[SessionIdentity]]],
) -> list[similar.Pair]:
    """Return the pairs of students whose submissions are alike, for all units."""
    return [
        pair
        for unit, of_unit in scripts.items()
        for pair in similar.with_sessions(
            unit, similar.pairs(unit, of_unit), of_unit, sessions[unit]
        )
    ]


def was_refused(result: StudentResult) -> bool:
    """Whether something was handed in that could not be graded."""
    return result["error"] not in ("", NOTHING, NOT_YET)


def _try_to_write(results: Path) -> None:
    """Raises WanlabError if nothing can be written, before the first submission is graded."""
    folder = output_folder(results)
    try:
        folder.make().write(PROBE, bytes(PROBE_BYTES))
        folder.remove(PROBE)
    except OSError as error:
        raise file_error("write to", results, error, OTHER_FOLDER) from None


def _line_of(task: Grading) -> str:
    return f"{task.student.name}, {task.unit.name}"


def _line(result: StudentResult) -> str:
    text = result["error"] or f"{result['points']:g} of {result['of']:g}"
    return f"{result['student']}, {result['unit']}: {text}"


def _reason(text: str, folder: Path) -> str:
    """Return why grading failed in one line, without the path of the submission's copy.

    Students do not know that path.
    """
    words = text.replace(f"{folder}/", "").split()
    return " ".join(words)[-MAX_ERROR_CHARACTERS:] or "no reason was given"


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{round(hours / 24)} days"
