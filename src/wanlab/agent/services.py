"""The programs that operations start: switches, controllers and routing daemons."""

from __future__ import annotations

from collections.abc import Callable

from .controllers import Controllers
from .namespaces import ROOT
from .open_vswitch import OpenVswitch
from .routing import Routing

RunInNode = Callable[[str, list[str]], str]
"""Runs a program in a node and returns its output; OSError with its output if it fails."""


class Services:
    """Open vSwitch, controllers and FRRouting. FRRouting needs no undoing: it ends with its router."""

    def __init__(self, run: RunInNode) -> None:
        self.ovs = OpenVswitch(lambda arguments: run(ROOT, arguments))
        self.controllers = Controllers(lambda arguments: run(ROOT, arguments))
        self.routing = Routing(run)

    def undo(self) -> None:
        self.ovs.undo()
        self.controllers.undo()
