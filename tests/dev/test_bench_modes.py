"""Benchmarks compare modes of the machine's kernel."""

from __future__ import annotations

import argparse
import os
from types import SimpleNamespace
from typing import Any

import pytest
from _mininet import add_rows
from _modes import add_option, in_mode
from modes import different_lines, random_case


def test_a_list_of_modes_is_read_and_a_wrong_one_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser = argparse.ArgumentParser()
    add_option(parser)
    assert parser.parse_args([]).modes == [""]
    assert parser.parse_args(["--modes", "ptrace,inprocess"]).modes == ["ptrace", "inprocess"]
    with pytest.raises(SystemExit):
        parser.parse_args(["--modes", "ptrace,fast"])
    assert (
        "there is no mode fast: ptrace, inprocess, inprocess-nopatch, seccomp"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("before", [None, "seccomp"])
def test_the_mode_of_the_environment_comes_back(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANLAB_TRAPS", raising=False)
    if before is not None:
        monkeypatch.setenv("WANLAB_TRAPS", before)
    with in_mode("ptrace"):
        assert os.environ["WANLAB_TRAPS"] == "ptrace"
    assert os.environ.get("WANLAB_TRAPS") == before
    with in_mode(""):
        assert os.environ.get("WANLAB_TRAPS") == before


def test_a_random_case_depends_on_its_seed_and_number_alone() -> None:
    cases = [random_case(1, number, has_program=True) for number in range(30)]
    assert cases == [random_case(1, number, has_program=True) for number in range(30)]
    assert len({str(case.commands) for case in cases}) == 30
    assert cases[:5] != [random_case(2, number, has_program=True) for number in range(5)]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["a\nb\n", "a\nb\n"], []),
        (["a\nb\n", "a\nb\n", "a\nc\n"], ["--- ", "+++ ", "@@ -2 +2 @@", "-b", "+c"]),
        (["error boot\n", "error boot\n"], ["error boot", "error boot"]),
        (["a\nb\n", "error panic\n"], ["error panic"]),
    ],
)
def test_what_differs_between_modes_is_shown(outputs: list[str], expected: list[str]) -> None:
    """Nothing was compared if a case cannot run in any mode."""
    assert different_lines(outputs) == expected


class Rows:
    """A table that keeps its rows."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, **figures: Any) -> None:
        self.rows.append(figures)


def test_each_mode_is_compared_with_mininet_by_its_fastest_run() -> None:
    def runs(*seconds: float) -> list[SimpleNamespace]:
        return [SimpleNamespace(whole_s=second, status=0) for second in seconds]

    rows = Rows()
    ours = {"ptrace": runs(5.0, 4.0), "": runs(2.0, 1.0)}
    assert add_rows(rows, ours, runs(3.0, 2.0), 1.0, hosts=2) == [False, True]
    assert [(row["hosts"], row["mode"], row["ratio"], row["is_met"]) for row in rows.rows] == [
        (2, "ptrace", 0.5, False),
        (2, None, 2.0, True),
    ]
    assert add_rows(rows, ours, [], 1.0, hosts=2) == []
    assert "ratio" not in rows.rows[-1]
