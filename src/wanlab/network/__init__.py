"""A live network and the handles to it."""

from .network import Network
from .node import LiveNode
from .process import Finished, Process

__all__ = ["Finished", "LiveNode", "Network", "Process"]
