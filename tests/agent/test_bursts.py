"""Test when the agent lets time pass."""

from __future__ import annotations

import time

import pytest

from wanlab.agent.bursts import MAX_BURST_BYTES, PAUSE_S, Bursts


@pytest.mark.parametrize(("duration_s", "pauses"), [(0.0, 2), (PAUSE_S, 0)])
def test_the_agent_pauses_after_a_burst_that_took_no_time(
    monkeypatch: pytest.MonkeyPatch, duration_s: float, pauses: int
) -> None:
    now_s, slept = 0.0, list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monkeypatch.setattr(time, "sleep", slept.append)
    sent = Bursts()
    for _ in range(2):
        sent.sent(MAX_BURST_BYTES - 1)
        now_s += duration_s
        sent.sent(1)
    assert slept == [PAUSE_S] * pauses
