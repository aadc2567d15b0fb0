"""Parse the output of `wanlab-traffic ... --json`.

server = net["h2"].run("wanlab-traffic serve -D")
output = net["h1"].run("wanlab-traffic poisson h2 --load 50Mbps --time 10s --json").output
traffic.parse(output).table()          each flow: when it began, how long it took, how much it carried
"""

import msgspec

from wanlab.errors import WanlabError
from wanlab.record import Table


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """One transfer, or one request and its response; times count from the start of the traffic."""

    number: int
    """The number of the flow; with requests, of the user who sends them."""
    start_ns: int
    end_ns: int
    """When the last byte arrived."""
    bytes: int
    goodput_bps: float
    error: str | None

    @property
    def completion_ns(self) -> int:
        """The flow completion time."""
        return self.end_ns - self.start_ns


class FlowResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of connections: of `bulk`, `onoff`, `poisson` or `request`."""

    host: str
    seed: int
    congestion: str | None
    seconds: float
    bytes: int
    goodput_bps: float
    flows: tuple[Flow, ...]

    @property
    def failed(self) -> tuple[Flow, ...]:
        return tuple(flow for flow in self.flows if flow.error is not None)

    def table(self, *, start_ns: int = 0) -> Table:
        """Return the flows that completed, in the order they began; the traffic began at `start_ns`.

        Columns: time_ns, number, bytes, completion_ns, goodput_bps.
        """
        flows = [flow for flow in self.flows if flow.error is None]
        return Table.of(
            {
                "time_ns": [start_ns + flow.start_ns for flow in flows],
                "number": [flow.number for flow in flows],
                "bytes": [flow.bytes for flow in flows],
                "completion_ns": [flow.completion_ns for flow in flows],
                "goodput_bps": [flow.goodput_bps for flow in flows],
            }
        )


class Datagrams(msgspec.Struct, frozen=True, kw_only=True):
    """The results of `udp` or `replay`. Delays and jitter are 0 if none arrived."""

    host: str
    seed: int
    sent: int
    datagrams: int
    """Datagrams that arrived, each counted once."""
    lost: int
    duplicates: int
    late: int
    """Datagrams that arrived after one with a higher number."""
    bytes: int
    size_bytes: int
    interval_ns: float
    """The size of the datagrams and the time between them; with `replay`, the means."""
    first_ns: float
    last_ns: float
    least_delay_ns: float
    mean_delay_ns: float
    greatest_delay_ns: float
    jitter_ns: float

    @property
    def loss_fraction(self) -> float:
        return self.lost / self.sent


class _Kind(msgspec.Struct):
    kind: str


def parse(text: str | bytes) -> FlowResults | Datagrams:
    """Parse the whole output of one run."""
    try:
        kind = msgspec.json.decode(text, type=_Kind).kind
        if kind in ("udp", "replay"):
            return msgspec.json.decode(text, type=Datagrams)
        return msgspec.json.decode(text, type=FlowResults)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WanlabError(
            f"cannot parse the output of wanlab-traffic: {error}",
            "it must be one whole JSON document; was it called with --json?",
        ) from error
