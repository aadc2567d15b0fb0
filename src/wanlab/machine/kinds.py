"""The traits of each kind of machine."""

from __future__ import annotations

from . import MachineKind
from .here import here_traits
from .traits import EMBEDDED, NATIVE, MachineTraits


def traits_of(kind: MachineKind) -> MachineTraits:
    """Return the traits of a kind of machine.

    RequirementError for "here" if this program does not run inside a machine.
    """
    if kind == "here":
        return here_traits()
    return NATIVE if kind == "native" else EMBEDDED
