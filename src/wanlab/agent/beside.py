"""Programs that run beside a network because of an operation, and how they are ended."""

from __future__ import annotations

from collections.abc import Callable

from .controllers import Controllers
from .namespaces import ROOT
from .open_vswitch import OpenVswitch
from .routing import Routing

Run = Callable[[str, list[str]], str]
"""Runs a program in a node; OSError with its words if it fails."""


class ProgramsBeside:
    """All of them. What runs in a router ends with the router."""

    def __init__(self, run: Run) -> None:
        self.ovs = OpenVswitch(lambda arguments: run(ROOT, arguments))
        self.controllers = Controllers(lambda arguments: run(ROOT, arguments))
        self.routing = Routing(run)

    def undo(self) -> None:
        self.ovs.undo()
        self.controllers.undo()
