"""Test Ctrl-C during communication with a machine."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from wanlab import Network, shapes
from wanlab.machine import embedded
from wanlab.machine.interruption import Interruption, signals_blocked

EMBEDDED = embedded.__path__[0]


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("leaves", ["allow", "allow_during"])
def test_an_interrupt_waits_until_it_is_allowed(leaves: str) -> None:
    interruption = Interruption()
    done = []
    with pytest.raises(KeyboardInterrupt), interruption:
        press()
        done.append("the rest of what was begun")
        interruption.allow() if leaves == "allow" else interruption.allow_during(list)
        done.append("what is not wanted any more")
    assert done == ["the rest of what was begun"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_ends_a_wait_at_once() -> None:
    interruption = Interruption()
    with pytest.raises(KeyboardInterrupt), interruption:
        interruption.allow_during(press)


def test_without_a_wait_an_interrupt_is_raised_at_the_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):
        with Interruption():
            press()
            done.append(1)
        done.append(2)
    assert done == [1]


def test_a_second_interrupt_is_not_held_back() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), Interruption():
        press()
        done.append(1)
        press()
        done.append(2)
    assert done == [1]


def test_a_handler_that_returns_is_called_once_and_the_wait_continues() -> None:
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    interruption = Interruption()
    with interruption, interruption:
        press()
        assert received == []
        assert interruption.allow_during(lambda: "heard") == "heard"
    assert received == [signal.SIGINT]


def test_other_threads_and_ignored_interrupts_are_not_affected() -> None:
    seen: list[Any] = []

    def look() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    look()
    assert seen == [signal.default_int_handler, signal.SIG_IGN]


@pytest.mark.machine
def test_the_network_works_after_an_interrupt_at_any_point() -> None:
    """Interrupt `run_for` at each of its first function calls in turn."""
    with Network(shapes.minimal(delay="5ms"), seed=1) as net:
        net["h1"].start("ping -q -i 0.01 10.0.0.2")
        met = 0
        for place in range(1, 120, 2):
            calls = iter(range(1, place + 1))

            def count(
                frame: FrameType,
                event: str,
                argument: Any,
                calls: Iterator[int] = calls,
                place: int = place,
            ) -> None:
                if frame.f_code.co_filename.startswith(EMBEDDED) and next(calls, 0) == place:
                    press()

            try:
                sys.setprofile(count)
                net.run_for("10s")
            except KeyboardInterrupt:
                met += 1
            finally:
                sys.setprofile(None)
            before_ns = net.now_ns
            net.run_for("1ms")
            assert net.now_ns == before_ns + 1_000_000
        assert met == 60
        assert "1 received" in net["h2"].run("ping -c 1 10.0.0.1").output


def test_a_second_interrupt_is_delivered_as_well_as_the_first() -> None:
    """A handler that ends the program at the second Ctrl-C must be called for both."""
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    with Interruption():
        press()
        assert pressed == []
        press()
        assert len(pressed) == 2
    assert len(pressed) == 2


def test_a_signal_waits_while_signals_are_blocked() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), signals_blocked():
        press()
        done.append(1)
    assert done == [1]
