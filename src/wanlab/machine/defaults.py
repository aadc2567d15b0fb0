"""The kernel, the mode of traps and the processor that a user chooses for networks that name none.

A command hands its choice on as an argument, also to worker processes. What it leaves out is the
user's default, which comes from variables of the environment. They are read here and nowhere else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

KERNEL_VARIABLE = "WANLAB_KERNEL"
TRAPS_VARIABLE = "WANLAB_TRAPS"
CPU_VARIABLE = "WANLAB_CPU"


@dataclass(frozen=True)
class MachineChoice:
    """A choice for networks that choose nothing themselves; "" and None: the default."""

    kernel: str = ""
    """The name of the kernel, or the folder of its image."""
    traps: str = ""
    """The mode; see `embedded/traps.py`."""
    cpu: str | None = None
    """The name of a processor's model, or the path of its file; see `topology/cpu.py`."""


NO_CHOICE = MachineChoice()


def user_default() -> MachineChoice:
    """Return what the user has chosen in the environment."""
    return MachineChoice(
        os.environ.get(KERNEL_VARIABLE, ""),
        os.environ.get(TRAPS_VARIABLE, ""),
        os.environ.get(CPU_VARIABLE) or None,
    )
