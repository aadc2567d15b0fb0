"""Runs FRRouting's programs in routers; each router has its own folders."""

from __future__ import annotations

import os
from collections.abc import Callable

from . import integrity, system

FRR_PROGRAMS = "/usr/lib/frr"
FRR_CONFIGURATION = "/etc/frr"
FRR_RUN = "/var/run/frr"
FRR_USER = "frr"

RunInNode = Callable[[str, list[str]], str]
"""Runs a program in a node; OSError with its output if it fails."""


def pathspace(router: str) -> str:
    """Return the name of a router's files, for `-N`. FRRouting refuses dots in it."""
    return router.replace(".", "+")


def start_of_routing(router: str, program: str) -> list[str]:
    """Return the command. `-N` puts its files and sockets where `vtysh -N` finds them."""
    return [f"{FRR_PROGRAMS}/{program}", "-d", "-N", pathspace(router), "-A", "127.0.0.1"]


def configuration_of_routing(router: str) -> list[str]:
    """Return the command that passes a router's configuration to its programs."""
    return ["vtysh", "-N", pathspace(router), "-b"]


class Routing:
    """FRRouting in all routers that have it."""

    def __init__(self, run: RunInNode) -> None:
        self._run = run

    def prepare(self) -> None:
        if not os.path.ismount(FRR_CONFIGURATION):
            system.mount("frr", FRR_CONFIGURATION, "tmpfs", options="mode=755")
        _write(f"{FRR_CONFIGURATION}/vtysh.conf", "")

    def start(self, router: str, programs: list[str], configuration: str) -> None:
        integrity.load("pwd")
        import pwd  # only here

        owner = pwd.getpwnam(FRR_USER)
        folders = [f"{parent}/{pathspace(router)}" for parent in (FRR_CONFIGURATION, FRR_RUN)]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        for name, text in (("frr.conf", configuration), ("vtysh.conf", "")):
            _write(f"{folders[0]}/{name}", text)
            os.chown(f"{folders[0]}/{name}", owner.pw_uid, owner.pw_gid)
        for program in programs:
            self._run(router, start_of_routing(router, program))

    def configure(self, router: str) -> None:
        """Pass on the configuration. OSError names the lines that FRRouting has left out."""
        try:
            self._run("", configuration_of_routing(router))
        except OSError as error:
            _, _, output = str(error).partition(": ")
            lines = [line for line in output.splitlines() if line.startswith("line ")]
            raise OSError(f"left out {'; '.join(lines) or output}") from None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
