"""Test that the texts explain what a newcomer needs for the first commands to work."""

from __future__ import annotations

import re
from pathlib import Path

from wanlab.labs import catalog, lesson

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_virtual_environment_is_activated_before_the_first_command() -> None:
    text = README.read_text(encoding="utf-8")
    first = re.search(r"^(?:    |\$ )wanlab ", text, re.M)
    assert first
    assert text.index(". .venv/bin/activate") < first.start()


def test_the_first_lesson_with_an_editor_says_how_to_leave_it() -> None:
    texts = (lesson.read(catalog.find(name)) for name in catalog.names())
    first = next(text for text in texts if "featherpad" in text)
    assert "Ctrl-X" in first
    assert "`:wq`" in first
