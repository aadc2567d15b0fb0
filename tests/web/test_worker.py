"""Test the thread that owns a running network, with a stand-in for the network."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from wanlab import Network, shapes
from wanlab.web.running import worker
from wanlab.web.running.pacer import Clock
from wanlab.web.running.worker import NetworkWorker

SECOND_NS = 1_000_000_000
EXPLODE_REAL_S = 3.0


class StandIn:
    """A network whose time passes only in `run_for`."""

    clock = "virtual"
    on_time: Callable[[int, int | None], None] | None = None

    def __init__(self, real: RealClock) -> None:
        self.now_ns = 0
        self._real = real

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def pace_to_real(self, is_paced: bool, *, speed: float) -> None:
        pass

    def read(self, wanted: list[Any]) -> None:
        pass

    def run_until_condition(self, is_wanted: Callable[[], bool], limit_ns: int) -> None:
        pass

    def run_for(self, duration_ns: int) -> None:
        """Let time pass in ten parts, and let the real clock advance equally."""
        for _ in range(10):
            self.now_ns += duration_ns // 10
            self._real.now_s += duration_ns / 10 / SECOND_NS
            assert self.on_time is not None
            self.on_time(self.now_ns, None)


class RealClock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def test_the_clock_is_reported_while_a_call_lets_time_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of a lesson lets time pass for a minute."""
    real = RealClock()
    monkeypatch.setattr(worker, "time", real)
    progress: list[Clock] = []
    looks: list[int] = []
    network_worker = NetworkWorker(
        lambda: StandIn(real),  # type: ignore[arg-type, return-value]
        on_running=lambda network: None,
        on_ended=lambda died: None,
        on_clock=progress.append,
        every=lambda network: looks.append(network.now_ns),
    )
    network_worker.start()
    network_worker.submit(lambda network: None).result()
    before = len(looks)

    def order(network: Any) -> int:
        network.run_for(60 * SECOND_NS)
        return len(looks) - before

    looks_meanwhile = network_worker.submit(order).result()
    network_worker.end()
    assert network_worker.join(PATIENCE_S)
    moving = [clock for clock in progress if clock.is_moving and clock.now_ns]
    assert [clock.now_ns // SECOND_NS for clock in moving] == [*range(6, 61, 6)]
    assert moving[-1].speed == pytest.approx(1)
    assert looks_meanwhile == 0  # while an order runs, nothing else uses the network


def test_a_network_that_is_built_reports_its_progress_and_can_be_stopped() -> None:
    class Built(StandIn):
        on_building: Callable[[int, int], None]

        def __enter__(self) -> Built:
            for done in range(5):
                self.on_building(500 * done, 9000)
            return self

    progress: list[tuple[int, int]] = []
    ended: list[BaseException | None] = []

    def report(done: int, of: int) -> None:
        progress.append((done, of))
        if done == 1000:
            network_worker.end()

    network_worker = NetworkWorker(
        lambda: Built(RealClock()),  # type: ignore[arg-type, return-value]
        on_running=lambda network: None,
        on_ended=ended.append,
        on_clock=lambda clock: None,
        every=lambda network: None,
        on_building=report,
    )
    network_worker.start()
    assert network_worker.join(PATIENCE_S)
    assert progress == [(0, 9000), (500, 9000), (1000, 9000)]
    assert ended == [None]


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_call_for_which_nobody_waits_any_more_does_not_end_the_network(
    is_carried_out: bool,
) -> None:
    ended: list[BaseException | None] = []
    called: list[str] = []
    network_worker = NetworkWorker(
        lambda: StandIn(RealClock()),  # type: ignore[arg-type, return-value]
        on_running=lambda network: None,
        on_ended=ended.append,
        on_clock=lambda clock: None,
        every=lambda network: None,
    )
    begun, go_on = threading.Event(), threading.Event()

    def keep_waiting(network: Network) -> None:
        begun.set()
        go_on.wait(PATIENCE_S)

    network_worker.submit(keep_waiting)
    given_up = network_worker.submit(lambda network: called.append("given up"))
    network_worker.start()
    assert begun.wait(PATIENCE_S)
    assert given_up.cancel()
    if is_carried_out:
        go_on.set()
        network_worker.submit(lambda network: called.append("next")).result(PATIENCE_S)
    network_worker.end()
    go_on.set()
    assert network_worker.join(PATIENCE_S)
    assert called == (["next"] if is_carried_out else [])
    assert ended == [None]


@pytest.mark.machine
def test_a_fork_bomb_does_not_keep_a_network_from_being_stopped(tmp_path: Path) -> None:
    """The bomb starts ever more processes at one instant, so the kernel never becomes idle."""
    ended: list[BaseException | None] = []
    running = threading.Event()
    network_worker = NetworkWorker(
        lambda: Network(shapes.minimal(), folder=tmp_path),
        on_running=lambda network: running.set(),
        on_ended=ended.append,
        on_clock=lambda clock: None,
        every=lambda network: None,
    )
    network_worker.start()
    assert running.wait(PATIENCE_S)

    def explode(network: Network) -> None:
        command = "bomb() { bomb | bomb & }; bomb"
        network_worker.follow(network["h1"].start(command, terminal=(24, 80)))

    network_worker.submit(explode).result(PATIENCE_S)
    network_worker.join(EXPLODE_REAL_S)
    begun = time.monotonic()
    network_worker.end()
    while not network_worker.join(0.5):
        network_worker.end()
        assert time.monotonic() - begun < PATIENCE_S
    assert ended == [None]
