"""A bottleneck that flows with different RTTs share, and metrics of such flows.

    topology = bottleneck("20Mbps", ["20ms", "60ms"], {"kind": "fifo", "limit": "1MB"})
    with run.network(topology) as net:
        listen(net, 2)
        ...
    run.metric("fairness", jain([goodput_mbps(tcp, host, from_s=5) for host in ("h1", "h2")]))

Experiments of the gallery use these functions; your own experiments may use them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wanlab.measure.fairness import jain as jain
from wanlab.measure.port_queue import port_backlogs_bytes
from wanlab.record import Table
from wanlab.topology import Host, Switch, Topology, link
from wanlab.topology.words import ConditionWords, QueueWords
from wanlab.units import format_time, parse_rate, parse_time

MSS_BYTES = 1448
"""Payload of a 1500-byte packet, without the headers and TCP's timestamp option."""
FRAME_BYTES = 1514
"""The size of a full packet with its Ethernet header, which a link's shaper counts too."""
QUEUE_PORT = "s1-eth1"
"""The port with the queue of the bottleneck."""
RECOVERY_OF_2000 = {
    "net.ipv4.tcp_sack": "0",
    "net.ipv4.tcp_dsack": "0",
    "net.ipv4.tcp_recovery": "0",
    "net.ipv4.tcp_early_retrans": "0",
    "net.ipv4.tcp_frto": "0",
}
"""Sysctls with which losses are found by three duplicate acknowledgements or a timeout."""


class Programs(Protocol):
    """A node that runs commands."""

    def run(self, command: str) -> object: ...


class Nodes(Protocol):
    """A network whose nodes are found by name."""

    def __getitem__(self, name: str, /) -> Programs: ...


def bottleneck(
    rate: str,
    rtts: Sequence[str],
    queue: QueueWords,
    *,
    loss: str = "0%",
    schedule: Sequence[Mapping[str, str]] = (),
) -> Topology:
    """Return a network in which sender hN reaches receiver rN over a shared link.

    The RTT from hN to rN is rtts[N-1]: the receiver's link delays each direction by half of it. The
    queue, the loss and the schedule of rates apply in the direction from the senders to the receivers.

    h1 ---+                       +--- r1
          s1 === rate, queue === s2
    h2 ---+                       +--- r2
    """
    hosts = [(f"h{number}", f"r{number}") for number in range(1, len(rtts) + 1)]
    forward: ConditionWords = {"rate": rate, "queue": queue, "loss": loss}
    if schedule:
        forward["schedule"] = schedule
    links = [link("s1", "s2", a_to_b=forward)]
    for (sender, receiver), rtt in zip(hosts, rtts, strict=True):
        half = format_time(parse_time(rtt) // 2)
        links.append(link(sender, "s1"))
        links.append(link("s2", receiver, delay=half))
    nodes = [*(Host(name) for pair in hosts for name in pair), Switch("s1"), Switch("s2")]
    return Topology(nodes=tuple(nodes), links=tuple(links))


def listen(net: Nodes, count: int) -> None:
    """Start `wanlab-traffic serve` in r1 to r`count`; one ping from each sender resolves addresses."""
    for number in range(1, count + 1):
        net[f"r{number}"].run("wanlab-traffic serve -D")
        net[f"h{number}"].run(f"ping -c 1 r{number}")


def max_goodput_mbps(rate: str) -> float:
    """Return the highest goodput of TCP over a link, in Mbit/s, after all headers."""
    return parse_rate(rate) / 1e6 * MSS_BYTES / FRAME_BYTES


def goodput_mbps(tcp: Table, node: str, *, from_s: float, to_s: float = float("inf")) -> float:
    """Return the rate in Mbit/s at which a sender's data was acknowledged from `from_s` to `to_s`.

    The rate of all its flows together; 0.0 if none has two samples in that time.
    """
    rows = tcp.where(node=node)
    total, began_s, ended_s = 0.0, float("inf"), 0.0
    for flow in rows.distinct("flow"):
        acked = rows.where(flow=flow).series("bytes_acked")
        inside = (acked.times_s >= from_s) & (acked.times_s <= to_s)
        if np.count_nonzero(inside) > 1:
            values, times = acked.values[inside], acked.times_s[inside]
            total += float(values[-1] - values[0])
            began_s, ended_s = min(began_s, float(times[0])), max(ended_s, float(times[-1]))
    return total * 8 / 1e6 / (ended_s - began_s) if ended_s > began_s else 0.0


def flow_goodputs_mbps(tcp: Table, node: str, *, from_s: float) -> list[float]:
    """Return the goodput of each flow that a node sends, in Mbit/s."""
    rows = tcp.where(node=node)
    return [
        goodput_mbps(rows.where(flow=flow), node, from_s=from_s) for flow in rows.distinct("flow")
    ]


def rtts_ms(
    tcp: Table, node: str, *, from_s: float, to_s: float = float("inf")
) -> NDArray[np.float64]:
    """Return the smoothed RTTs of a sender, sampled from `from_s` to `to_s`, in ms."""
    rows = tcp.where(node=node)
    times_s = np.asarray(rows["time_ns"], np.float64) / 1e9
    known = np.asarray(rows["rtt_us"], np.float64)[(times_s >= from_s) & (times_s <= to_s)]
    return known[known > 0] / 1000


def queue_bytes(
    qdiscs: Table, *, from_s: float, to_s: float = float("inf"), device: str = QUEUE_PORT
) -> NDArray[np.float64]:
    """Return the sampled lengths of a port's queue from `from_s` to `to_s`, in bytes."""
    rows = qdiscs.where(device=device)
    times_s = np.unique(np.asarray(rows["time_ns"], np.float64)) / 1e9
    lengths = np.asarray(port_backlogs_bytes(rows), np.float64)
    return lengths[(times_s >= from_s) & (times_s <= to_s)]
