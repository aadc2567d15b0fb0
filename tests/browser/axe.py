"""Run axe-core, which finds accessibility problems of a page."""

from __future__ import annotations

from typing import Any

import pytest
from dev.places import UI
from student import Student

AXE = UI / "node_modules" / "axe-core" / "axe.min.js"


def findings(student: Student, within: str = "html") -> list[str]:
    """Return axe-core's findings about the current page, or about an element of it."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: ./dev ui")
    if not student.page.evaluate("() => 'axe' in window"):
        student.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = student.page.evaluate(
        "(within) => axe.run(within, { resultTypes: ['violations'] })", within
    )
    return [
        f"{it['impact']} {it['id']}: {it['nodes'][0]['html'][:120]}" for it in found["violations"]
    ]
