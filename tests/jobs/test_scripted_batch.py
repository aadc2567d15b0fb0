"""A batch on a pool whose jobs end as a test says: what is counted, told, kept and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from wanlab.jobs import batch as batches
from wanlab.jobs.batch import Batch, BatchTasks, perform_one
from wanlab.jobs.job import (
    FAILED,
    FINISHED,
    KILLED,
    LATE,
    LOST,
    EndedJob,
    Job,
    as_ordered_json,
    read_failure,
    write_failure,
)
from wanlab.jobs.progress import BatchProgress, RunningJob
from wanlab.jobs.worker import JobProgram


class Scripted:
    """A pool of one worker. Each wait ends the running job, or nothing, as the script says."""

    count = 1

    def __init__(self, script: Sequence[str], real_s: float = 4.0) -> None:
        self.note = "a note"
        self.waits: list[float] = []
        self._script = list(script)
        self._real_s = real_s
        self._job: Job | None = None

    @property
    def running(self) -> Sequence[RunningJob]:
        return [] if self._job is None else [RunningJob(self._job.title, "busy")]

    def can_start(self) -> bool:
        return self._job is None

    def start(self, job: Job) -> None:
        job.folder.mkdir(exist_ok=True)
        (job.folder / "half").write_text("written")
        self._job = job

    def wait(self, real_s: float) -> list[EndedJob]:
        self.waits.append(real_s)
        status = self._script.pop(0)
        if not status:
            return []
        assert self._job is not None
        job, self._job = self._job, None
        if status == FAILED:
            write_failure(job.folder, job.subject, "it is wrong")
        return [EndedJob(job, status, self._real_s)]

    def close(self) -> None:
        pass


class Named(BatchTasks[str]):
    """Tasks whose results are kept unless their names begin with "empty"."""

    def __init__(self, folder: Path, max_attempts: int = 3) -> None:
        self.max_attempts = max_attempts
        self.kept: list[str] = []
        self.reasons: list[str] = []
        self._folder = folder

    def job(self, task: str) -> Job | str:
        return Job(task, {"task": task}, self._folder / task)

    def keep(self, task: str, ended: EndedJob) -> str | None:
        if task.startswith("empty"):
            return None
        self.kept.append(task)
        return f"{task} kept"

    def keep_failure(self, task: str, ended: EndedJob) -> str:
        failure = read_failure(ended.job.folder)
        self.reasons.append("no reason" if failure is None else failure.reason)
        return f"{task} failed"


def perform(
    folder: Path, script: Sequence[str], names: Sequence[str] = ("a",), max_attempts: int = 3
) -> tuple[Named, list[BatchProgress], Scripted]:
    tasks, states, pool = Named(folder, max_attempts), list[BatchProgress](), Scripted(script)
    Batch(tasks, len(names), states.append).perform(names, pool)
    return tasks, states, pool


def test_tasks_of_equal_length_are_started_in_their_order(tmp_path: Path) -> None:
    tasks, states, pool = perform(tmp_path, [FINISHED] * 3, ("b", "a", "c"))
    assert tasks.kept == ["b", "a", "c"]
    assert pool.waits == [0.5] * 3
    last = states[-1]
    assert (last.total, last.finished, last.cached, last.failed) == (3, 3, 0, 0)


def test_the_listener_is_told_even_while_nothing_happens(tmp_path: Path) -> None:
    _, states, _ = perform(tmp_path, ["", "", FINISHED])
    assert [(state.event, len(state.running)) for state in states] == [
        ("", 1),
        ("", 1),
        ("", 1),
        ("a kept", 0),
        ("", 0),
    ]
    assert {state.note for state in states} == {"a note"}
    assert [(state.running, state.says) for state in states[2:4]] == [
        (("a",), ("busy",)),
        ((), ()),
    ]


@pytest.mark.parametrize("status", [FAILED, LATE])
def test_a_job_that_fails_is_not_repeated_and_nothing_of_it_is_kept(
    tmp_path: Path, status: str
) -> None:
    tasks, states, _ = perform(tmp_path, [status])
    assert tasks.kept == []
    assert tasks.reasons == ["it is wrong" if status == FAILED else "no reason"]
    assert (states[-1].finished, states[-1].failed) == (0, 1)
    assert (tmp_path / "a" / "half").exists()


@pytest.mark.parametrize("status", [LOST, KILLED])
@pytest.mark.parametrize(("attempts", "times"), [(1, ""), (2, " 2 times"), (3, " 3 times")])
def test_a_lost_job_is_repeated_a_few_times(
    tmp_path: Path, status: str, attempts: int, times: str
) -> None:
    tasks, states, _ = perform(tmp_path, [status] * attempts, max_attempts=attempts)
    reason = f"its process was lost{times} (does the computer have enough memory?)"
    assert tasks.reasons == [reason]
    assert [state.event for state in states].count(
        "a: its process was lost; starting it again"
    ) == attempts - 1
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["failure.json"]


def test_a_repeated_job_comes_before_those_that_wait(tmp_path: Path) -> None:
    tasks, states, _ = perform(tmp_path, [LOST, FINISHED, FINISHED], ("a", "b"))
    assert tasks.kept == ["a", "b"]
    assert states[-1].finished == 2


def test_known_results_are_counted_as_finished_and_as_cached(tmp_path: Path) -> None:
    states: list[BatchProgress] = []
    batch = Batch(Named(tmp_path), 9, states.append)
    batch.count(finished=3, cached=2)
    batch.count(failed=1)
    batch.tell("read")
    (state,) = states
    assert (state.finished, state.cached, state.failed, state.done) == (3, 2, 1, 4)
    assert (state.event, state.running, state.note, state.left_s) == ("read", (), "", None)


def test_the_rest_takes_as_long_as_what_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    tasks, states = Named(tmp_path), list[BatchProgress]()
    batch, pool = Batch(tasks, 3, states.append), Scripted([FINISHED] * 3)
    now[0] = 103.0
    batch.perform(["a", "b", "c"], pool)
    assert {state.real_s for state in states} == {3.0}
    # After each start, after each end, and after each wait.
    first, second, third = [None, 8.0, 8.0], [6.0, 4.0, 4.0], [2.0, 0.0, 0.0]
    assert [state.left_s for state in states] == [*first, *second, *third]
    batch.tell("without a pool")
    assert states[-1].left_s is None
    batch.tell("with nothing to do", pool)
    assert states[-1].left_s == 0.0


@pytest.mark.parametrize(
    ("count", "running", "waiting", "left_s"),
    [(2, 2, 6, 3.5 * 4), (4, 1, 2, 2.5 / 3 * 4), (8, 2, 0, 1 / 2 * 4), (2, 1, 0, 2.0)],
)
def test_more_workers_take_less_time(
    tmp_path: Path, count: int, running: int, waiting: int, left_s: float
) -> None:
    class Fixed(Scripted):
        @property
        def running(self) -> Sequence[RunningJob]:
            return [RunningJob("x")] * running

    states: list[BatchProgress] = []
    batch, pool = Batch(Named(tmp_path), 9, states.append), Scripted([FINISHED])
    batch.perform(["a"], pool)
    fixed = Fixed([])
    fixed.count = count
    batch.tell(pool=fixed, waiting=waiting)
    assert states[-1].left_s == pytest.approx(left_s)


def test_a_single_job_has_one_pinned_worker_that_checks_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []

    class Recording(Scripted):
        def __init__(self, program: JobProgram, count: int, *, is_pinned: bool) -> None:
            super().__init__(["", FINISHED])
            calls.append((program, count, is_pinned))

        def can_start(self) -> bool:
            calls.append("checked")
            return True

        def close(self) -> None:
            calls.append("closed")

    def load(data: bytes, folder: Path) -> None:
        raise AssertionError

    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(batches, "Workers", Recording)
    program = JobProgram(load)  # type: ignore[arg-type]
    states: list[BatchProgress] = []

    def listen(state: BatchProgress) -> None:
        states.append(state)
        now[0] += 1.0

    assert perform_one(program, Job("it", {}, tmp_path / "it"), listen).status == FINISHED
    assert calls == [(program, 1, True), "checked", "closed"]
    assert [(s.total, s.done, s.real_s, s.running, s.says) for s in states] == [
        (1, 0, 0.0, ("it",), ("busy",)),
        (1, 0, 1.0, ("it",), ("busy",)),
    ]
    calls.clear()
    perform_one(program, Job("it", {}, tmp_path / "it"), is_pinned=False)
    assert calls[0] == (program, 1, False)


def test_a_job_that_nobody_timed_took_no_time(tmp_path: Path) -> None:
    assert EndedJob(Job("it", {}, tmp_path), LOST).real_s == 0.0


def test_json_keeps_its_order_and_its_letters_and_has_no_nan() -> None:
    assert as_ordered_json({"b": "ü", "a": [1]}) == '{\n  "b": "ü",\n  "a": [\n    1\n  ]\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_ordered_json({"a": float("nan")})


def test_a_failure_keeps_its_subject_apart_from_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    write_failure(folder, {"seed": 2}, "wrong", "do it right")
    failure = read_failure(folder)
    assert failure is not None
    assert failure.subject == {"format": 1, "seed": 2}
    assert (failure.what, failure.hint) == ("wrong", "do it right")
    path = folder / "failure.json"
    for part in ('"what": "wrong",', ',\n  "hint": "do it right"'):
        whole = path.read_text()
        path.write_text(whole.replace(part, ""))
        assert read_failure(folder) is None
        path.write_text(whole)
