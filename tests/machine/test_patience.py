"""How long the start of a machine may take: time in which this process was suspended does not count."""

from __future__ import annotations

import time

import pytest

from wanlab.machine.patience import Patience


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A list whose only element is the real time in seconds."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_time_that_is_watched_counts(clock: list[float]) -> None:
    waiting = Patience(3.0)
    for left_real_s in (2.25, 1.5, 0.75):
        clock[0] += 0.75
        assert waiting.look() == left_real_s
        assert not waiting.is_over
    clock[0] += 0.75
    assert waiting.is_over


def test_an_hour_of_suspension_counts_as_a_second(clock: list[float]) -> None:
    waiting = Patience(600.0)
    clock[0] += 3600.0
    assert waiting.look() == 599.0


def test_a_wait_is_never_longer_than_what_is_counted(clock: list[float]) -> None:
    waiting = Patience(600.0)
    assert waiting.timeout_real_s(10.0) == 1.0
    assert waiting.timeout_real_s(0.25) == 0.25
    assert Patience(0.5).timeout_real_s(10.0) == 0.5
    assert Patience(0.0).timeout_real_s(10.0) == 0.0
