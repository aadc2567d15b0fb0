"""The kernel, the mode of traps and the processor that a user has chosen for networks that name none.

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
CPU_VARIABLE = "WANLAB_CPU"
"""The name of a processor's model, or the path of its file; see `topology/cpu.py`."""


def default_kernel() -> str:
    """Return the user's kernel; "" if none was chosen."""
    return os.environ.get(KERNEL_VARIABLE, "")


def default_traps() -> str:
    """Return the user's mode of traps; "" if none was chosen."""
    return os.environ.get(TRAPS_VARIABLE, "")


def default_cpu() -> str | None:
    """Return the user's processor; None if none was chosen."""
    return os.environ.get(CPU_VARIABLE) or None


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
