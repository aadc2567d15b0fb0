"""Check the formulas behind docs/evidence/fidelity.md against independently known values."""

from __future__ import annotations

import numpy as np
import pytest
from effects.buffers import utilisation
from effects.distributions import ks_distance, ks_distance_to, table
from effects.impairments import correlated_distribution, correlated_loss
from effects.losses import PATHS, RANDOM_LOSSES, Path, mathis_bps, pftk_bps, rounds_constant


def test_a_buffer_of_at_least_one_bdp_fills_the_line() -> None:
    assert [utilisation(buffer) for buffer in (1.0, 2.0, 10.0)] == [1.0, 1.0, 1.0]


def test_without_a_buffer_three_quarters_of_the_line_are_used() -> None:
    """This is the mean of a sawtooth between a half and one."""
    assert utilisation(0.0) == 0.75


def test_rounds_come_close_to_mathis_when_losses_are_rare() -> None:
    constants = [rounds_constant(p) for p in (0.01, 0.001, 0.0001)]
    assert constants == sorted(constants)
    assert constants[-1] == pytest.approx(RANDOM_LOSSES, rel=0.02)


def test_pftk_without_timeouts_is_the_square_root_of_three_halves() -> None:
    """With a long RTT and rare losses, timeouts of 200 ms and longer ones are negligible."""
    path = Path(rtt_ms=100_000, loss=1e-8, seconds=0)
    assert pftk_bps(path) / mathis_bps(path) == pytest.approx(1.5**0.5 / RANDOM_LOSSES, rel=0.001)


def test_pftk_is_below_mathis() -> None:
    assert [path for path in PATHS if pftk_bps(path) >= mathis_bps(path)] == []


def test_the_rate_of_correlated_losses_agrees_with_a_simulation() -> None:
    """Compare with netem's rule, applied to 4,000,000 random numbers at 10 % and 50 %."""
    dice = np.random.default_rng(1)
    fresh = dice.random((1000, 4000))
    last, below = fresh[0], np.zeros(2)
    for throw in fresh:
        last = 0.75 * throw + 0.25 * last
        below += [np.count_nonzero(last <= 0.1), np.count_nonzero(last <= 0.5)]
    assert correlated_loss(0.10, 0.25) == pytest.approx(below[0] / fresh.size, abs=4e-4)
    assert correlated_loss(0.50, 0.25) == pytest.approx(below[1] / fresh.size, abs=2e-3)


def test_a_distribution_function_goes_from_0_to_1() -> None:
    f = correlated_distribution(0.25)
    assert (f[0], round(float(f[-1]), 6)) == (0.0, 1.0)
    assert (np.diff(f) >= -1e-9).all()


def test_kolmogorov_smirnov_distances_of_obvious_samples_are_right() -> None:
    four = np.array([0.1, 0.2, 0.3, 0.4])
    assert ks_distance(four, four) == 0.0
    assert ks_distance(four, four + 1) == 1.0
    assert ks_distance(four, np.array([0.1, 0.2, 0.9, 0.9])) == 0.5
    assert ks_distance_to(four, lambda x: x) == pytest.approx(0.6)


@pytest.mark.parametrize("name", ["normal", "pareto", "paretonormal"])
def test_tables_of_tc_are_in_units_of_the_jitter(name: str) -> None:
    atoms = table(name)
    assert len(atoms) == 4096
    assert float(np.abs(atoms).max()) <= 4.0
    assert abs(float(atoms.mean())) < 0.04
