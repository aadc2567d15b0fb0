"""Measuring: samplers that read counters and events, and pure parsers of their data."""

from . import iperf3, iperf3_text, ping, traffic
from .captures import Capture
from .flows import Flows
from .lost_packets import Drop, drops
from .ports import Ports, Sent, sent_through
from .processor import Cpu, Softnet, packets_received
from .queues import Queues
from .readings import Sampler
from .sampler import Sampling, sample
from .side_paths import side_paths
from .traces import Acks, Drops, Retransmissions, Sojourns

__all__ = [
    "Acks",
    "Capture",
    "Cpu",
    "Drop",
    "Drops",
    "Flows",
    "Ports",
    "Queues",
    "Retransmissions",
    "Sampler",
    "Sampling",
    "Sent",
    "Softnet",
    "Sojourns",
    "drops",
    "iperf3",
    "iperf3_text",
    "packets_received",
    "ping",
    "sample",
    "sent_through",
    "side_paths",
    "traffic",
]
