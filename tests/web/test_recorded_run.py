"""The run that the empty canvas shows: made here from a real run.

pytest tests/web/test_recorded_run.py --accept      writes it to ui/src/welcome/recording.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import wanlab
from wanlab import Network
from wanlab.topology.model import Topology
from wanlab.web.packets.packet_flights import PacketFlights
from wanlab.web.protocol.messages import LivePort, TracedPacket

RECORDING = Path(__file__).resolve().parents[2] / "ui" / "src" / "welcome" / "recording.json"
NETWORK = """\
nodes:
  - {host: h1, x: 0, y: 0}
  - {host: h2, x: 0, y: 160}
  - {switch: s1, x: 180, y: 80}
  - {switch: s2, x: 480, y: 80}
  - {host: h3, x: 660, y: 0}
  - {host: h4, x: 660, y: 160}
links:
  - {link: [h1, s1], delay: 5ms}
  - {link: [h2, s1], delay: 5ms}
  - {link: [s1, s2], rate: 1Mbps, delay: 40ms, queue: {kind: fifo, limit: 20KB}}
  - {link: [s2, h3], delay: 5ms}
  - {link: [s2, h4], delay: 5ms}
"""
COMMANDS = (
    ("h3", "iperf3 -s"),
    ("h4", "iperf3 -s"),
    ("h1", "sleep 0.1; iperf3 -c h3 -t 10"),
    ("h2", "sleep 0.1; iperf3 -c h4 -t 10"),
)
FLOWS = ("10.0.0.1", "10.0.0.2")
"""The senders of the flows that have a colour."""
BEGIN_NS, END_NS = 600_000_000, 2_200_000_000
"""The flows fill the queue, which then drops."""
STEP_NS = 100_000_000
UNIT_NS = 100_000

pytestmark = pytest.mark.machine


def packets_of(topology: Topology) -> list[TracedPacket]:
    """Run the commands; return the packets on the links until the end of the recording."""
    packets: dict[int, TracedPacket] = {}
    with Network(topology, seed=1) as network:
        flights = PacketFlights(network, list(ports_of(network.topology)))
        for node, command in COMMANDS:
            network[node].start(command)
        while network.now_ns < END_NS:
            network.run_for(STEP_NS)
            if (moved := flights.collect()) is not None:
                assert moved.left_out == 0
                packets |= {packet.number: packet for packet in moved.packets}
        flights.end()
    return list(packets.values())


def ports_of(topology: Topology) -> Iterator[LivePort]:
    for number, link in enumerate(topology.links):
        yield LivePort(link=str(number), end="a", node=link.a.node, name=str(link.a.name))
        yield LivePort(link=str(number), end="b", node=link.b.node, name=str(link.b.name))


def as_row(packet: TracedPacket) -> list[int]:
    """Return what the page needs of a packet: its times are in units from the beginning, or -1."""
    flow = [
        any(word.startswith(f"{address}:") for word in packet.flow.split()) for address in FLOWS
    ]
    times = (packet.queued_ns, packet.sent_ns, packet.received_ns, packet.dropped_ns)
    return [
        int(packet.link),
        int(packet.end == "b"),
        flow.index(True) if any(flow) else -1,
        int(packet.is_data),
        *(-1 if time is None else max(0, (time - BEGIN_NS) // UNIT_NS) for time in times),
    ]


def recorded(topology: Topology) -> str:
    """Return the text of the recording: a row for each packet that is on a link meanwhile."""
    packets = [
        packet
        for packet in packets_of(topology)
        if packet.queued_ns < END_NS
        and not any(
            end is not None and end < BEGIN_NS for end in (packet.received_ns, packet.dropped_ns)
        )
    ]
    names = [node.name for node in topology.nodes]
    head = {
        "network": NETWORK,
        "commands": COMMANDS,
        "nodes": [
            [node.name, type(node).__name__.lower(), node.x, node.y] for node in topology.nodes
        ],
        "links": [
            [
                names.index(link.a.node),
                names.index(link.b.node),
                link.a.conditions.delay_ns // UNIT_NS,
            ]
            for link in topology.links
        ],
        "unit_ns": UNIT_NS,
        "length": (END_NS - BEGIN_NS) // UNIT_NS,
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = ",\n  ".join(json.dumps(as_row(packet), separators=(",", ":")) for packet in packets)
    return "{\n" + "\n".join(lines) + f'\n "packets": [\n  {rows}\n ]\n}}\n'


def test_the_recording_is_what_a_run_gives(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "two flows.yaml").write_text(NETWORK, encoding="utf-8")
    text = recorded(wanlab.load(tmp_path / "two flows.yaml"))
    if request.config.getoption("--accept"):
        RECORDING.write_text(text, encoding="utf-8")
    # `is`: a difference of many lines would be explained for minutes.
    is_same = RECORDING.read_text(encoding="utf-8") == text
    assert is_same, "another run: look at it in the page, and run this with --accept"
    rows = json.loads(text)["packets"]
    assert any(dropped >= 0 for *_, dropped in rows), "the queue drops"
    assert {flow for _, _, flow, *_ in rows} >= {0, 1}
