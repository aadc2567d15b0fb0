"""A live network and the handles to it."""

from .desk import Visit, answer_to, ask
from .network import Network
from .node import LiveNode
from .process import Finished, Process

__all__ = ["Finished", "LiveNode", "Network", "Process", "Visit", "answer_to", "ask"]
