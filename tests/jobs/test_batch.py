"""Jobs are performed by worker processes; their results, failures and progress reach the caller."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sample_program

from wanlab.errors import WanlabError
from wanlab.jobs import pool as pools
from wanlab.jobs.batch import Batch, BatchTasks, perform_one
from wanlab.jobs.job import (
    FAILED,
    FINISHED,
    LATE,
    EndedJob,
    Job,
    read_failure,
    remove_written_files,
    write_failure,
)
from wanlab.jobs.pool import Workers
from wanlab.jobs.progress import BatchProgress
from wanlab.jobs.worker import JobProgram

PROGRAM = JobProgram(sample_program.load)


@pytest.fixture(autouse=True)
def much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "available_bytes", lambda: 1 << 40)


class Kept(BatchTasks[str]):
    """Tasks whose names are what their jobs do; `results` has what each gave."""

    def __init__(self, folder: Path, expected: Callable[[str], float] = lambda task: 0.0) -> None:
        self.results: dict[str, str] = {}
        self.started: list[str] = []
        self._folder = folder
        self._expected = expected

    def expected_s(self, task: str) -> float:
        return self._expected(task)

    def job(self, task: str) -> Job | str:
        if task == "refuse":
            return "refused before it began"
        self.started.append(task)
        options = {"do": task.partition(":")[0], "gives": task, "seen": str(self._folder / "seen")}
        return Job(task, {"task": task}, self._folder / str(len(self.started)), options)

    def keep(self, task: str, ended: EndedJob) -> str | None:
        path = ended.job.folder / "result"
        if not path.exists():
            return None
        self.results[task] = path.read_text()
        return f"{task} is done"

    def keep_failure(self, task: str, ended: EndedJob) -> str:
        failure = read_failure(ended.job.folder)
        assert failure is not None
        self.results[task] = failure.reason
        return f"{task} has failed"


def perform(tasks: Kept, names: list[str], count: int = 2) -> list[BatchProgress]:
    seen: list[BatchProgress] = []
    with closing(Workers(PROGRAM, count, is_pinned=False)) as pool:
        Batch(tasks, len(names), seen.append).perform(names, pool)
    return seen


def test_every_task_ends_as_a_result_or_a_reason(tmp_path: Path) -> None:
    tasks = Kept(tmp_path)
    names = ["give", "fail", "break", "refuse", "die once", "die", "nothing"]
    seen = perform(tasks, names)
    lost = "its process was lost 3 times (does the computer have enough memory?)"
    assert tasks.results == {
        "give": "give",
        "fail": "it is wrong; half of it is done (do it right)",
        "break": "KeyError: 'missing'",
        "die once": "again",
        "die": lost,
        "nothing": lost,  # it finishes, and leaves no result
    }
    assert (seen[-1].total, seen[-1].finished, seen[-1].failed, seen[-1].done) == (7, 2, 5, 7)
    events = [state.event for state in seen if state.event]
    assert sorted(events) == sorted(
        [
            "give is done",
            "fail has failed",
            "break has failed",
            "refused before it began",
            "die once: its process was lost; starting it again",
            "die once is done",
            *["die: its process was lost; starting it again"] * 2,
            "die has failed",
            *["nothing: its process was lost; starting it again"] * 2,
            "nothing has failed",
        ]
    )
    assert {title for state in seen for title in state.running} == set(names) - {"refuse"}


def test_the_longest_task_is_started_first(tmp_path: Path) -> None:
    tasks = Kept(tmp_path, expected=lambda task: float(task.partition(":")[2]))
    perform(tasks, ["give:1", "give:3", "give:2", "give:3.0"], count=1)
    assert tasks.started == ["give:3", "give:3.0", "give:2", "give:1"]


def test_a_job_that_takes_too_long_is_ended_and_has_a_reason(tmp_path: Path) -> None:
    job = Job("slow", {"seed": 3}, tmp_path / "slow", {"do": "hang"}, limit_s=0.2)
    assert perform_one(PROGRAM, job).status == LATE
    failure = read_failure(job.folder)
    assert failure is not None
    assert failure.what == "it did not end within 0.2 s of real time"
    assert failure.console == "the console\n"
    stored = json.loads((job.folder / "failure.json").read_text())
    assert stored["seed"] == 3
    assert sorted(path.name for path in job.folder.iterdir()) == ["console.txt", "failure.json"]


def test_what_a_job_says_reaches_the_listener_whose_exception_ends_it(tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def listen(state: BatchProgress) -> None:
        if (state.running, state.says) == (("it",), ("waiting for nothing",)):
            raise StopError

    job = Job("it", {}, tmp_path / "it", {"do": "hang"})
    others = children()
    with pytest.raises(StopError):
        perform_one(PROGRAM, job, listen)
    assert not job.folder.exists()
    assert children() <= others


def children() -> set[str]:
    """Return the processes that this one has started and that still run."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_job_has_its_working_folder_and_imports_nothing_from_there(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("json.py", "pwd.py", "traceback.py"):
        (tmp_path / "work" / name).write_text("open('taken', 'w').close()\n")
    job = Job("it", {}, tmp_path / "it", {"do": "tell where"}, working_folder=tmp_path / "work")
    assert perform_one(PROGRAM, job).status == FINISHED
    assert (job.folder / "result").read_text() == str(tmp_path / "work")
    assert not (tmp_path / "work" / "taken").exists()


