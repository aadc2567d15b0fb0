"""Nodes: hosts, switches and controllers, under the name by which Mininet's scripts import them.

`__all__` is what `from mininet.node import *` gives in Mininet, names of other modules included.
"""

# Names of other modules that scripts take from here.
import os
import pty
import re
import select
import signal
from re import findall
from subprocess import PIPE, Popen
from sys import exit
from time import sleep

from .commands import (
    decode,
    encode,
    errFail,
    errRun,
    getincrementaldecoder,
    isShellBuiltin,
    quietRun,
    retry,
    which,
)
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
from .link import Intf, Link, OVSIntf, TCIntf
from .log import debug, error, info, warn
from .moduledeps import TUN, moduleDeps, pathCheck
from .process_limits import mountCgroups, numCores
from .strict_version import StrictVersion
from .switches import IVSSwitch, OVSBridge, OVSKernelSwitch, OVSSwitch, Switch, UserSwitch
from .veth_pairs import moveIntf

Python3 = True
BaseString = str

__all__ = [
    "NOX",
    "PIPE",
    "TUN",
    "BaseString",
    "CPULimitedHost",
    "Controller",
    "DefaultController",
    "DefaultControllers",
    "Host",
    "IVSSwitch",
    "Intf",
    "Link",
    "Node",
    "NullController",
    "OVSBridge",
    "OVSController",
    "OVSIntf",
    "OVSKernelSwitch",
    "OVSSwitch",
    "Popen",
    "Python3",
    "RemoteController",
    "Ryu",
    "StrictVersion",
    "Switch",
    "TCIntf",
    "UserSwitch",
    "debug",
    "decode",
    "encode",
    "errFail",
    "errRun",
    "error",
    "exit",
    "findController",
    "findall",
    "getincrementaldecoder",
    "info",
    "isShellBuiltin",
    "moduleDeps",
    "mountCgroups",
    "moveIntf",
    "numCores",
    "os",
    "pathCheck",
    "pty",
    "quietRun",
    "re",
    "retry",
    "select",
    "signal",
    "sleep",
    "warn",
    "which",
]
