"""The Chromium that benchmarks of the page start."""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the path of the first one in PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)
