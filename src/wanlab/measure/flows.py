"""Sample the TCP flows of nodes, IPv4 and IPv6, as `ss -tin` shows them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from wanlab.netlink import framing
from wanlab.network import Network
from wanlab.record import Table

from . import tcp_info
from .columns import Rows, columns_of
from .readings import Readings, Source

# struct inet_diag_req: the older request (TCPDIAG_GETSOCK), which is answered for both families.
_BODY = struct.pack(
    "=BBBB48xII",
    socket.AF_UNSPEC,
    0,
    0,
    tcp_info.ALL_EXTENSIONS,
    tcp_info.ESTABLISHED_AND_ENDING,
    0,
)
REQUEST = framing.request(tcp_info.TCPDIAG_GETSOCK, _BODY)


class Flows(Readings):
    """Sample struct tcp_info of the TCP flows of some nodes, into table "tcp".

    The additional state of BBR, Vegas and DCTCP is in "tcp_bbr", "tcp_vegas", "tcp_dctcp".
    """

    def __init__(self, *nodes: str) -> None:
        super().__init__()
        self._nodes = nodes

    def prepare(self, network: Network) -> None:
        for node in self._nodes:
            network[node]

    def sources(self) -> list[Source]:
        return [["sock_diag", node, REQUEST.hex()] for node in self._nodes]

    def tables(self) -> dict[str, Table]:
        ends: Rows = []
        infos: list[bytes] = []
        algorithms: dict[str, Rows] = {}
        names: dict[str, Sequence[str]] = {}
        for time_ns, index, part in self.readings:
            for _, message in framing.dumps(part):
                end = tcp_info.ends(message)
                if not end.info:
                    continue
                row = (time_ns, self._nodes[index], end.flow)
                ends.append((*row, end.congestion, *end[:4]))
                infos.append(end.info)
                for number, name in tcp_info.ALGORITHMS.items():
                    if number in end.fields:
                        state = tcp_info.algorithm(end.fields)
                        names[name] = [key.removeprefix(f"{name}_") for key in state]
                        algorithms.setdefault(name, []).append((*row, *state.values()))
        if not ends:
            return {}
        before = columns_of(ends, _END_COLUMNS)
        addresses = {name: before.pop(name) for name in _END_COLUMNS[4:]}
        tables = {"tcp": Table.of(before | tcp_info.columns(infos) | addresses)}
        for name, rows in algorithms.items():
            columns = columns_of(rows, ("time_ns", "node", "flow", *names[name]))
            tables[f"tcp_{name}"] = Table.of(columns)
        return tables


_END_COLUMNS = (
    "time_ns",
    "node",
    "flow",
    "congestion",
    "local_address",
    "local_port",
    "remote_address",
    "remote_port",
)
