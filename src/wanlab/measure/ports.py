"""Sample the traffic counters of interfaces.

struct rtnl_link_stats64 of include/uapi/linux/if_link.h, Linux 6.12.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from wanlab.netlink import framing
from wanlab.netlink.structure import Structure
from wanlab.network import Network
from wanlab.record import Table

from .columns import Structures
from .readings import Reading, Readings, Source, interface_numbers

RTM_GETSTATS = 94
_STATS_LINK_64 = 1  # IFLA_STATS_LINK_64
_HEADER = struct.Struct("=BBHiI")  # struct if_stats_msg

_BODY = _HEADER.pack(0, 0, 0, 0, 1 << (_STATS_LINK_64 - 1))
REQUEST = framing.request(RTM_GETSTATS, _BODY)

STATS = Structure.of(
    "an interface's counters",
    """
    u64 rx_packets  u64 tx_packets  u64 rx_bytes  u64 tx_bytes  u64 rx_errors  u64 tx_errors
    u64 rx_drops  u64 tx_drops  u64 multicast  u64 collisions
    u64 rx_length_errors  u64 rx_over_errors  u64 rx_crc_errors  u64 rx_frame_errors
    u64 rx_fifo_errors  u64 rx_missed_errors
    u64 tx_aborted_errors  u64 tx_carrier_errors  u64 tx_fifo_errors  u64 tx_heartbeat_errors
    u64 tx_window_errors  u64 -  u64 -  u64 rx_nohandler
    """,
)


@dataclass(frozen=True)
class Sent:
    """The traffic that has left through a port since the port was made."""

    packets: int
    bytes: int


def sent_through(network: Network, ports: Sequence[str]) -> dict[str, Sent]:
    """Read the counters of ports now. No time passes."""
    sampler = Ports(*ports)
    sampler.prepare(network)
    for index, part in enumerate(network.read(sampler.sources())):
        sampler.take(Reading(network.now_ns, index, part))
    rows = sampler.tables()["port"]
    return {
        str(rows["device"][row]): Sent(int(rows["tx_packets"][row]), int(rows["tx_bytes"][row]))
        for row in range(len(rows))
    }


class Ports(Readings):
    """Sample bytes, packets, drops and errors of ports, into table "port".

    rx counts packets that came in through the port, tx those that left through it.
    """

    def __init__(self, *ports: str) -> None:
        super().__init__()
        self._ports = ports
        self._devices: dict[str, dict[int, str]] = {}

    def prepare(self, network: Network) -> None:
        self._devices = interface_numbers(network, self._ports)

    def sources(self) -> list[Source]:
        return [
            ["interfaces", node, REQUEST.hex(), list(devices)]
            for node, devices in self._devices.items()
        ]

    def tables(self) -> dict[str, Table]:
        counters = Structures(STATS)
        devices = list(self._devices.values())
        for time_ns, index, part in self.readings:
            for _, message in framing.dumps(part):
                number = _HEADER.unpack_from(message)[3]
                fields = framing.attributes(message[_HEADER.size :])
                if number in devices[index] and _STATS_LINK_64 in fields:
                    counters.add((time_ns, devices[index][number]), fields[_STATS_LINK_64])
        return {"port": counters.table(("time_ns", "device"))} if counters.rows else {}
