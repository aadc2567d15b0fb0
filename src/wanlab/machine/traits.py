"""The differences between machines, known before a machine is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Traps = Literal["ptrace", "inprocess", "inprocess-nopatch", "seccomp"]
"""How a machine's kernel takes over system calls and page faults: see embedded/traps.py."""


@dataclass(frozen=True)
class MachineTraits:
    """`is_shared`: the machine exists before the network, carries others, and outlives it.
    `traps`: the mode of a machine that has been started; "" before, and here."""

    is_shared: bool
    traps: Traps | Literal[""] = ""

    @property
    def protects_kernel(self) -> bool:
        """Whether a malicious program cannot take over the machine's kernel."""
        return self.traps in ("", "ptrace")


EMBEDDED = MachineTraits(is_shared=False)
HERE = MachineTraits(is_shared=True)
