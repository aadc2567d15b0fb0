"""axe-core, which looks for what keeps people with disabilities from using a page."""

from __future__ import annotations

from typing import Any

import pytest
from dev.places import UI
from student import Student

AXE = UI / "node_modules" / "axe-core" / "axe.min.js"


def findings(student: Student) -> list[str]:
    """Return what axe-core finds in the page as it is."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: ./dev ui")
    student.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = student.page.evaluate("() => axe.run(document)")
    return [
        f"{it['impact']} {it['id']}: {it['nodes'][0]['html'][:120]}" for it in found["violations"]
    ]
