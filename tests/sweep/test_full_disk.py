"""A sweep whose disk is full says so, and its runs have failed."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab import Sweep
from wanlab.cli import sweeps
from wanlab.experiments import load_experiment
from wanlab.sweep import folder
from wanlab.sweep.sweep import FULL_DISK_BYTES

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

FILLING = str(Path(__file__).with_name("filling.py"))
NO_SPACE = "there is no space left in {}; free some, and repeat it with --retry-failed"
UNKNOWN = "the reason is unknown"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root")


def sweep_on_a_small_disk(output: Path, experiment: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep whose output folder has 4 MB; its results go with the disk."""
    output.mkdir()
    script = f'mount -t tmpfs -o size=4m none {shlex.quote(str(output))}; exec "$@"'
    options = ["--json", "--no-cache", "--jobs", "1", "--output", str(output)]
    command = [sys.executable, "-m", "wanlab.cli", "sweep", f"{FILLING}:{experiment}", *options]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_root
def test_a_sweep_on_a_full_disk_says_that_there_is_no_space(tmp_path: Path) -> None:
    output = tmp_path / "out"
    done = sweep_on_a_small_disk(output, "by_another")
    assert done.returncode == 1
    for x in (1, 2):
        assert f"x={x}, seed 1 failed: {NO_SPACE.format(output)}\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"wanlab: cannot write results to {output}: ")
    assert "Traceback" not in done.stderr


@needs_root
def test_a_run_that_fills_the_disk_keeps_its_reason(tmp_path: Path) -> None:
    """Its own files are removed before the reason is written."""
    done = sweep_on_a_small_disk(tmp_path / "out", "by_itself")
    assert done.returncode == 1
    failures = json.loads(done.stdout)["failures"]
    what = "OSError: [Errno 28] No space left on device"
    assert [failure["what"] for failure in failures] == [what] * 2
    assert failures[0]["hint"].startswith("filling.py, line ")


@needs_root
def test_a_run_that_is_killed_after_it_has_filled_the_disk_keeps_its_reason(tmp_path: Path) -> None:
    done = sweep_on_a_small_disk(tmp_path / "out", "until_killed")
    assert done.returncode == 1
    failures = json.loads(done.stdout)["failures"]
    assert [failure["what"] for failure in failures] == ["its process was lost 3 times"] * 2


@pytest.mark.parametrize(
    ("free_bytes", "says"),
    [(FULL_DISK_BYTES - 1, NO_SPACE), (FULL_DISK_BYTES, UNKNOWN)],
    ids=["full", "not full"],
)
def test_a_run_that_wrote_no_reason_is_explained_by_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, says: str
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free_bytes)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    events: list[str] = []
    sweep = Sweep(load_experiment(FILLING, "without_a_word"), output=tmp_path)
    results = sweep.run(uses_cache=False, jobs=1, progress=lambda state: events.append(state.event))
    says = says.format(tmp_path)
    assert [failure.what for failure in results.failures] == [says] * 2
    assert f"x=1, seed 1 failed: {says}" in events


def test_a_run_whose_reason_cannot_be_written_has_failed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(folder, "write_failure", fail)
    status = sweeps.sweep(
        f"{FILLING}:without_a_word",
        values=[],
        repeats=None,
        full=False,
        jobs=1,
        output=tmp_path,
        retry_failed=False,
        stop_after=5,
        scheduler="",
        limit_s=None,
        no_cache=True,
        plots=[],
        no_report=True,
        as_json=False,
    )
    assert status == 1
    said = capsys.readouterr()
    assert f"x=2, seed 1 failed: {UNKNOWN}\n" in said.err
    assert said.out.endswith(
        "2 runs failed, but the reason could not be written; the same command repeats them\n"
    )
