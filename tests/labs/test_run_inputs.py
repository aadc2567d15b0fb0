"""Test that a finished run of a unit counts only until something that decides its numbers changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from wanlab.jobs import origin
from wanlab.jobs.origin import PACKAGE, code_hash, kernel_hash, key_of
from wanlab.jobs.programs import program_hashes
from wanlab.labs import catalog
from wanlab.labs.run_inputs import finished_run, key, origin_of
from wanlab.labs.unit import Check, Unit
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.network import MachineChoice


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy wanlab's code, so that a test can change it."""
    copy = tmp_path / "wanlab"
    ignored = shutil.ignore_patterns("__pycache__", "static", "gallery", "web", "cli")
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    (copy / "web").mkdir()
    monkeypatch.setattr(origin, "PACKAGE", copy)
    return copy


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole PATH of nodes, with an iperf3."""
    folder = tmp_path / "bin"
    folder.mkdir()
    _install(folder / "iperf3", "3.12")
    monkeypatch.setitem(ENVIRONMENT, "PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    image = SimpleNamespace(manifest_hash="6.12")
    monkeypatch.setattr(origin, "find_image", lambda kernel: image)
    yield image
    kernel_hash.cache_clear()


@pytest.fixture
def unit(tmp_path: Path, package: Path, programs: Path, kernel: SimpleNamespace) -> Unit:
    """Return a copy of Lab 14, in a world in which everything can be changed."""
    unit = catalog.find("14")
    shutil.copytree(unit.folder, tmp_path / "unit")
    return replace(unit, folder=tmp_path / "unit")


def _install(path: Path, version: str) -> None:
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def now(unit: Unit, seed: int = 1, clock: str = "virtual") -> str:
    """Return the digest as another process computes it."""
    for cached in (code_hash, kernel_hash, program_hashes):
        cached.cache_clear()
    return key(unit, seed=seed, clock=clock)


def test_equal_inputs_have_equal_digests(unit: Unit) -> None:
    assert now(unit) == now(unit)


@pytest.mark.parametrize("file", ["plan/shaping.py", "labs/grade.py", "mininet/net.py"])
def test_one_constant_of_the_code_changes_the_digest(unit: Unit, package: Path, file: str) -> None:
    before = now(unit)
    path = package / file
    path.write_text(path.read_text().replace("0.001", "0.01") + "BURST_S = 0.01\n")
    assert now(unit) != before


def test_another_kernel_changes_the_digest(unit: Unit, kernel: SimpleNamespace) -> None:
    before = now(unit)
    kernel.manifest_hash = "7.3"
    assert now(unit) != before


def test_another_version_of_a_program_changes_the_digest(unit: Unit, programs: Path) -> None:
    before = now(unit)
    _install(programs / "iperf3", "3.13")
    assert now(unit) != before


def test_another_version_of_a_program_that_a_check_runs_changes_the_digest(
    unit: Unit, programs: Path
) -> None:
    _install(programs / "netperf", "2.7")
    without = replace(unit, check=())
    unit = replace(unit, check=(Check("load", 1, "", state="netperf -H h2"),))
    before, before_without = now(unit), now(without)
    _install(programs / "netperf", "2.8")
    assert now(unit) != before
    assert now(without) == before_without


def test_another_version_of_python_changes_the_digest(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = now(unit)
    monkeypatch.setattr("platform.python_version", lambda: "3.0.0")
    assert now(unit) != before


def test_the_seed_and_the_clock_change_the_digest(unit: Unit) -> None:
    assert len({now(unit), now(unit, seed=2), now(unit, clock="real")}) == 3


def test_a_start_jitter_changes_the_digest(unit: Unit) -> None:
    jitters = (0, 1_000_000, 5_000_000)
    digests = {key(unit, seed=1, clock="virtual", start_jitter_ns=jitter) for jitter in jitters}
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("change", "is_input"),
    [
        (lambda folder: _append(folder / "lab.yaml", "# more\n"), True),
        (lambda folder: (folder / "lab.yaml").rename(folder / "renamed.yaml"), True),
        (lambda folder: (folder / "new.sh").write_text("true\n"), True),
        (lambda folder: _append(folder / "lesson.md", "More.\n"), False),
        (lambda folder: (folder / "figure.svg").write_text("<svg/>"), False),
        (lambda folder: (folder / "another.svg").write_text("<svg/>"), False),
    ],
)
def test_files_of_the_unit_change_the_digest_unless_they_are_only_read_by_people(
    unit: Unit, change: Callable[[Path], object], is_input: bool
) -> None:
    before = now(unit)
    change(unit.folder)
    assert (now(unit) != before) is is_input


def test_other_units_and_the_server_do_not_change_the_digest(unit: Unit, package: Path) -> None:
    before = now(unit)
    next((package / "labs" / "units").rglob("lesson.md")).write_text("Another lesson.\n")
    (package / "web" / "app.py").write_text("")
    assert now(unit) == before


def test_the_work_that_is_graded_is_an_input(unit: Unit) -> None:
    kernel_hash.cache_clear()
    without = origin_of(unit, "virtual")
    graded = origin_of(unit, "virtual", {"submission": "its hash"})
    assert "unit/lab.yaml" in without["inputs"]
    assert graded["inputs"] == {**without["inputs"], "submission": "its hash"}
    assert graded["programs"]["tc"] == "missing"
    assert graded["kernel"] == "6.12"


def test_the_chosen_kernel_and_processor_are_in_the_origin(
    unit: Unit, kernel: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def booted(name: str) -> SimpleNamespace:
        return SimpleNamespace(manifest_hash="7.3") if name == "7.3" else kernel

    monkeypatch.setattr(origin, "find_image", booted)
    kernel_hash.cache_clear()
    default = origin_of(unit, "virtual")
    chosen = origin_of(unit, "virtual", choice=MachineChoice("7.3", "ptrace", "server-2019"))
    assert (default["kernel"], default["cpu"]) == ("6.12", {})
    assert (chosen["kernel"], chosen["cpu"]["model"]) == ("7.3", "server-2019")
    monkeypatch.setenv("WANLAB_KERNEL", "7.3")
    monkeypatch.setenv("WANLAB_CPU", "server-2019")
    assert origin_of(unit, "virtual") == chosen
    free = MachineChoice("6.12", cpu="free")
    assert origin_of(unit, "virtual", choice=free) == default
    assert key(unit, seed=1, clock="virtual", choice=free) == key_of(default, 1)


def test_a_finished_run_counts_only_with_the_same_digest(unit: Unit, tmp_path: Path) -> None:
    folder = tmp_path / unit.run_name(1)
    folder.mkdir()
    report = {"inputs": now(unit), "points": 3}
    (folder / "report.json").write_text(json.dumps(report))
    assert finished_run(tmp_path, unit, seed=1, clock="virtual") == report
    assert finished_run(tmp_path, unit, seed=2, clock="virtual") is None
    assert finished_run(tmp_path, unit, seed=1, clock="real") is None
    (folder / "report.json").write_text("{")
    assert finished_run(tmp_path, unit, seed=1, clock="virtual") is None
