"""A sweep's table is the same to the byte, interrupted or not, with one worker or several."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from patience import PATIENCE_S

from wanlab import Design, Run, Sweep, experiment
from wanlab.errors import WanlabError
from wanlab.experiments import Results, SweepProgress, load_experiment, read_results
from wanlab.jobs import programs
from wanlab.jobs.job import Job
from wanlab.jobs.origin import Origin, differences, key_of
from wanlab.jobs.store import replace_text
from wanlab.network.options import BASE_MEMORY_BYTES
from wanlab.run.key import origin_of
from wanlab.run.perform import load
from wanlab.run.result import write_computing
from wanlab.sweep import cache

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

HERE = Path(__file__).parent
LOSSES = HERE / "losses.py"
SWEEPER = HERE / "sweeper.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
TABLE = "results.parquet"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("undisturbed")
    return Sweep(load_experiment(LOSSES), output=folder).run(uses_cache=False, jobs=2)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache."""
    for module in (programs, cache):
        monkeypatch.setattr(module, "experiments_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def sweeper(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(SWEEPER), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def until_finished(process: subprocess.Popen[str], count: int) -> bool:
    """Read a sweep's output until `count` runs are done; return False if it ends before that."""
    assert process.stdout is not None
    return any(int(line.split()[0]) >= count for line in process.stdout)


def made(folder: Path) -> dict[str, int]:
    """Return each finished run with its inode, which changes if the run is repeated."""
    return {path.parent.name: path.stat().st_ino for path in folder.glob("runs/*/result.json")}


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def test_results_follow_the_design_and_carry_units(undisturbed: Results) -> None:
    table = undisturbed.table
    assert list(zip(table["loss"], table["seed"], strict=True)) == [
        (loss, seed) for loss in ("0%", "20%") for seed in (1, 2, 3)
    ]
    assert table.column("lost").unit == "%"
    lost = list(table["lost"])
    assert lost[:3] == [0, 0, 0]
    assert len(set(lost[3:])) > 1  # another seed, other losses
    assert undisturbed.results[0].record["ping"].names[0] == "time_ns"
    assert undisturbed.results[0].record.provenance.parameters["loss"] == "0%"
    assert undisturbed.results[0].console == "20 of 20 came back\n"


@pytest.mark.long
def test_runs_whose_programs_computed_for_long_are_counted(
    tmp_path: Path, undisturbed: Results
) -> None:
    assert undisturbed.computing_warning() == ""
    results = [replace(each, folder=tmp_path / each.key) for each in undisturbed.results]
    for number, result in enumerate(results):
        result.folder.mkdir()
        write_computing(result.folder, {}, ["programs of h1 computed"] if number % 2 else [])
    found = replace(undisturbed, results=tuple(results)).computing_warning()
    count = len(results)
    assert found == f"in {count // 2} of {count} runs, as in the first: programs of h1 computed"


def test_a_killed_sweep_resumes_where_it_was(tmp_path: Path, undisturbed: Results) -> None:
    before: dict[str, int] = {}
    for count in (1, 3, 5):
        with sweeper(tmp_path) as process:
            assert until_finished(process, count)
            workers = children_of(process.pid)
            process.kill()
        for worker in workers:
            _wait_until_gone(worker)
        assert before.items() <= made(tmp_path).items()
        before = made(tmp_path)
        assert len(before) >= count
    with sweeper(tmp_path) as process:
        assert not until_finished(process, 100)
    assert process.returncode == 0
    assert before.items() <= made(tmp_path).items()
    assert (tmp_path / TABLE).read_bytes() == (undisturbed.folder / TABLE).read_bytes()
    assert not (tmp_path / "unfinished").exists()


def _wait_until_gone(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    gone, _, _ = select.select([handle], [], [], PATIENCE_S)
    os.close(handle)
    assert gone, f"process {pid} has outlived its sweep"


def test_an_interrupted_sweep_ends_its_runs_and_keeps_finished_ones(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wanlab.cli", "sweep", str(LOSSES), "--no-cache"]
    with subprocess.Popen(
        [*command, "--output", str(tmp_path), "--set", "count=400"],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert "the same command resumes from there" in errors
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.long
def test_a_damaged_or_incomplete_run_is_performed_again(
    tmp_path: Path, undisturbed: Results
) -> None:
    shutil.copytree(undisturbed.folder, tmp_path, dirs_exist_ok=True)
    first, second, third, *_ = sorted((tmp_path / "runs").iterdir())
    (first / "result.json").write_text("{")
    (second / "result.json").unlink()
    table = next((third / "record").glob("*.parquet"))
    table.write_bytes(table.read_bytes()[:-10])
    seen: list[SweepProgress] = []
    results = Sweep(load_experiment(LOSSES), output=tmp_path).run(
        uses_cache=False, progress=seen.append
    )
    assert any("is damaged; performing it again" in progress.event for progress in seen)
    assert seen[-1].cached == 3
    assert len(results) == 6
    assert (tmp_path / TABLE).read_bytes() == (undisturbed.folder / TABLE).read_bytes()


def test_failed_runs_keep_their_reason_and_are_retried_on_request(
    tmp_path: Path, own_cache: Path
) -> None:
    losses = load_experiment(LOSSES)
    once = Sweep(losses, Design.grid({"loss": ["100%", "0%"]}), output=tmp_path)
    results = once.run()
    assert [result.parameters["loss"] for result in results] == ["0%"]
    (failure,) = results.failures
    assert failure.what == "ValueError: nothing came back"
    assert failure.hint.startswith("losses.py, line ")
    assert "0 of 20 came back" in failure.console
    seen: list[SweepProgress] = []
    again = Sweep(losses, Design.grid({"loss": ["100%", "0%"]}), output=tmp_path)
    assert len(again.run(progress=seen.append).failures) == 1
    assert not any(state.running for state in seen)
    assert len(again.run(progress=seen.append, retry_failed=True).failures) == 1
    assert any(state.running for state in seen)
    read = read_results(tmp_path)
    assert (len(read.results), len(read.failures), read.missing) == (1, 1, 0)


def test_a_cached_run_is_not_performed_again(tmp_path: Path, own_cache: Path) -> None:
    losses = load_experiment(LOSSES)
    first = losses.run(loss="20%", seed=2)
    again = losses.run(loss="20%", seed=2)
    assert (first.is_cached, again.is_cached) == (False, True)
    assert again == first
    assert again.record.digest() == first.record.digest()
    seen: list[SweepProgress] = []
    design = Design.listed([{"loss": "20%"}], repeats=2)
    results = Sweep(losses, design, output=tmp_path / "out").run(progress=seen.append)
    assert seen[-1].cached == 1
    assert results.results[1].metrics == first.metrics
    # A damaged run is not used.
    for path in own_cache.glob("runs/*/*/record/ping.parquet"):
        path.unlink()
    assert not losses.run(loss="20%", seed=2).is_cached


def test_a_run_in_this_process_equals_one_in_a_new_process(
    undisturbed: Results, own_cache: Path
) -> None:
    here = load_experiment(LOSSES).run(loss="20%", seed=2, here=True, cache=False)
    there = undisturbed.results[4]
    assert (here.seed, here.parameters) == (there.seed, there.parameters)
    assert here.record.digest() == there.record.digest()
    assert here.metrics == there.metrics


def test_a_run_that_takes_too_long_or_dies_is_a_failure(tmp_path: Path) -> None:
    @experiment
    def odd(run: Run, *, way: str = "") -> None:
        import os
        import signal

        if way == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        while way == "hangs":
            signal.pause()

    seen: list[str] = []
    results = Sweep(odd, Design.grid({"way": ["dies", "hangs"]}), output=tmp_path).run(
        uses_cache=False, limit_s=1.0, progress=lambda state: seen.append(state.event)
    )
    assert [failure.what for failure in results.failures] == [
        "its process was lost 3 times",
        "it did not end within 1 s of real time",
    ]
    assert sum("starting it again" in event for event in seen) == 2


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    losses = load_experiment(LOSSES)
    one, other = (Sweep(losses, output=tmp_path) for _ in range(2))
    with one.folder.locked(), pytest.raises(WanlabError, match="another sweep is running"):
        other.run()


def test_a_failed_write_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.mkdir()
    with pytest.raises(WanlabError, match=r"cannot write results to .*: Is a directory"):
        replace_text(page, "text")
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.long
def test_runs_wait_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wanlab.jobs import pool

    monkeypatch.setattr(pool, "available_bytes", lambda: BASE_MEMORY_BYTES * 3 // 2)
    seen: list[SweepProgress] = []
    design = Design.grid({"loss": ["0%", "1%"]})
    Sweep(load_experiment(LOSSES), design, output=tmp_path).run(
        uses_cache=False, jobs=2, progress=seen.append
    )
    first = next(state for state in seen if state.running)
    assert len(first.running) == 1
    assert "GB of memory" in first.note
    monkeypatch.setattr(pool, "available_bytes", lambda: 1 << 30)
    seen.clear()
    Sweep(load_experiment(LOSSES), design, output=tmp_path / "other").run(
        uses_cache=False, jobs=2, progress=seen.append
    )
    assert max(len(state.running) for state in seen) == 1
    assert seen[-1].finished == 2


def test_a_key_depends_on_parameters_seed_kernel_and_programs() -> None:
    losses = load_experiment(LOSSES)
    one = origin_of(losses, losses.resolve({}))
    other = origin_of(losses, losses.resolve({"delay": "6ms"}))
    assert key_of(one, 1) != key_of(one, 2)
    assert key_of(one, 1) != key_of(other, 1)
    assert one["programs"]["ping"] not in ("", "missing")
    changed: Origin = {**one, "kernel": "0", "programs": {**one["programs"], "iperf3": "0"}}
    assert differences(one, changed) == ["different kernel", "different iperf3"]


# -- on a cluster -----------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Start a scheduler on loopback and two workers of one thread each; return its address."""
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(place)]

    def start(name: str, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *common, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            env=ENVIRONMENT,
        )

    started = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")]
    own = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path / "dask")]
    started += [start("dask_worker", *own) for _ in range(2)]
    try:
        yield str(place), started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_gives_the_same_table(
    tmp_path: Path,
    undisturbed: Results,
    cluster: tuple[str, list[subprocess.Popen[str]]],
) -> None:
    address, workers = cluster
    with sweeper(tmp_path / "out", address) as process:
        assert until_finished(process, 1)
        workers[0].kill()
        assert not until_finished(process, 100)
    assert process.returncode == 0
    table = tmp_path / "out" / TABLE
    assert table.read_bytes() == (undisturbed.folder / TABLE).read_bytes()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("banana", "no Dask scheduler answers at banana.*missing port"),
        ("nothing.json", "no Dask scheduler has written nothing.json"),
    ],
)
def test_a_missing_scheduler_is_reported(
    monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    pytest.importorskip("distributed")
    from wanlab.jobs import cluster
    from wanlab.jobs.worker import JobProgram

    monkeypatch.setattr(cluster, "CONNECT_S", 0)
    with pytest.raises(WanlabError, match=says):
        cluster.Cluster(address, JobProgram(load))


def test_a_result_from_a_cluster_is_complete_or_absent(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from wanlab.jobs.cluster import pack, unpack

    folder = tmp_path / "run"
    (folder / "record").mkdir(parents=True)
    (folder / "result.json").write_text("{}")
    job = Job("", {}, tmp_path / "made", final=tmp_path / "final")
    unpack(pack(folder), job, is_finished=False)
    assert not (tmp_path / "final").exists()
    unpack(pack(folder), job, is_finished=True)
    assert (tmp_path / "final" / "result.json").read_text() == "{}"
    assert not job.folder.exists()
