"""The words of `tc` for the queue of a port.

`plan/shaping` has those for the conditions around it, and `files/mininet_script` exports them.
"""

from __future__ import annotations

from wanlab.errors import Problem, TopologyError
from wanlab.units import whole_number

from .model import Port, Queue
from .settings import QUEUES

DEFAULT_MTU = 1500
# RED keeps its average in 32 bits. If its minimum is larger than this, the average must follow the queue
# at once; the course's burst of min/avpkt does that.
MAX_SLOW_AVERAGE_BYTES = 1 << 20
# How fast the average decays while the queue is empty: the default of tc-red(8).
IDLE_BANDWIDTH_BPS = 10_000_000
ETHERNET_HEADER_BYTES = 14


def frame_bytes(port: Port) -> int:
    return (port.mtu or DEFAULT_MTU) + ETHERNET_HEADER_BYTES


def limit_bytes(port: Port, queue: Queue) -> int:
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    return (queue.limit_packets or 1000) * frame_bytes(port)


def queue_words(port: Port, queue: Queue) -> str:
    """Return the kind and the parameters of a queue for tc."""
    options = [word for pair in queue.options for word in pair if word]
    names = {name for name, _ in queue.options}
    if queue.kind == "fifo":
        if queue.limit_packets is not None:
            return f"pfifo limit {queue.limit_packets}"
        return f"bfifo limit {limit_bytes(port, queue)}"
    if queue.kind in QUEUES and QUEUES[queue.kind].is_classful:
        raise TopologyError(
            [
                Problem(
                    f"port {port.name}",
                    f"the queue {queue.kind} needs classes, which a topology cannot describe",
                    "set it up with tc commands once the network runs",
                )
            ]
        )
    words = [queue.kind]
    if queue.kind == "red":
        words += _red_words(port, queue, names)
    elif queue.kind == "choke":
        words += _choke_words(port, queue, names)
    elif queue.kind == "cake":
        words += ["memlimit", str(limit_bytes(port, queue))] if _has_limit(queue) else []
    elif _has_limit(queue):
        words += ["limit", str(_limit_packets(port, queue))]
    return " ".join([*words, *options])


def _has_limit(queue: Queue) -> bool:
    return queue.limit_bytes is not None or queue.limit_packets is not None


def _limit_packets(port: Port, queue: Queue) -> int:
    """Return the limit in packets; bytes are converted to packets of one MTU, as in the course."""
    if queue.limit_packets is not None:
        return queue.limit_packets
    assert queue.limit_bytes is not None
    return max(1, queue.limit_bytes // (port.mtu or DEFAULT_MTU))


def _red_words(port: Port, queue: Queue, names: set[str]) -> list[str]:
    """Return RED's parameters, for which tc has no defaults.

    tc-red(8) recommends a max of a quarter of the limit and a min of a third of max.
    """
    limit = limit_bytes(port, queue)
    numbers = {name: whole_number(value) for name, value in queue.options}
    options = {name: number for name, number in numbers.items() if number is not None}
    average_packet = max(1, options.get("avpkt", 1000))
    maximum = options.get("max", limit // 4)
    minimum = options.get("min", maximum // 3)
    burst = max(1, (2 * minimum + maximum) // (3 * average_packet))
    if minimum > MAX_SLOW_AVERAGE_BYTES:
        burst = minimum // average_packet + 1
    words = {
        "limit": str(limit),
        "min": str(minimum),
        "max": str(maximum),
        "avpkt": str(average_packet),
        "burst": str(burst),
        "probability": "0.02",
    }
    if port.conditions.rate_bps:
        words["bandwidth"] = f"{port.conditions.rate_bps}bit"
    return [word for name, value in words.items() if name not in names for word in (name, value)]


def _choke_words(port: Port, queue: Queue, names: set[str]) -> list[str]:
    limit = _limit_packets(port, queue) if _has_limit(queue) else 1000
    rate_bps = port.conditions.rate_bps or port.speed_bps or IDLE_BANDWIDTH_BPS
    words = {
        "limit": str(limit),
        "min": str(max(1, limit // 12)),
        "max": str(max(2, limit // 4)),
        "bandwidth": f"{rate_bps}bit",
    }
    return [word for name, value in words.items() if name not in names for word in (name, value)]
