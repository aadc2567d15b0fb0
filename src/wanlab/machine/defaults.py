"""The kernel and the mode of traps that a user has chosen for all networks that name none.

They are environment variables, so that they also hold for the programs that a command starts.
"""

from __future__ import annotations

import os

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
