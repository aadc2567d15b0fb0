"""TCP flows between nodes, and the data that they carry in an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wanlab import Flows, Network, Process, Queues, Sampling
from wanlab.record import Table

FIRST_PORT = 5201
MSS_BYTES = 1448
FRAME_BYTES = 1514
FOREVER_S = 86_400
# Large enough that windows are not the limit.
BUFFERS = {
    "net.ipv4.tcp_rmem": "10240 87380 150000000",
    "net.ipv4.tcp_wmem": "10240 87380 150000000",
}


@dataclass(frozen=True)
class Flow:
    """One iperf3 client and its server."""

    sender: str
    receiver: str
    number: int
    congestion: str = "reno"

    @property
    def port(self) -> int:
        return FIRST_PORT + self.number

    def serve(self, net: Network) -> None:
        net[self.receiver].start(f"iperf3 -4 -s -p {self.port}")

    def begin(self, net: Network, more: str) -> Process:
        words = f"-p {self.port} -C {self.congestion} -t {FOREVER_S} -i 0 {more}"
        return net[self.sender].start(f"iperf3 -4 -c {self.receiver} {words}")


def begin(net: Network, flows: Sequence[Flow], more: str = "", *, apart: str | int = 0) -> None:
    """Start servers, then flows, one after the other; `more` are options of iperf3."""
    for flow in flows:
        flow.serve(net)
    net.run_for("500ms")
    for flow in flows:
        flow.begin(net, more)
        net.run_for(apart)


def of_data(table: Table, flow: Flow, node: str) -> Table:
    """Return the rows of the connection that carries data, not of iperf3's control connection."""
    port = f":{flow.port}"
    side = 1 if node == flow.sender else 0
    rows = table.where(node=node)
    names = [name for name in rows.distinct("flow") if name.split(" > ")[side].endswith(port)]
    counter = "bytes_acked" if node == flow.sender else "bytes_received"
    return rows.where(flow=max(names, key=lambda name: max(rows.where(flow=name)[counter])))


@dataclass(frozen=True)
class Carried:
    """The data that flows carried in an interval, and the samples of that time."""

    seconds: float
    received_bytes: tuple[int, ...]
    """In-order payload of each flow."""
    sampling: dict[str, Table]

    @property
    def goodputs_bps(self) -> list[float]:
        return [8 * count / self.seconds for count in self.received_bytes]

    def queue(self, **which: str) -> Table:
        return self.sampling["qdisc"].where(**which)


def carried(
    net: Network,
    flows: Sequence[Flow],
    *,
    settle: str,
    window: str,
    queues: Sequence[str] = (),
    every: str = "1s",
) -> Carried:
    """Let flows settle for the time `settle`, then measure for the time `window`."""
    net.run_for(settle)
    nodes = list(dict.fromkeys(node for flow in flows for node in (flow.sender, flow.receiver)))
    sampling = Sampling(net, [Queues(*queues), Flows(*nodes)], every=every)
    began_ns = net.now_ns
    sampling.run(window)
    seconds = (net.now_ns - began_ns) / 1e9
    tables = sampling.tables()
    received = [of_data(tables["tcp"], flow, flow.receiver)["bytes_received"] for flow in flows]
    return Carried(
        seconds, tuple(int(max(counter)) - int(min(counter)) for counter in received), tables
    )


def grown(table: Table, column: str) -> int:
    """Return by how much a counter has grown."""
    return int(max(table[column])) - int(min(table[column]))
