"""Test how fast time passes while somebody types in a terminal of the machine, and while nobody does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wanlab.cli.exec_options import ExecOptions
from wanlab.cli.terminal import HURRIED_SPEED, HURRY_AFTER_REAL_S, TerminalSession
from wanlab.cli.time_slices import SHORT_NS


class Session:
    """A TerminalSession without a machine, on a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, options: ExecOptions) -> None:
        self.real_s = 1000.0
        self.speeds: list[float] = []
        clock = SimpleNamespace(monotonic=lambda: self.real_s)
        monkeypatch.setattr("wanlab.cli.terminal.time", clock)
        network = SimpleNamespace(clock="virtual", pace_to_real=self._note)
        nothing = SimpleNamespace()
        arguments = [network, nothing, nothing, nothing, options, nothing, nothing]
        self._session = TerminalSession(*cast("list[Any]", arguments))

    def _note(self, wanted: bool = True, *, speed: float = 1.0) -> None:
        assert wanted
        self.speeds.append(speed)

    def type(self) -> None:
        self._session._pace()

    def wait(self, seconds: float) -> None:
        self.real_s += seconds
        self._session._hurry_if_quiet()

    @property
    def slice_ns(self) -> int:
        return self._session._time_slices.length_ns


def test_time_hurries_when_nobody_has_typed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, ExecOptions(hurries=True))
    session.type()
    session.wait(HURRY_AFTER_REAL_S / 2)
    assert (session.speeds, session.slice_ns) == ([1.0], SHORT_NS)
    session.wait(HURRY_AFTER_REAL_S)
    session.wait(HURRY_AFTER_REAL_S)
    assert (session.speeds, session.slice_ns) == ([1.0, HURRIED_SPEED], HURRIED_SPEED * SHORT_NS)


def test_a_key_returns_to_the_pace_of_a_real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, ExecOptions(hurries=True))
    session.type()
    session.wait(2 * HURRY_AFTER_REAL_S)
    session.type()
    assert (session.speeds, session.slice_ns) == ([1.0, HURRIED_SPEED, 1.0], SHORT_NS)


def test_without_the_option_time_never_hurries(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, ExecOptions())
    session.type()
    session.wait(1000 * HURRY_AFTER_REAL_S)
    assert session.speeds == [1.0]


def test_time_hurries_only_after_a_key_has_made_it_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that runs as fast as possible is not slowed down to the hurried speed."""
    session = Session(monkeypatch, ExecOptions(hurries=True))
    session.wait(1000 * HURRY_AFTER_REAL_S)
    assert session.speeds == []
