"""Nodes: hosts, switches and controllers, under the name by which Mininet's scripts import them."""

from .controllers import (
    NOX,
    Controller,
    DefaultController,
    DefaultControllers,
    NullController,
    OVSController,
    RemoteController,
    Ryu,
    findController,
)
from .hosts import Node
from .limited import CPULimitedHost, Host
from .switches import IVSSwitch, OVSBridge, OVSKernelSwitch, OVSSwitch, Switch, UserSwitch

__all__ = [
    "NOX",
    "CPULimitedHost",
    "Controller",
    "DefaultController",
    "DefaultControllers",
    "Host",
    "IVSSwitch",
    "Node",
    "NullController",
    "OVSBridge",
    "OVSController",
    "OVSKernelSwitch",
    "OVSSwitch",
    "RemoteController",
    "Ryu",
    "Switch",
    "UserSwitch",
    "findController",
]
