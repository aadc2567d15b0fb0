"""Whether this computer can open a window for us, and opening one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DISPLAYS = ("WAYLAND_DISPLAY", "DISPLAY")


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    return any(environment.get(name) for name in DISPLAYS)


def open_file(path: Path) -> None:
    """Open a file in the user's browser, if there is a desktop."""
    if has_display():
        import webbrowser

        webbrowser.open(path.as_uri())
