"""Test that the samples of the last minutes are kept, and no older ones."""

from __future__ import annotations

import pytest

from wanlab.web.protocol.commands import WatchedSeries
from wanlab.web.protocol.messages import SampleColumn
from wanlab.web.timeline import curve_memory
from wanlab.web.timeline.curve_memory import CurveMemory, thinned


def column(port: str, *times_s: float, flow: str = "") -> SampleColumn:
    kind = "cwnd" if flow else "queue"
    return SampleColumn(kind, port, flow, "B", times_s, tuple(map(float, range(len(times_s)))))  # type: ignore[arg-type]


def test_the_last_samples_of_each_curve_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_memory, "MAX_POINTS", 3)
    memory = CurveMemory()
    assert memory.add(column("s1-eth1", 1, 2))
    assert memory.add(column("s1-eth1", 3, 4))
    assert memory.add(column("s1-eth2")) is False
    (kept,) = memory.columns([WatchedSeries("queue", "s1-eth1")])
    assert (kept.times_s, kept.values) == ((2, 3, 4), (1.0, 0.0, 1.0))
    assert list(memory.columns([WatchedSeries("drops", "s1-eth1")])) == []


def test_memory_is_shared_by_all_curves_and_the_oldest_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(curve_memory, "MAX_POINTS_OF_ALL", 8)
    monkeypatch.setattr(curve_memory, "MAX_CURVES", 2)
    memory = CurveMemory()
    for flow in ("a", "b", "c"):
        memory.add(column("h1-eth0", *range(10), flow=flow))
    kept = {it.flow: it.times_s for it in memory.columns([WatchedSeries("cwnd")])}
    assert list(kept["c"]) == [6, 7, 8, 9]
    assert list(kept) == ["b", "c"]


def test_a_long_curve_is_thinned_for_sending_and_keeps_its_last_sample() -> None:
    sent = thinned(column("s1-eth1", *range(1000)))
    assert len(sent.times_s) <= curve_memory.MAX_POINTS_SENT
    assert sent.times_s[-1] == 999
    assert thinned(sent) == sent
