"""A switch that learns where addresses are, as a controller does it: from packets to flows.

A packet that its switch knows no flow for comes here. Its source is where it came from; if we know
where its destination is, the switch is given a flow for the two addresses and need not ask again, and
otherwise the packet leaves through every other port. Each switch learns for itself.

Flows name the port that packets come in at. So an address that moves to another port is asked about
again, and the flows that lead to its old place are taken back. They go, too, when nobody has used them
for a minute, and when the port that they lead through goes down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import openflow
from .openflow import Match, Message, Reader, Type

IDLE_S = 60
PRIORITY = 1
TABLE_MISS_PRIORITY = 0
# Addresses that bridges keep to themselves (IEEE 802.1D, 7.12.6): spanning trees, link discovery.
KEPT_BY_BRIDGES = bytes.fromhex("0180c20000")
ETHERNET_HEADER_BYTES = 14


class Switch:
    """One connection: what the switch says goes in at `hear`, what it is told comes out.

    `note` takes a line for the log.
    """

    def __init__(self, note: Callable[[str], None] = lambda line: None) -> None:
        self.name = "a switch"
        self.ports: dict[bytes, int] = {}
        """Where addresses are."""
        self._note = note
        self._reader = Reader()
        self._version: int | None = None

    def greet(self) -> bytes:
        return openflow.hello()

    def hear(self, data: bytes) -> bytes:
        """ValueError if that is not OpenFlow, or none that we speak."""
        return b"".join(
            answer for message in self._reader.feed(data) for answer in self._answers(message)
        )

    def _answers(self, message: Message) -> Iterator[bytes]:
        if message.type == Type.HELLO:
            self._version = openflow.agreed_version(message)
            if self._version is None:
                raise ValueError("no version of OpenFlow that both speak")
            yield self._say(Type.FEATURES_REQUEST)
        elif message.type == Type.ECHO_REQUEST:
            yield Message(message.version, Type.ECHO_REPLY, message.number, message.body).encode()
        elif message.type == Type.FEATURES_REPLY:
            yield from self._begin(message)
        elif message.type == Type.PACKET_IN:
            yield from self._forward(message)
        elif message.type == Type.FLOW_REMOVED:
            yield from self._restore(message)
        elif message.type == Type.PORT_STATUS:
            yield from self._watch_port(message)
        elif message.type == Type.ERROR:
            self._note(f"{self.name} refuses: {message.body[:4].hex()}")

    def _begin(self, features: Message) -> Iterator[bytes]:
        self.name = f"switch {openflow.datapath_of(features):016x}"
        self._note(f"{self.name} connected, OpenFlow 1.{features.version - 1}")
        version = features.version
        yield openflow.delete_flows(version)  # of a time that we know nothing of
        if version != openflow.VERSION_1_0:
            yield self._ask_us(version)

    def _ask_us(self, version: int) -> bytes:
        """In 1.3 a switch asks about unknown packets only if a flow says so."""
        return openflow.add_flow(
            version,
            openflow.EVERYTHING,
            openflow.CONTROLLER,
            priority=TABLE_MISS_PRIORITY,
            is_missed=True,
        )

    def _restore(self, message: Message) -> Iterator[bytes]:
        """Who clears a switch by hand (`dpctl del-flows`) does not mean that it shall stop asking."""
        if openflow.priority_of_removed(message) == TABLE_MISS_PRIORITY:
            yield self._ask_us(message.version)

    def _forward(self, message: Message) -> Iterator[bytes]:
        version, packet = message.version, openflow.read_packet_in(message)
        if len(packet.data) < ETHERNET_HEADER_BYTES:
            return
        destination, source = packet.data[:6], packet.data[6:12]
        if destination.startswith(KEPT_BY_BRIDGES):
            return
        if not _is_of_a_group(source):
            yield from self._learn(version, source, packet.port)
        port = None if _is_of_a_group(destination) else self.ports.get(destination)
        if port == packet.port:
            return  # whom it is for has had it already
        if port is not None:
            match = Match(packet.port, source, destination)
            yield openflow.add_flow(version, match, port, priority=PRIORITY, idle_s=IDLE_S)
        yield openflow.packet_out(version, packet, openflow.FLOOD if port is None else port)

    def _learn(self, version: int, source: bytes, port: int) -> Iterator[bytes]:
        before = self.ports.get(source)
        if before == port:
            return
        self.ports[source] = port
        self._note(f"{self.name}: {source.hex(':')} is at port {port}")
        if before is not None:
            yield openflow.delete_flows(version, Match(destination=source))

    def _watch_port(self, message: Message) -> Iterator[bytes]:
        port, is_gone = openflow.read_port_status(message)
        if is_gone:
            self.ports = {address: at for address, at in self.ports.items() if at != port}
            self._note(f"{self.name}: port {port} is down")
            yield openflow.delete_flows(message.version, through=port)

    def _say(self, kind: Type) -> bytes:
        assert self._version is not None
        return Message(self._version, kind, 0, b"").encode()


def _is_of_a_group(address: bytes) -> bool:
    return bool(address[0] & 1)
