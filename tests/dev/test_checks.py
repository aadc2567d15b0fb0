from pathlib import Path

import pytest
from dev import checks, ui
from dev.checks import CHECKS, Outcome, report, require_tools
from dev.errors import DevError


def test_failed_checks_are_shown_in_full_before_the_summary() -> None:
    outcomes = [
        Outcome("ruff check", 0, 0.1, ("All checks passed!",)),
        Outcome("mypy --strict", 1, 12.3, ("x.py:1: error: no", "Found 1 error")),
    ]
    assert report(outcomes).splitlines() == [
        "--- mypy --strict",
        "x.py:1: error: no",
        "Found 1 error",
        "",
        "ruff check      ok        0.1 s",
        "mypy --strict   FAILED   12.3 s",
    ]


def test_a_tool_that_is_missing_is_an_error(tmp_path: Path) -> None:
    for name in ("ruff", "codespell"):
        (tmp_path / name).touch()
    with pytest.raises(DevError, match="lacks mypy"):
        require_tools(tmp_path)


def test_no_tool_is_missing_when_all_are_installed(tmp_path: Path) -> None:
    for _, command in CHECKS:
        (tmp_path / command[0]).touch()
    require_tools(tmp_path)


def test_an_unreachable_registry_does_not_hide_the_other_checks_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise DevError("npm ci failed (exit status 1)", "  ECONNREFUSED")

    monkeypatch.setattr(checks, "require_tools", lambda folder: None)
    monkeypatch.setattr(checks, "run_quietly", lambda *_, **__: (0, []))
    monkeypatch.setattr(ui, "install_packages", fail)
    assert checks.check() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["--- npm ci", "npm ci failed (exit status 1)", "  ECONNREFUSED"]
    summary = [line.rsplit(maxsplit=3)[:2] for line in lines[-len(CHECKS) - 1 :]]
    assert summary == [[name, "ok"] for name, _ in CHECKS] + [["npm ci", "FAILED"]]
