"""The user's folder for what can be made again: kernels, results of experiments, notes of processes."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/wanlab`, or `~/.cache/wanlab`.

    A relative path in the variable counts as none (XDG Base Directory Specification).
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "wanlab"