def test_a_finished_job_gets_its_final_name(tmp_path: Path) -> None:
    final = tmp_path / "final"
    job = Job("it", {}, tmp_path / "it", {"do": "give", "gives": "all"}, final)
    assert perform_one(PROGRAM, job).status == FINISHED
    assert (final / "result").read_text() == "all"
    failing = Job("it", {}, tmp_path / "other", {"do": "fail"}, tmp_path / "never")
    assert perform_one(PROGRAM, failing).status == FAILED
    assert not (tmp_path / "never").exists()


def test_a_program_that_cannot_be_loaded_is_reported(tmp_path: Path) -> None:
    job = Job("it", {}, tmp_path / "it", {"do": "give"})
    with pytest.raises(WanlabError, match=r"this cannot be loaded \(load something else\)"):
        perform_one(JobProgram(sample_program.load, b"refuse"), job)


def test_a_job_travels_as_json(tmp_path: Path) -> None:
    job = Job("it", {"seed": 1}, tmp_path, {"a": [1]}, tmp_path / "final", tmp_path, 3, 4.5)
    assert Job.from_json(job.to_json()) == job
    job = Job("it", {}, tmp_path)
    assert Job.from_json(job.to_json()) == job


def test_a_failure_that_is_damaged_or_of_another_format_is_none(tmp_path: Path) -> None:
    assert read_failure(tmp_path) is None
    write_failure(tmp_path / "it", {"seed": 2}, "wrong")
    kept = read_failure(tmp_path / "it")
    assert kept is not None
    assert (kept.reason, kept.subject["seed"], kept.console) == ("wrong", 2, "")
    path = tmp_path / "it" / "failure.json"
    for text in (
        "{",
        "[]",
        path.read_text().replace('"format": 1', '"format": 2'),
        '{"format": 1}',
    ):
        path.write_text(text)
        assert read_failure(tmp_path / "it") is None


def test_only_the_console_and_the_reason_stay_of_a_failed_job(tmp_path: Path) -> None:
    (tmp_path / "it" / "record").mkdir(parents=True)
    for name in ("record/table", "result.json", "console.txt", "failure.json"):
        (tmp_path / "it" / name).write_text("x")
    (tmp_path / "it" / "link").symlink_to(tmp_path)
    remove_written_files(tmp_path / "it")
    assert sorted(path.name for path in (tmp_path / "it").iterdir()) == [
        "console.txt",
        "failure.json",
    ]
    remove_written_files(tmp_path / "missing")


def test_one_more_job_waits_until_there_is_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "available_bytes", lambda: 1 << 30)
    tasks = Kept(tmp_path)
    seen = perform(tasks, ["give:1", "give:2"])
    assert max(len(state.running) for state in seen) == 1
    assert any("GB of memory" in state.note for state in seen)
    assert seen[-1].finished == 2
