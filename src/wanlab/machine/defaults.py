"""The kernel and the mode of traps that a user has chosen for all networks that name none.

They are environment variables, so that they also hold for the programs that a command starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

KERNEL_VARIABLE = "WANLAB_KERNEL"
"""The name of the kernel, or the folder of its image."""
TRAPS_VARIABLE = "WANLAB_TRAPS"
"""The mode; see `embedded/traps.py`."""


def default_kernel() -> str:
    """Return the user's kernel; "" if none was chosen."""
    return os.environ.get(KERNEL_VARIABLE, "")


def default_traps() -> str:
    """Return the user's mode of traps; "" if none was chosen."""
    return os.environ.get(TRAPS_VARIABLE, "")


@contextmanager
def in_mode(mode: str) -> Iterator[None]:
    """Let machines that start in this block, or in processes that it starts, run in a mode of traps."""
    before = os.environ.get(TRAPS_VARIABLE)
    if mode:
        os.environ[TRAPS_VARIABLE] = mode
    try:
        yield
    finally:
        if mode:
            os.environ.pop(TRAPS_VARIABLE)
        if mode and before is not None:
            os.environ[TRAPS_VARIABLE] = before
