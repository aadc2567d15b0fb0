"""Operations that need programs to run beside the network: Open vSwitch, controllers, FRRouting.

As in `operations`, and for the same readers; what does the work are `open_vswitch`, `controllers` and
`routing`, which the agent loads when they are wanted.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from .controllers import RUN_FOLDER, log_of_controller, start_of_controller, start_of_relay
from .open_vswitch import OVS_FOLDER, start_of_ovs
from .operations import Operation, in_node
from .routing import FRR_CONFIGURATION, FRR_PROGRAMS, FRR_RUN, FRR_USER, start_of_routing

__all__ = [
    "FRR_PROGRAMS",
    "AwaitSwitches",
    "JoinOvs",
    "PrepareRouting",
    "SetOvs",
    "StartController",
    "StartOvs",
    "StartRelay",
    "StartRouting",
    "StopController",
]


@dataclass(frozen=True)
class StartOvs(Operation):
    """Nothing, if it runs already."""

    name = "start_ovs"

    def describe(self) -> str:
        return "Open vSwitch"

    def commands(self) -> list[str]:
        return [f"mkdir -p {OVS_FOLDER}", *map(shlex.join, start_of_ovs())]


@dataclass(frozen=True)
class SetOvs(Operation):
    """Words for `ovs-vsctl`. Consecutive ones are one call."""

    what: str
    words: tuple[str, ...]

    name = "set_ovs"

    def describe(self) -> str:
        return self.what

    def commands(self) -> list[str]:
        return [f"ovs-vsctl {_shell_words(self.words)}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"words": ["--", *self.words]}


@dataclass(frozen=True)
class JoinOvs(SetOvs):
    """Plugs a port into its switch when the nodes have settled."""


@dataclass(frozen=True)
class StartController(Operation):
    """Our learning controller, in the root namespace."""

    controller: str
    address: str
    port: int

    name = "start_controller"

    def describe(self) -> str:
        return f"controller {self.controller}"

    def commands(self) -> list[str]:
        return [shlex.join(start_of_controller(self.controller, self.address, self.port))]


@dataclass(frozen=True)
class StartRelay(Operation):
    """What stands in the machine for a controller on the user's own computer."""

    controller: str
    address: str
    port: int

    name = "start_relay"

    def describe(self) -> str:
        return f"relay to controller {self.controller} at {self.address}:{self.port}"

    def commands(self) -> list[str]:
        return [shlex.join(start_of_relay(self.controller, self.address, self.port))]


@dataclass(frozen=True)
class StopController(Operation):
    """Ends a controller of ours."""

    controller: str

    name = "stop_controller"

    def describe(self) -> str:
        return f"no more controller {self.controller}"

    def commands(self) -> list[str]:
        return [f"kill $(cat {RUN_FOLDER}/{self.controller}.pid)"]


@dataclass(frozen=True)
class AwaitSwitches(Operation):
    """Until so many switches have connected to a controller of ours."""

    controller: str
    count: int

    name = "await_switches"

    def describe(self) -> str:
        return f"switches connected to controller {self.controller}: {self.count}"

    def commands(self) -> list[str]:
        log = log_of_controller(self.controller)
        count = f"$(grep connected, {log} | sort -u | wc -l)"
        return [f'until [ "{count}" -ge {self.count} ]; do sleep 0.05; done']


@dataclass(frozen=True)
class PrepareRouting(Operation):
    """A place for configurations: FRRouting's own folder is the computer's, and may be closed to us. It
    comes before the nodes, which see the folders that are there when they begin."""

    name = "prepare_routing"

    def describe(self) -> str:
        return "folder of FRRouting's configurations"

    def commands(self) -> list[str]:
        folder = FRR_CONFIGURATION
        return [
            f"mountpoint -q {folder} || mount -t tmpfs -o mode=755 frr {folder}",
            f"touch {folder}/vtysh.conf",
        ]


@dataclass(frozen=True)
class StartRouting(Operation):
    """Programs of FRRouting in a router; `configuration` is its frr.conf."""

    router: str
    programs: tuple[str, ...]
    configuration: str

    name = "start_routing"

    def describe(self) -> str:
        return f"FRRouting in {self.router}: {', '.join(self.programs)}"

    def commands(self) -> list[str]:
        folder = f"{FRR_CONFIGURATION}/{self.router}"
        text = self.configuration.rstrip("\n")
        return [
            f"mkdir -p {folder} {FRR_RUN}/{self.router}",
            f"cat > {folder}/frr.conf <<'END'\n{text}\nEND",
            f"touch {folder}/vtysh.conf",
            f"chown -R {FRR_USER}: {folder} {FRR_RUN}/{self.router}",
            *(
                in_node(self.router, shlex.join(start_of_routing(self.router, program)))
                for program in self.programs
            ),
            f"vtysh -N {self.router} -b",
        ]


def _shell_words(words: tuple[str, ...]) -> str:
    """For people: one command of ovs-vsctl to a line."""
    return shlex.join(words).replace(" -- ", " \\\n    -- ")
