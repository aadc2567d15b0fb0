"""Test the commands `wanlab run` and `wanlab sweep`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.cli import sweeps
from wanlab.errors import WanlabError
from wanlab.experiments import SweepProgress
from wanlab.machine.embedded import find_image

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

LOSSES = str(Path(__file__).with_name("losses.py"))


def wanlab(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs wanlab in a folder with an empty cache."""
    return subprocess.run(
        [sys.executable, "-m", "wanlab.cli", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "WANLAB_KERNEL": str(find_image().folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_run_is_reused_by_a_sweep_and_removed_on_request(tmp_path: Path) -> None:
    one = wanlab(tmp_path, "run", LOSSES, "--set", "loss=20%", "--seed", "2", "--json")
    assert one.returncode == 0, one.stderr
    said = json.loads(one.stdout)
    assert said["parameters"] == {"loss": "20%", "delay": "5ms", "count": 20}
    assert said["metrics"]["lost"]["unit"] == "%"

    options = ["--set", "loss=20%,100%", "--repeats", "2", "--output", "out"]
    plots = ["--plot", "box rtt over loss", "--plot", "lines los over loss"]
    many = wanlab(tmp_path, "sweep", LOSSES, *options, "--json", *plots)
    assert many.returncode == 1  # two have failed
    assert "1 from the cache" in many.stderr
    why = "there is no metric 'los' (did you mean lost?)"
    assert f'Warning: figure not drawn: "lines los over loss": {why}\n' in many.stderr
    results = json.loads(many.stdout)
    assert (results["folder"], results["report"]) == ("out", "out/report.html")
    assert str(tmp_path) not in many.stdout  # the same in every folder
    assert [run["seed"] for run in results["runs"]] == [1, 2]
    assert results["runs"][1]["metrics"] == said["metrics"]
    assert [failure["what"] for failure in results["failures"]] == [
        "ValueError: nothing came back"
    ] * 2
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "nothing came back" in page
    assert (tmp_path / "out" / "figures" / "1-box-rtt-over-loss.svg").exists()

    assert wanlab(tmp_path, "sweep", "--forget").stdout == "removed 2 runs from the cache\n"


def test_the_log_explains_why_nothing_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "LINE_INTERVAL_S", 0)
    lines = sweeps._ProgressLines()
    for note in ("", "", "the scheduler has no workers", "the scheduler has no workers"):
        lines(SweepProgress(3, note=note))
    assert capsys.readouterr().err.splitlines() == [
        "[    0.0 s] 0 of 3 done",
        "[    0.0 s] 0 of 3 done, the scheduler has no workers",
    ]


@pytest.mark.parametrize(
    ("file", "values", "plots", "says"),
    [
        (LOSSES, ["los=1%"], [], r"no parameter 'los' \(did you mean loss\?\)"),
        (LOSSES, ["count=many"], [], "count=many: count must be an int"),
        (LOSSES, ["loss"], [], '"loss" is not NAME=VALUE'),
        (LOSSES, [], ["lines lost over los"], "no parameter 'los'"),
        (LOSSES, [], ["pie lost over loss"], "is not a figure"),
        ("nothing.py", [], [], "there is no file"),
        (f"{LOSSES}:gains", [], [], "has no experiment 'gains'"),
    ],
)
def test_mistakes_are_reported_before_anything_is_run(
    tmp_path: Path, file: str, values: list[str], plots: list[str], says: str
) -> None:
    with pytest.raises(WanlabError, match=says):
        sweeps.sweep(
            file,
            values=values,
            repeats=None,
            full=False,
            jobs=None,
            output=tmp_path / "out",
            retry_failed=False,
            stop_after=5,
            scheduler="",
            limit_s=None,
            no_cache=True,
            plots=plots,
            no_report=True,
            as_json=False,
        )
    assert not (tmp_path / "out").exists()
