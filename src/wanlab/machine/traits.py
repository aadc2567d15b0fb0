"""The differences between machines, known before a machine is started."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MachineTraits:
    """`is_shared`: the machine exists before the network, carries others, and outlives it.
    `has_own_kernel`: its kernel is the one that wanlab builds, not the computer's.
    `protects_kernel`: a malicious program cannot take over its kernel."""

    is_shared: bool
    has_own_kernel: bool
    protects_kernel: bool = True

    @property
    def boots_kernel(self) -> bool:
        """Whether a kernel is booted for this network alone."""
        return self.has_own_kernel and not self.is_shared


EMBEDDED = MachineTraits(is_shared=False, has_own_kernel=True)
EMBEDDED_IN_SECCOMP_MODE = replace(EMBEDDED, protects_kernel=False)
NATIVE = MachineTraits(is_shared=False, has_own_kernel=False)
