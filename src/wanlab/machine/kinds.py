"""The traits of each kind of machine."""

from __future__ import annotations

from . import MachineKind
from .here import read_about
from .traits import EMBEDDED, HERE, MachineTraits


def traits_of(kind: MachineKind) -> MachineTraits:
    """Return the traits of a kind of machine.

    RequirementError for "here" if this program does not run inside a machine.
    """
    if kind == "embedded":
        return EMBEDDED
    read_about()
    return HERE
