from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from wanlab import Design
from wanlab.errors import WanlabError
from wanlab.experiments import Uniform


def test_a_grid_has_all_combinations_and_the_last_axis_varies_fastest() -> None:
    design = Design.grid({"a": [1, 2], "b": ["x", "y"]}, repeats=2)
    assert list(design.runs()) == [
        ({"a": a, "b": b}, seed) for a in (1, 2) for b in ("x", "y") for seed in (1, 2)
    ]


def test_points_keep_their_order_and_occur_once() -> None:
    design = Design.listed([{"a": 2}, {"a": 1}, {"a": 2}])
    assert list(design.runs()) == [({"a": 2}, 1), ({"a": 1}, 1)]


def test_true_and_one_are_two_values() -> None:
    assert len(list(Design.grid({"a": [True, 1, "1"]}).runs())) == 3


def test_the_same_seed_draws_the_same_points() -> None:
    choices = {"rate": Uniform("10Mbps", "1000Mbps", logarithmic=True), "n": Uniform(1, 8)}
    one, other = (Design.random(5, choices, seed=7) for _ in range(2))
    assert one == other
    assert one != Design.random(5, choices, seed=8)
    for point, _ in one.runs():
        assert 10 <= float(str(point["rate"]).removesuffix("Mbps")) <= 1000
        assert point["n"] in range(1, 9)


def test_values_given_later_replace_those_of_axes_and_of_points() -> None:
    design = Design.listed([{"a": 1, "b": 1}, {"a": 2, "b": 1}]).with_values("a", [5, 6])
    assert [point for point, _ in design.runs()] == [{"b": 1, "a": 5}, {"b": 1, "a": 6}]


@pytest.mark.parametrize(
    ("low", "high"), [("10ms", "1s"), ("20ms", "10ms"), ("fast", "slow"), (5, 1)]
)
def test_an_empty_range_is_refused(low: str | int, high: str | int) -> None:
    with pytest.raises(WanlabError):
        Uniform(low, high).draw(random.Random(1))


def test_a_design_without_values_or_repeats_is_refused() -> None:
    with pytest.raises(WanlabError, match="has no values to vary over"):
        Design.grid({"a": []})
    with pytest.raises(WanlabError, match="at least 1, not 0"):
        Design(repeats=0)


@pytest.mark.parametrize(
    "design",
    [
        lambda: Design(repeats=2**63),
        lambda: Design.grid({"a": range(400), "b": range(400)}),
        lambda: Design.random(2**62, {"a": [1, 2]}),
        lambda: replace(Design(points=[{"a": n} for n in range(100)]), repeats=1001),
    ],
)
def test_a_design_that_nobody_can_run_is_refused(design: Callable[[], Design]) -> None:
    with pytest.raises(WanlabError, match=r"the design has .* runs"):
        design()
