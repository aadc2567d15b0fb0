"""The TCP flows of nodes, IPv4 and IPv6, as `ss -tin` shows them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from wanlab.network import Network
from wanlab.record import Table

from . import netlink, tcp_info
from .columns import Rows, columns_of
from .readings import Readings, Source

# struct inet_diag_req: the older question (TCPDIAG_GETSOCK), which is answered for both families.
_BODY = struct.pack(
    "=BBBB48xII",
    *(socket.AF_UNSPEC, 0, 0, tcp_info.ALL_EXTENSIONS, tcp_info.ESTABLISHED_AND_ENDING, 0),
)
REQUEST = netlink.request(tcp_info.TCPDIAG_GETSOCK, _BODY)


class Flows(Readings):
    """The TCP flows of some nodes: struct tcp_info, in table "tcp". What BBR, Vegas and DCTCP know
    besides is in "tcp_bbr", "tcp_vegas", "tcp_dctcp"."""

    def __init__(self, *nodes: str) -> None:
        super().__init__()
        self._nodes = nodes

    def prepare(self, network: Network) -> None:
        for node in self._nodes:
            network[node]

    def sources(self) -> list[Source]:
        return [["sock_diag", node, REQUEST.hex()] for node in self._nodes]

    def tables(self) -> dict[str, Table]:
        whose: Rows = []
        infos: list[bytes] = []
        algorithms: dict[str, Rows] = {}
        names: dict[str, Sequence[str]] = {}
        for time_ns, place, part in self.readings:
            for _, message in netlink.dumps(part):
                end = tcp_info.ends(message)
                if not end.info:
                    continue
                row = (time_ns, self._nodes[place], end.flow)
                whose.append((*row, end.congestion, *end[:4]))
                infos.append(end.info)
                for number, name in tcp_info.ALGORITHMS.items():
                    if number in end.fields:
                        state = tcp_info.algorithm(end.fields)
                        names[name] = [key.removeprefix(f"{name}_") for key in state]
                        algorithms.setdefault(name, []).append((*row, *state.values()))
        if not whose:
            return {}
        before = columns_of(whose, _WHOSE)
        addresses = {name: before.pop(name) for name in _WHOSE[4:]}
        tables = {"tcp": Table.of(before | tcp_info.columns(infos) | addresses)}
        for name, rows in algorithms.items():
            columns = columns_of(rows, ("time_ns", "node", "flow", *names[name]))
            tables[f"tcp_{name}"] = Table.of(columns)
        return tables


_WHOSE = (
    *("time_ns", "node", "flow", "congestion"),
    *("local_address", "local_port", "remote_address", "remote_port"),
)
