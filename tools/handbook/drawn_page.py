"""Draw what a page of the browser shows as an SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_suffix(".js")


def as_svg(page: Any) -> str:
    """Return the picture of a page of Playwright."""
    return str(page.evaluate(SCRIPT.read_text(encoding="utf-8")))
