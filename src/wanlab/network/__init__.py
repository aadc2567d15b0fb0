"""A live network, and the handles to its nodes, processes and connections."""

from wanlab.machine.defaults import NO_CHOICE as NO_CHOICE
from wanlab.machine.defaults import MachineChoice as MachineChoice

from .computing import collect_computing as collect_computing
from .computing import computing_real_s as computing_real_s
from .computing import computing_warnings as computing_warnings
from .computing import tell_namespaces as tell_namespaces
from .host_service import Connection, call_host, open_request
from .network import Network
from .node import LiveNode
from .process import Finished, Process
from .start_jitter import StartJitter as StartJitter
from .start_jitter import parse_start_jitter as parse_start_jitter
from .start_jitter import start_jitter_here as start_jitter_here

__all__ = ["Connection", "Finished", "LiveNode", "Network", "Process", "call_host", "open_request"]
