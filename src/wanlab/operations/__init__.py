"""Operations: the steps of a plan, each of them plain data.

The plan creates them, and the agent performs them. The agent itself does not load this package: it
gets each operation as a verb and its arguments (see `operation`).

    operation   the base class of all operations
    nodes       namespaces, routes, sysctls, files, start commands
    links       veth pairs, bridges, addresses, link state
    ports       the settings of one port: wire, offloads, coalescing, queueing disciplines
    varying     links that deliver by a trace or follow a schedule
    hosts       features of a few hosts: private directories, VLAN interfaces, CPU limits
    services    Open vSwitch, controllers, FRRouting
"""

from wanlab.agent.routing import FRR_PROGRAMS

from .hosts import AddPrivateDirectory, AddVlanInterface, LimitCpu, MoveInterface
from .links import (
    AddAddress,
    AddBridge,
    AddLink,
    BringUp,
    JoinBridge,
    LinkEnd,
    RemoveLink,
    SetLinkState,
    SetVlans,
)
from .nodes import (
    AddNamespace,
    AddRoute,
    RemoveNamespace,
    RunStartCommand,
    SetCpu,
    SetSysctl,
    WriteFile,
)
from .operation import ROOT, Operation, Request
from .ports import SetCoalesce, SetOffloads, SetSpeed, SetWire, Shape
from .services import (
    AwaitSwitches,
    ConfigureRouting,
    JoinOvs,
    PrepareRouting,
    SetOvs,
    StartController,
    StartOvs,
    StartRelay,
    StartRouting,
    StopController,
)
from .varying import ChangeConditions, LoadOpportunities, StartOpportunities

__all__ = [
    "FRR_PROGRAMS",
    "ROOT",
    "AddAddress",
    "AddBridge",
    "AddLink",
    "AddNamespace",
    "AddPrivateDirectory",
    "AddRoute",
    "AddVlanInterface",
    "AwaitSwitches",
    "BringUp",
    "ChangeConditions",
    "ConfigureRouting",
    "JoinBridge",
    "JoinOvs",
    "LimitCpu",
    "LinkEnd",
    "LoadOpportunities",
    "MoveInterface",
    "Operation",
    "PrepareRouting",
    "RemoveLink",
    "RemoveNamespace",
    "Request",
    "RunStartCommand",
    "SetCoalesce",
    "SetCpu",
    "SetLinkState",
    "SetOffloads",
    "SetOvs",
    "SetSpeed",
    "SetSysctl",
    "SetVlans",
    "SetWire",
    "Shape",
    "StartController",
    "StartOpportunities",
    "StartOvs",
    "StartRelay",
    "StartRouting",
    "StopController",
    "WriteFile",
]
