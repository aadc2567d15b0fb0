"""A computer is measured into a model that says where each of its numbers comes from."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.calibration import calibrated, costs, measure, model_text
from wanlab.calibration.loops import Measured, other_process, repeated, shortest, slope
from wanlab.topology.cpu import COSTS, read_cpu, read_model

SERVER = read_model("server-2019")


def test_the_shortest_time_counts_and_the_lower_quartile_is_its_error() -> None:
    assert shortest([9, 4, 7, 5, 30, 6, 8, 40]) == Measured(4, 2)


def test_a_straight_line_has_its_slope_and_no_error() -> None:
    line = slope({size: Measured(300 + 0.25 * size, 7) for size in (100, 400, 1000)})
    assert line.value == pytest.approx(0.25)
    assert line.error == pytest.approx(0, abs=1e-9)
    bent = slope({1: Measured(1, 0), 2: Measured(3, 0), 3: Measured(3, 0)})
    assert bent.value == pytest.approx(1)
    assert bent.error == pytest.approx((2 / 3 / 2) ** 0.5)


def test_a_loop_is_timed_by_the_clock_that_it_gets() -> None:
    now_ns = 0

    def clock() -> int:
        return now_ns

    def loop(repetitions: range) -> None:
        nonlocal now_ns
        now_ns += 70 * len(repetitions)

    assert repeated(loop, seconds=0, count=10, clock=clock) == Measured(70, 0)


def test_differences_of_measurements_are_as_uncertain_as_both() -> None:
    assert Measured(9, 1) - Measured(4, 2) == Measured(5, 3)
    assert Measured(9, 1) + Measured(4, 2) * 2 / 4 == Measured(11, 2)


def test_the_clock_of_two_processes_has_the_time_of_both(tmp_path: Path) -> None:
    done, stop = os.pipe(), os.pipe()

    def serve() -> None:
        for _ in range(200_000):
            pass
        os.write(done[1], b"x")
        os.read(stop[0], 1)

    with other_process(serve) as clock:
        os.read(done[0], 1)
        before_ns = clock()
        assert before_ns > 0
        assert clock() >= before_ns
    for descriptor in (*done, *stop):
        os.close(descriptor)


def test_results_come_back_from_a_namespace_and_failures_do_not() -> None:
    results = costs._in_namespace(lambda: (Measured(1.5, 0.25), Measured(2, 0)))
    assert results in ((Measured(1.5, 0.25), Measured(2, 0)), None)  # None: not allowed here
    assert costs._in_namespace(lambda: (Measured(1 / 0, 0),)) is None


def test_a_model_of_this_computer_says_what_was_measured(tmp_path: Path) -> None:
    steps: list[str] = []
    measured, error = measure(steps.append, seconds=0)
    assert len(steps) == len(set(steps)) >= 6
    assert set(measured) <= {*COSTS, "stack"}
    assert all(math.isfinite(cost.value) and cost.value >= 0 for cost in measured.values())
    assert {"fork_ns", "exec_ns"} & set(measured), "a program takes longer than an empty loop"
    model = calibrated(SERVER, "mine", measured, error, version="1", day="2026-11-28")
    for name in COSTS:
        is_measured = model.sources[name].startswith("measured")
        assert is_measured or model.costs[name] == SERVER.costs[name], name
        assert is_measured == (name in measured or ("stack" in measured and "_stack" in name))
    assert model.kernel == os.uname().release
    file = tmp_path / "mine.yaml"
    file.write_text(model_text(model))
    assert read_model(str(file)) == model
    assert read_cpu(str(file)) == model.as_processor()


def test_an_unknown_split_of_the_stack_is_the_base_s() -> None:
    measured = {"stack": Measured(1800, 90)}
    model = calibrated(SERVER, "mine", measured, 0.5, version="1", day="2026-11-28")
    assert (model.costs["tx_stack_ns"], model.costs["rx_stack_ns"]) == (800, 1000)
    assert "their sum" in model.sources["tx_stack_ns"]
    assert model.sources["call_ns"] == "of server-2019, not measured: estimate"
    assert model.sources["threshold_ns"] == SERVER.sources["threshold_ns"]
    assert "1.50 times" in model.error


def test_texts_of_a_model_may_have_any_characters(tmp_path: Path) -> None:
    odd = dataclasses.replace(SERVER, name="odd", processor='a "b": {c} # \\ d\u00b5')
    file = tmp_path / "odd.yaml"
    file.write_text(model_text(odd), encoding="utf-8")
    assert read_model(str(file)) == odd


def _wanlab(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wanlab.cli", "cpu", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_models_are_listed_and_shown_with_their_sources() -> None:
    assert _wanlab("list").stdout.splitlines()[0].startswith("free")
    shown = _wanlab("show", "server-2019").stdout
    assert all(name in shown for name in COSTS)
    assert "SIGCOMM 2021" in shown
    assert 'no processor "srver-2019" (did you mean server-2019?)' in (
        _wanlab("show", "srver-2019").stderr
    )
    refused = _wanlab("calibrate", "-o", "mine.txt").stderr
    assert refused.startswith("wanlab: mine.txt is not the name of a model")
