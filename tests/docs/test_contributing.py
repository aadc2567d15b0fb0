"""CONTRIBUTING.md names every command of ./dev."""

from __future__ import annotations

from pathlib import Path

from dev import command

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def test_every_command_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in command.COMMANDS if f"\n    ./dev {name} " not in text] == []
