"""A value with which every run fails for the same reason is not tried with every other value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wanlab import Sweep
from wanlab.experiments import load_experiment
from wanlab.run.result import Task
from wanlab.sweep.repeated_failures import RepeatedFailures

MISTYPED = Path(__file__).with_name("mistyped.py")
TYPO = '"2xdp" is not a size'


def task(buffer: str, algorithm: str, seed: int = 1) -> Task:
    parameters = {"buffer": buffer, "algorithm": algorithm, "time": "9s"}
    return Task(parameters, seed, f"{buffer}{algorithm}{seed}", ("buffer", "algorithm"))


def test_runs_with_a_value_that_always_fails_are_not_started() -> None:
    failures = RepeatedFailures(3)
    failures.add_success(task("1bdp", "cubic"))
    for seed in (1, 2):
        failures.add_failure(task("2xdp", "cubic", seed), TYPO)
    assert failures.reason_to_skip(task("2xdp", "bbr")) == ""
    failures.add_failure(task("2xdp", "bbr"), TYPO)
    says = f"3 runs with buffer=2xdp failed: {TYPO}"
    assert failures.reason_to_skip(task("2xdp", "reno")) == says
    assert failures.reason_to_skip(task("1bdp", "reno")) == ""


def test_the_values_that_failures_have_in_common_may_be_several() -> None:
    failures = RepeatedFailures(3)
    for seed in (1, 2, 3):
        failures.add_failure(task("2xdp", "cubic", seed), TYPO)
    assert "algorithm=cubic, buffer=2xdp" in failures.reason_to_skip(task("2xdp", "cubic", 4))
    assert failures.reason_to_skip(task("2xdp", "bbr")) == ""  # it may be the algorithm


def test_other_reasons_and_a_success_with_the_value_keep_runs_going() -> None:
    failures = RepeatedFailures(3)
    for seed in (1, 2, 3):
        failures.add_failure(task("2bdp", f"a{seed}"), f"reason {seed}")
    assert failures.reason_to_skip(task("2bdp", "bbr")) == ""
    for seed in (4, 5, 6):
        failures.add_failure(task("2bdp", f"a{seed}"), TYPO)
    failures.add_success(task("2bdp", "cubic"))
    assert failures.reason_to_skip(task("2bdp", "bbr")) == ""


def test_a_sweep_whose_runs_all_fail_alike_stops() -> None:
    failures = RepeatedFailures(2)
    failures.add_failure(task("1bdp", "bbr"), TYPO)
    failures.add_failure(task("2bdp", "cubic"), TYPO)
    assert failures.reason_to_skip(task("4bdp", "reno")) == f"2 runs failed: {TYPO}"


def test_a_limit_of_zero_starts_all_runs() -> None:
    failures = RepeatedFailures(0)
    for seed in range(9):
        failures.add_failure(task("2xdp", "bbr", seed), TYPO)
    assert failures.reason_to_skip(task("2xdp", "bbr", 10)) == ""


@pytest.mark.machine
@pytest.mark.parametrize(("stop_after", "failed", "skipped"), [(2, 2, 2), (0, 4, 0)])
def test_a_sweep_counts_the_runs_that_it_did_not_start(
    tmp_path: Path, stop_after: int, failed: int, skipped: int
) -> None:
    sweep = Sweep(load_experiment(MISTYPED), output=tmp_path)
    events: list[str] = []
    options: dict[str, Any] = {"uses_cache": False, "jobs": 1, "stop_after": stop_after}
    results = sweep.run(progress=lambda state: events.append(state.event), **options)
    assert (len(results.results), len(results.failures)) == (4, failed)
    assert (results.skipped, results.missing) == (skipped, skipped)
    said = [event for event in events if "is not started: 2 runs with x=2 failed: " in event]
    assert len(said) == bool(skipped)
    # The failures of the first time count the second time, too.
    again = sweep.run(**options)
    assert (len(again.failures), again.skipped) == (failed, skipped)
