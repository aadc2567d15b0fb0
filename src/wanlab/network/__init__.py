"""A live network, and the handles to its nodes, processes and connections."""

from .host_service import Connection, call_host, open_request
from .network import Network
from .node import LiveNode
from .process import Finished, Process

__all__ = ["Connection", "Finished", "LiveNode", "Network", "Process", "call_host", "open_request"]
