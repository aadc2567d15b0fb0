"""Whether this computer can open a window for us."""

from __future__ import annotations

import os
from collections.abc import Mapping

DISPLAYS = ("WAYLAND_DISPLAY", "DISPLAY")


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    return any(environment.get(name) for name in DISPLAYS)
