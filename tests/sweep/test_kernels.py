"""The kernel can be varied like a parameter, even if the experiment's function does not take it."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wanlab import Design, Run, Sweep, experiment
from wanlab.cli.options import machine_choice
from wanlab.experiments import load_experiment
from wanlab.machine.embedded import find_image
from wanlab.record import Provenance
from wanlab.sweep.report import provenance_section


@experiment
def plain(run: Run, *, x: int = 1) -> None:
    """A function that is never called."""


@pytest.mark.machine
def test_a_figure_may_be_over_the_kernel(tmp_path: Path) -> None:
    folder = str(find_image().folder)
    design = Design.grid({"kernel": [folder, f"{folder}/."]})
    sweep = Sweep(plain, design, output=tmp_path)
    assert sweep.varied == ("kernel",)
    assert Sweep(plain, Design.grid({"x": [1, 2]}), output=tmp_path).varied == ("x",)


@pytest.mark.machine
@pytest.mark.costs(3)
def test_the_chosen_kernel_and_mode_reach_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = shutil.copytree(find_image().folder, tmp_path / "mine") / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "hash": "my own"}))
    monkeypatch.chdir(tmp_path)  # a worker has another current folder
    before = dict(os.environ)
    choice = machine_choice("mine", "ptrace")
    losses = load_experiment(Path(__file__).with_name("losses.py"))
    sweep = Sweep(losses, Design.grid({"loss": ["0%"]}), output=tmp_path / "out", choice=choice)
    (result,) = sweep.run(jobs=1, uses_cache=False).results
    assert result.record.provenance.kernel_manifest == "my own"
    assert result.record.provenance.traps == "ptrace"
    assert sweep.origin(sweep.tasks[0])["kernel"] == "my own"
    assert dict(os.environ) == before


def test_a_report_names_every_kernel_that_was_booted() -> None:
    runs = [_run("6.12", "6.12.117-wanlab", "0a"), _run("7.3", "7.3.4-wanlab", "0b")]
    results: Any = _Runs([*runs, runs[0]])
    (section,) = provenance_section(results)
    assert section.count("kernel ") == 2
    assert "kernel 6.12.117-wanlab, manifest 0a\nkernel 7.3.4-wanlab, manifest 0b\n" in section


class _Runs(list[SimpleNamespace]):
    """The part of a ResultSet that the section of the report needs."""

    varied = ("kernel",)

    @property
    def results(self) -> "_Runs":
        return self

    def seeds_without_effect(self) -> str:
        return ""


def _run(kernel: str, release: str, manifest: str) -> SimpleNamespace:
    origin = Provenance(wanlab="0.2.0", kernel_release=release, kernel_manifest=manifest)
    record = SimpleNamespace(provenance=origin)
    return SimpleNamespace(parameters={"kernel": kernel}, record=record, warnings=())
