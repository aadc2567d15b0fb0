"""Test a part of `./dev bench fidelity`: each figure is in the range that theory gives.

The ranges stand where the figures are made (bench/effects). On virtual time a figure is the same in each
run, so a test that passes once passes always, until a kernel changes.
"""

from __future__ import annotations

import pytest
from effects import (
    aqm,
    buffers,
    delays,
    distributions,
    impairments,
    losses,
    rates,
    shapers,
    shares,
    windows,
)
from effects.figure import Figure

from wanlab.plan import Wire

pytestmark = [pytest.mark.machine, pytest.mark.costs(2)]


def unmet(figures: list[Figure]) -> list[Figure]:
    assert figures
    return [figure for figure in figures if not figure.is_met]


def test_a_round_trip_takes_as_long_as_its_links() -> None:
    assert unmet(delays.worst_round_trip("mtu", 2)) == []


@pytest.mark.parametrize("wire", ["gso", "mtu"])
@pytest.mark.parametrize("by", ["tbf", "line"])
def test_goodput_is_the_rate_without_headers(by: rates.By, wire: Wire) -> None:
    assert unmet(rates.goodput(wire, rates.Limit(by, "20Mbps", "3s", "2s"))) == []


def test_a_token_bucket_sends_its_burst_at_once_and_the_rest_at_its_rate() -> None:
    assert unmet([*shapers.burst(), *shapers.latency(), *shapers.htb_rate()]) == []


def test_repeated_measurements_are_equal() -> None:
    assert shapers.latency() == shapers.latency()


def test_jitter_follows_the_table_that_tc_sent() -> None:
    assert unmet(distributions.normal()) == []


def test_losses_come_in_bursts_of_the_requested_length() -> None:
    assert unmet(impairments.gilbert(seeds=[1])) == []


@pytest.mark.long
def test_the_throughput_of_reno_follows_the_model_of_rounds() -> None:
    assert unmet(losses.reno(losses.Path(10, 0.01, 100))) == []


def test_utilisation_with_a_small_buffer_is_that_of_a_sawtooth() -> None:
    assert unmet(buffers.filled("reno", 0.1, buffers.utilisation(0.1), window="50s")) == []


def test_pie_holds_its_target_under_constant_overload() -> None:
    assert unmet(aqm.pie_overload(seconds=15)) == []


def test_classes_get_their_rates_and_borrow_the_rest() -> None:
    assert unmet(shares.htb()) == []


def test_fair_queues_give_each_flow_the_same() -> None:
    assert unmet(shares.sfq()) == []


@pytest.mark.long
def test_windows_double_in_slow_start_and_follow_cubics_curve_after_a_loss() -> None:
    assert unmet([*windows.slow_start(), *windows.cubic()]) == []
