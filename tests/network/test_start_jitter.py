"""Test how commands that are to start together are delayed, each by a time of its own."""

from __future__ import annotations

import pytest

from wanlab.errors import WanlabError
from wanlab.network import StartJitter, parse_start_jitter, start_jitter_here

MS_NS = 1_000_000


def draw(limit_ns: int, seed: int, count: int = 100) -> list[int]:
    jitter = StartJitter(limit_ns, seed)
    return [jitter.next_ns() for _ in range(count)]


def test_the_seed_decides_all_delays() -> None:
    assert draw(5 * MS_NS, 1) == draw(5 * MS_NS, 1)
    assert draw(5 * MS_NS, 1) != draw(5 * MS_NS, 2)


def test_delays_fill_the_range_up_to_the_limit() -> None:
    delays = draw(5 * MS_NS, 1)
    assert 0 <= min(delays) < 1 * MS_NS
    assert 4 * MS_NS < max(delays) <= 5 * MS_NS


def test_without_a_limit_nothing_is_delayed() -> None:
    assert set(draw(0, 1)) == {0}
    assert start_jitter_here({}).next_ns() == 0


def test_a_limit_is_written_as_a_time() -> None:
    assert parse_start_jitter("5ms") == 5 * MS_NS
    assert parse_start_jitter(None) == 0
    with pytest.raises(WanlabError, match="has no unit"):
        parse_start_jitter("5")
    with pytest.raises(WanlabError, match="too long"):
        parse_start_jitter("2000s")


def test_a_program_in_the_network_finds_the_limit_and_the_seed() -> None:
    here = start_jitter_here({StartJitter.VARIABLE: "5ms", "WANLAB_SEED": "7"})
    assert [here.next_ns() for _ in range(100)] == draw(5 * MS_NS, 7)
