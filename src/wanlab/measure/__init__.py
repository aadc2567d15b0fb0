"""Measuring: samplers that read counters and events, and pure parsers of their data.

A name's module is imported when the name is first used: `mn` counts lost packets in machines where numpy
and msgspec may be missing, and should not wait for them anyway.
"""

from typing import TYPE_CHECKING

# Its module has the same name, which would hide it.
from .side_paths import side_paths

if TYPE_CHECKING:
    from . import iperf3, iperf3_text, ping, traffic
    from .captures import Capture
    from .flows import Flows
    from .lost_packets import Drop, drops
    from .ports import Ports, Sent, sent_through
    from .processor import Cpu, Processors, Softnet, packets_received
    from .queues import Queues
    from .readings import Sampler
    from .sampler import Sampling, sample
    from .traces import Acks, Drops, Retransmissions, Sojourns

_MODULES = {
    "Acks": "traces",
    "Capture": "captures",
    "Cpu": "processor",
    "Drop": "lost_packets",
    "Drops": "traces",
    "Flows": "flows",
    "Ports": "ports",
    "Processors": "processor",
    "Queues": "queues",
    "Retransmissions": "traces",
    "Sampler": "readings",
    "Sampling": "sampler",
    "Sent": "ports",
    "Softnet": "processor",
    "Sojourns": "traces",
    "drops": "lost_packets",
    "packets_received": "processor",
    "sample": "sampler",
    "sent_through": "ports",
}
_SUBMODULES = ("iperf3", "iperf3_text", "ping", "traffic")

__all__ = [
    "Acks",
    "Capture",
    "Cpu",
    "Drop",
    "Drops",
    "Flows",
    "Ports",
    "Processors",
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


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
