"""The differences between machines, known before a machine is started."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineTraits:
    """`is_shared`: the machine exists before the network, carries others, and outlives it.
    `has_own_kernel`: its kernel is the one that wanlab builds, not the computer's."""

    is_shared: bool
    has_own_kernel: bool

    @property
    def boots_kernel(self) -> bool:
        """Whether a kernel is booted for this network alone."""
        return self.has_own_kernel and not self.is_shared


EMBEDDED = MachineTraits(is_shared=False, has_own_kernel=True)
NATIVE = MachineTraits(is_shared=False, has_own_kernel=False)
