"""Everything that Mininet's scripts import from `mininet.util`.

`__all__` is what `from mininet.util import *` gives in Mininet, names of other modules included.
"""

# Names of other modules that scripts take from here.
import codecs
import os
import re
import sys
from collections import namedtuple
from fcntl import F_GETFL, F_SETFL, fcntl
from functools import partial
from os import O_NONBLOCK
from resource import RLIMIT_NOFILE, RLIMIT_NPROC, getrlimit, setrlimit
from select import POLLHUP, POLLIN, poll
from subprocess import PIPE, STDOUT, Popen, call, check_call
from sys import exit
from time import sleep

from .addresses import ipAdd, ipNum, ipParse, ipStr, macColonHex, netParse
from .commands import (
    CmdResult,
    Encoding,
    checkRun,
    decode,
    encode,
    errFail,
    errRun,
    getincrementaldecoder,
    isShellBuiltin,
    oldQuietRun,
    pmonitor,
    quietRun,
    retry,
    run,
    which,
)
from .connections import connections, dumpNetConnections, dumpNodeConnections, dumpPorts
from .expect import Pexpect, pexpect
from .listening import waitListening
from .log import debug, error, info, output, warn
from .mn_arguments import (
    buildTopo,
    checkFloat,
    checkInt,
    custom,
    customClass,
    makeNumeric,
    specialClass,
    splitArgs,
)
from .natural_order import natural, naturalSeq
from .process_limits import (
    ensureRoot,
    fixLimits,
    mountCgroups,
    numCores,
    rlimitTestAndSet,
    sysctlTestAndSet,
)
from .strict_version import StrictVersion
from .throughput import fmtBps
from .topo import irange
from .veth_pairs import makeIntfPair, moveIntf, moveIntfNoRetry

Python3 = True
BaseString = str

__all__ = [
    "F_GETFL",
    "F_SETFL",
    "O_NONBLOCK",
    "PIPE",
    "POLLHUP",
    "POLLIN",
    "RLIMIT_NOFILE",
    "RLIMIT_NPROC",
    "STDOUT",
    "BaseString",
    "CmdResult",
    "Encoding",
    "Pexpect",
    "Popen",
    "Python3",
    "StrictVersion",
    "buildTopo",
    "call",
    "checkFloat",
    "checkInt",
    "checkRun",
    "check_call",
    "codecs",
    "connections",
    "custom",
    "customClass",
    "debug",
    "decode",
    "dumpNetConnections",
    "dumpNodeConnections",
    "dumpPorts",
    "encode",
    "ensureRoot",
    "errFail",
    "errRun",
    "error",
    "exit",
    "fcntl",
    "fixLimits",
    "fmtBps",
    "getincrementaldecoder",
    "getrlimit",
    "info",
    "ipAdd",
    "ipNum",
    "ipParse",
    "ipStr",
    "irange",
    "isShellBuiltin",
    "macColonHex",
    "makeIntfPair",
    "makeNumeric",
    "mountCgroups",
    "moveIntf",
    "moveIntfNoRetry",
    "namedtuple",
    "natural",
    "naturalSeq",
    "netParse",
    "numCores",
    "oldQuietRun",
    "os",
    "output",
    "partial",
    "pexpect",
    "pmonitor",
    "poll",
    "quietRun",
    "re",
    "retry",
    "rlimitTestAndSet",
    "run",
    "setrlimit",
    "sleep",
    "specialClass",
    "splitArgs",
    "sys",
    "sysctlTestAndSet",
    "waitListening",
    "warn",
    "which",
]
