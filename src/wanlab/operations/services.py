"""Operations that start programs: Open vSwitch, controllers, FRRouting.

The agent's modules `open_vswitch`, `controllers` and `routing` do the work. They also define the paths
and command lines, so that the commands printed here are the ones that are run.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from wanlab.agent.controllers import (
    RUN_FOLDER,
    log_of_controller,
    start_of_controller,
    start_of_relay,
)
from wanlab.agent.open_vswitch import OVS_FOLDER, start_of_ovs
from wanlab.agent.routing import (
    FRR_CONFIGURATION,
    FRR_RUN,
    FRR_USER,
    configuration_of_routing,
    pathspace,
    start_of_routing,
)

from .operation import Operation, Request, here_document, in_node


@dataclass(frozen=True)
class StartOvs(Operation):
    """Start Open vSwitch unless it is running."""

    verb = "start_ovs"

    def describe(self) -> str:
        return "Open vSwitch"

    def commands(self) -> list[str]:
        return [f"mkdir -p {OVS_FOLDER}", *map(shlex.join, start_of_ovs())]


@dataclass(frozen=True)
class SetOvs(Operation):
    """Configure Open vSwitch: `arguments` are those of ovs-vsctl(8).

    The agent runs the program once for consecutive operations of this kind.
    """

    description: str
    arguments: tuple[str, ...]

    verb = "set_ovs"

    def describe(self) -> str:
        return self.description

    def commands(self) -> list[str]:
        return [f"ovs-vsctl {_one_command_a_line(self.arguments)}"]

    def request(self) -> Request:
        return self.verb, {"arguments": ["--", *self.arguments]}


@dataclass(frozen=True)
class JoinOvs(SetOvs):
    """Plug a port into its switch, once the nodes have settled."""


@dataclass(frozen=True)
class StartController(Operation):
    """Start our learning controller in the root namespace."""

    controller: str
    address: str
    port: int

    verb = "start_controller"

    def describe(self) -> str:
        return f"controller {self.controller}"

    def commands(self) -> list[str]:
        return [shlex.join(start_of_controller(self.controller, self.address, self.port))]


@dataclass(frozen=True)
class StartRelay(Operation):
    """Start the relay that connects switches to a controller on the user's own computer."""

    controller: str
    address: str
    port: int

    verb = "start_relay"

    def describe(self) -> str:
        return f"relay to controller {self.controller} at {self.address}:{self.port}"

    def commands(self) -> list[str]:
        return [shlex.join(start_of_relay(self.controller, self.address, self.port))]


@dataclass(frozen=True)
class StopController(Operation):
    """Stop a controller or relay that we started."""

    controller: str

    verb = "stop_controller"

    def describe(self) -> str:
        return f"stop controller {self.controller}"

    def commands(self) -> list[str]:
        return [f"kill $(cat {RUN_FOLDER}/{self.controller}.pid)"]


@dataclass(frozen=True)
class AwaitSwitches(Operation):
    """Wait until `count` switches have connected to one of our controllers."""

    controller: str
    count: int

    verb = "await_switches"

    def describe(self) -> str:
        return f"switches connected to controller {self.controller}: {self.count}"

    def commands(self) -> list[str]:
        log = log_of_controller(self.controller)
        count = f"$(grep connected, {log} | sort -u | wc -l)"
        return [f'until [ "{count}" -ge {self.count} ]; do sleep 0.05; done']


@dataclass(frozen=True)
class PrepareRouting(Operation):
    """Mount an empty folder for FRRouting's configurations.

    FRRouting's own folder belongs to the computer, and we may not be allowed to write there. The mount
    must come before the nodes, which see only file systems that are mounted when they are made.
    """

    verb = "prepare_routing"

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
    """Start programs of FRRouting in a router; `configuration` is its frr.conf."""

    router: str
    programs: tuple[str, ...]
    configuration: str

    verb = "start_routing"

    def describe(self) -> str:
        return f"FRRouting in {self.router}: {', '.join(self.programs)}"

    def commands(self) -> list[str]:
        name = pathspace(self.router)
        folder = f"{FRR_CONFIGURATION}/{name}"
        text = self.configuration.rstrip("\n")
        return [
            f"mkdir -p {folder} {FRR_RUN}/{name}",
            here_document(f"cat > {folder}/frr.conf", text),
            f"touch {folder}/vtysh.conf",
            f"chown -R {FRR_USER}: {folder} {FRR_RUN}/{name}",
            *(
                in_node(self.router, shlex.join(start_of_routing(self.router, program)))
                for program in self.programs
            ),
        ]


@dataclass(frozen=True)
class ConfigureRouting(Operation):
    """Pass a router's frr.conf to its programs, which leave out the lines that they do not know."""

    router: str

    verb = "configure_routing"
    may_fail = True

    def describe(self) -> str:
        return f"frr.conf of {self.router}"

    def commands(self) -> list[str]:
        return [shlex.join(configuration_of_routing(self.router))]


def _one_command_a_line(arguments: tuple[str, ...]) -> str:
    """Quote arguments of ovs-vsctl for people, one of its commands per line."""
    return shlex.join(arguments).replace(" -- ", " \\\n    -- ")
