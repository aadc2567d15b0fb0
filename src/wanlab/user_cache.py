"""The user's folder for data that wanlab can make again: kernels, results of experiments, notes."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/wanlab`, or `~/.cache/wanlab`.

    A relative path in the variable is ignored (XDG Base Directory Specification).
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "wanlab"
