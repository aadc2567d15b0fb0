"""UDP packets at fixed instants, and the delay of each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wanlab import Host, Network, Process, Topology, link
from wanlab.plan import Wire

PROGRAM = Path(__file__).with_name("udp_program.py")
PORT = 5001
FRAME_HEADERS_BYTES = 14 + 20 + 8
MAX_PAYLOAD_BYTES = 1472
FULL_FRAME_BYTES = MAX_PAYLOAD_BYTES + FRAME_HEADERS_BYTES
DRAIN = "6s"


@dataclass(frozen=True)
class Arrivals:
    """A receiver's record of each packet, in the order of arrival."""

    numbers: npt.NDArray[np.int64]
    sent_ns: npt.NDArray[np.int64]
    received_ns: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def delays_ns(self) -> npt.NDArray[np.int64]:
        """The delay of each packet, in the order of sending."""
        order = np.argsort(self.numbers, kind="stable")
        return (self.received_ns - self.sent_ns)[order]


@contextmanager
def network(topology: Topology, *, wire: Wire = "mtu", **options: Any) -> Iterator[Network]:
    """Run a network in a temporary folder."""
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(topology, **{"wire": wire, "folder": folder, **options}) as net,
    ):
        yield net


def pair(there: Mapping[str, Any] | None = None, **ports: Any) -> Topology:
    """Return h1 and h2 with a link that has these conditions from h1 to h2."""
    conditions: Any = dict(there or {})
    return Topology(
        nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2", a_to_b=conditions, **ports),)
    )


def receiver(net: Network, node: str, port: int = PORT) -> Process:
    """Start a receiver and wait until it is ready."""
    process = net[node].start(
        ["python3", "-c", PROGRAM.read_text(), "receive", str(port), _file(port)]
    )
    net.run_until_condition(lambda: "ready" in process.output or not process.is_running)
    assert process.is_running, process.stderr
    return process


def sender(
    net: Network,
    node: str,
    address: str,
    *,
    count: int,
    interval_ns: int,
    payload_bytes: int = MAX_PAYLOAD_BYTES,
    port: int = PORT,
) -> Process:
    """Start a sender."""
    numbers = (port, payload_bytes, count, interval_ns)
    return net[node].start(
        ["python3", "-c", PROGRAM.read_text(), "send", address, *map(str, numbers)]
    )


def arrivals(net: Network, process: Process, port: int = PORT) -> Arrivals:
    """Stop a receiver; return its record."""
    process.stop()
    rows = np.fromfile(net.folder / _file(port), dtype="=i8").reshape(-1, 3)
    return Arrivals(rows[:, 0], rows[:, 1], rows[:, 2])


def acquaint(net: Network, here: str, there: str) -> str:
    """Add a static ARP entry, so that no request is lost on a bad path; return the IP address."""
    address = net[here].run(f"getent hosts {there}").output.split()[0]
    mac = net[there].run(f"cat /sys/class/net/{there}-eth0/address").output.strip()
    net[here].run(f"ip neigh replace {address} lladdr {mac} dev {here}-eth0 nud permanent")
    return address


def probe(
    net: Network, *, count: int, interval_ns: int, payload_bytes: int = MAX_PAYLOAD_BYTES
) -> Arrivals:
    """Send packets from h1 to h2; return the receiver's record."""
    address = acquaint(net, "h1", "h2")
    receiving = receiver(net, "h2")
    sending = sender(
        net, "h1", address, count=count, interval_ns=interval_ns, payload_bytes=payload_bytes
    )
    sending.finish()
    net.run_for(DRAIN)
    return arrivals(net, receiving)


def _file(port: int) -> str:
    return f"arrivals-{port}"
