"""The processor of an experiment's network: the file's, or the one that the command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wanlab.experiments import Experiment, load_experiment
from wanlab.topology.cpu import COSTS

pytestmark = pytest.mark.machine

EXPERIMENT = """
experiment: idle
topology: "single,1"
network: {cpu: {model: mine.yaml, cores: 3}}
programs: [{as: nothing, on: h1, run: "true"}]
until: nothing
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    (tmp_path / "idle.yaml").write_text(EXPERIMENT)
    costs = "".join(f"  {name}: {{value: 5, source: a guess}}\n" for name in COSTS)
    (tmp_path / "mine.yaml").write_text(f"cores: 2\ncosts:\n{costs}")
    return load_experiment(tmp_path / "idle.yaml")


def cpu_of(experiment: Experiment, **parameters: Any) -> dict[str, Any]:
    result = experiment.run(cache=False, **parameters)
    settings: dict[str, Any] = dict(result.record.provenance.settings)
    cpu: dict[str, Any] = settings.get("cpu", {})
    return cpu


def test_an_experiment_may_have_a_model_of_its_own(experiment: Experiment) -> None:
    cpu = cpu_of(experiment)
    assert (cpu["model"], cpu["cores"], set(cpu["costs"].values())) == ("mine", 3, {5})


@pytest.mark.parametrize(("name", "model"), [("board-2019", "board-2019"), ("free", None)])
def test_the_parameter_cpu_replaces_the_processor_of_the_file(
    experiment: Experiment, name: str, model: str | None
) -> None:
    assert cpu_of(experiment, cpu=name).get("model") == model


def test_a_user_s_processor_is_for_experiments_that_name_none(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_CPU", "board-2019")
    assert cpu_of(experiment)["model"] == "mine"
    plain = EXPERIMENT.replace("network: {cpu: {model: mine.yaml, cores: 3}}\n", "")
    (tmp_path / "plain.yaml").write_text(plain)
    assert cpu_of(load_experiment(tmp_path / "plain.yaml"))["model"] == "board-2019"
