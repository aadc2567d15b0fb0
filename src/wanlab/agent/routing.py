"""Runs FRRouting's programs in routers; each router has its own folders."""

from __future__ import annotations

import os
from collections.abc import Callable

from . import system

FRR_PROGRAMS = "/usr/lib/frr"
FRR_CONFIGURATION = "/etc/frr"
FRR_RUN = "/var/run/frr"
FRR_USER = "frr"

RunInNode = Callable[[str, list[str]], str]
"""Runs a program in a node; OSError with its output if it fails."""


def start_of_routing(router: str, program: str) -> list[str]:
    """Return the command. `-N` puts its files and sockets where `vtysh -N ROUTER` finds them."""
    return [f"{FRR_PROGRAMS}/{program}", "-d", "-N", router, "-A", "127.0.0.1"]


class Routing:
    """FRRouting in all routers that have it."""

    def __init__(self, run: RunInNode) -> None:
        self._run = run

    def prepare(self) -> None:
        if not os.path.ismount(FRR_CONFIGURATION):
            system.mount("frr", FRR_CONFIGURATION, "tmpfs", options="mode=755")
        _write(f"{FRR_CONFIGURATION}/vtysh.conf", "")

    def start(self, router: str, programs: list[str], configuration: str) -> None:
        import pwd  # only here

        owner = pwd.getpwnam(FRR_USER)
        folders = [f"{FRR_CONFIGURATION}/{router}", f"{FRR_RUN}/{router}"]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        for name, text in (("frr.conf", configuration), ("vtysh.conf", "")):
            _write(f"{folders[0]}/{name}", text)
            os.chown(f"{folders[0]}/{name}", owner.pw_uid, owner.pw_gid)
        for program in programs:
            self._run(router, start_of_routing(router, program))
        self._run("", ["vtysh", "-N", router, "-b"])


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
