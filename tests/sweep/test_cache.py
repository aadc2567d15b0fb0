from __future__ import annotations

import os
from pathlib import Path

import pytest

from wanlab import Record
from wanlab.experiments import Metric, Result
from wanlab.jobs.origin import Origin
from wanlab.jobs.programs import program_hashes
from wanlab.record import Provenance, Table
from wanlab.run.result import Task, read_result, write_result
from wanlab.sweep.cache import Cache

ORIGIN: Origin = {
    "format": 2,
    "inputs": {},
    "parameters": {},
    "clock": "",
    "wanlab": "",
    "kernel": "",
    "cpu": {},
    "programs": {},
    "python": "",
}


def finished(folder: Path, key: str, size: int = 10) -> Result:
    folder.mkdir(parents=True)
    table = Table.of({"time_ns": list(range(size))})
    record = Record(Provenance(wanlab="0"), {"ticks": table}, {"out": os.urandom(size)})
    task = Task({"a": 1}, 1, key)
    metrics = {"x": Metric(1.5, "ms"), "y": Metric(float("nan"))}
    write_result(folder, "one" if key < "5" else "other", task, metrics, record, ORIGIN)
    result = read_result(folder)
    assert result is not None
    return result


def test_a_run_is_found_by_its_key(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.find("3f") is None
    put = finished(tmp_path / "run", "3f")
    cache.put(put)
    found = cache.find("3f")
    assert found is not None
    assert found.is_cached
    assert found.metrics["x"] == put.metrics["x"]
    assert list(found.metrics) == ["x", "y"]
    assert found.record == put.record


@pytest.mark.parametrize("part", ["result.json", "record/ticks.parquet", "record/raw/out"])
@pytest.mark.parametrize("damage", [b"", b"{}"])
def test_a_damaged_run_is_removed(tmp_path: Path, part: str, damage: bytes) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(finished(tmp_path / "run", "3f"))
    (path,) = (tmp_path / "cache").glob(f"*/3f/{part}")
    path.unlink()
    path.write_bytes(damage)
    assert cache.find("3f") is None
    assert not path.parent.exists()


def test_the_least_recently_used_run_is_removed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    for number, key in enumerate(["1a", "2b", "3c"]):
        cache.put(finished(tmp_path / key, key, 50_000))
        os.utime(tmp_path / "cache" / key[:2] / key, (number, number))
    assert cache.find("1a") is not None  # now it is the most recently used run
    monkeypatch.setenv("WANLAB_CACHE_LIMIT", "300KB")
    cache.trim()
    kept = [key for key in ("1a", "2b", "3c") if cache.find(key)]
    assert kept == ["1a", "3c"] or kept == ["1a"]
    assert "2b" not in kept


def test_runs_are_removed_by_experiment_or_all_at_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for key in ("1a", "2b", "9c"):
        cache.put(finished(tmp_path / key, key))
    assert cache.forget("other") == 1
    assert cache.find("1a") is not None
    assert cache.forget() == 2
    assert cache.find("1a") is None


def test_a_changed_program_has_another_hash_even_with_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "tool"
    hashes = set()
    for answer in (1, 2):
        program.write_text(f"#!/bin/sh\necho {answer}\n")
        program.chmod(0o755)
        os.utime(program, (1000, 1000))  # as in packages of reproducible builds
        program_hashes.cache_clear()  # stands for another process
        hashes.add(program_hashes((str(program),))[str(program)])
    assert len(hashes) == 2
    assert (tmp_path / "cache/wanlab/experiments/programs.json").is_file()
