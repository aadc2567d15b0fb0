"""Makes an OpenFlow switch a learning switch: packets in, flows out.

The switch sends us each packet for which it has no flow. We learn from it at which port its source
address is. If the port of its destination is known, we add a flow for the two addresses, so that the
switch need not ask again; otherwise we flood the packet through all other ports. Each switch learns
independently.

A flow matches the port at which packets arrive. If an address moves to another port, the switch asks
again, and we delete the flows to the old port. Flows are also removed after a minute without packets,
and when their output port goes down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import openflow
from .openflow import Match, Message, MessageReader, Type

IDLE_S = 60
PRIORITY = 1
TABLE_MISS_PRIORITY = 0
# Addresses that bridges do not forward (IEEE 802.1D, 7.12.6): spanning tree, link discovery.
NOT_FORWARDED = bytes.fromhex("0180c20000")
ETHERNET_HEADER_BYTES = 14


class LearningSwitch:
    """The controller's side of the connection to one switch: bytes in, bytes out.

    `log` is called with each line for the log.
    """

    def __init__(self, log: Callable[[str], None] = lambda line: None) -> None:
        self.name = "a switch"
        self.ports: dict[bytes, int] = {}
        """The ports of known addresses."""
        self._log = log
        self._reader = MessageReader()
        self._version: int | None = None

    def hello(self) -> bytes:
        """Return our first message."""
        return openflow.hello()

    def receive(self, data: bytes) -> bytes:
        """Take bytes from the switch and return the reply.

        Raises ValueError if they are not OpenFlow, or are not a version that we support.
        """
        return b"".join(
            answer for message in self._reader.feed(data) for answer in self._answers(message)
        )

    def _answers(self, message: Message) -> Iterator[bytes]:
        if message.type == Type.HELLO:
            self._version = openflow.agreed_version(message)
            if self._version is None:
                raise ValueError("no common version of OpenFlow")
            yield self._empty_message(Type.FEATURES_REQUEST)
        elif message.type == Type.ECHO_REQUEST:
            yield Message(message.version, Type.ECHO_REPLY, message.number, message.body).encode()
        elif message.type == Type.FEATURES_REPLY:
            yield from self._on_features(message)
        elif message.type == Type.PACKET_IN:
            yield from self._on_packet(message)
        elif message.type == Type.FLOW_REMOVED:
            yield from self._on_flow_removed(message)
        elif message.type == Type.PORT_STATUS:
            yield from self._on_port_status(message)
        elif message.type == Type.ERROR:
            self._log(f"{self.name} refuses: {message.body[:4].hex()}")

    def _on_features(self, features: Message) -> Iterator[bytes]:
        self.name = f"switch {openflow.datapath_of(features):016x}"
        self._log(f"{self.name} connected, OpenFlow 1.{features.version - 1}")
        version = features.version
        yield openflow.delete_flows(version)  # left by an earlier controller
        if version != openflow.VERSION_1_0:
            yield self._add_table_miss_flow(version)

    def _add_table_miss_flow(self, version: int) -> bytes:
        """Make the switch send us unknown packets, for which 1.3 needs a flow."""
        return openflow.add_flow(
            version,
            openflow.EVERYTHING,
            openflow.CONTROLLER,
            priority=TABLE_MISS_PRIORITY,
            reports_removal=True,
        )

    def _on_flow_removed(self, message: Message) -> Iterator[bytes]:
        """Restore the table-miss flow if a user deletes all flows (`dpctl del-flows`)."""
        if openflow.priority_of_removed(message) == TABLE_MISS_PRIORITY:
            yield self._add_table_miss_flow(message.version)

    def _on_packet(self, message: Message) -> Iterator[bytes]:
        version, packet = message.version, openflow.read_packet_in(message)
        if len(packet.data) < ETHERNET_HEADER_BYTES:
            return
        destination, source = packet.data[:6], packet.data[6:12]
        if destination.startswith(NOT_FORWARDED):
            return
        if not _is_multicast(source):
            yield from self._learn(version, source, packet.port)
        port = None if _is_multicast(destination) else self.ports.get(destination)
        if port == packet.port:
            return  # the packet has already reached its destination
        if port is not None:
            match = Match(packet.port, source, destination)
            yield openflow.add_flow(version, match, port, priority=PRIORITY, idle_s=IDLE_S)
        yield openflow.packet_out(version, packet, openflow.FLOOD if port is None else port)

    def _learn(self, version: int, source: bytes, port: int) -> Iterator[bytes]:
        previous = self.ports.get(source)
        if previous == port:
            return
        self.ports[source] = port
        self._log(f"{self.name}: {source.hex(':')} is at port {port}")
        if previous is not None:
            yield openflow.delete_flows(version, Match(destination=source))

    def _on_port_status(self, message: Message) -> Iterator[bytes]:
        port, is_gone = openflow.read_port_status(message)
        if is_gone:
            self.ports = {
                address: known_port
                for address, known_port in self.ports.items()
                if known_port != port
            }
            self._log(f"{self.name}: port {port} is down")
            yield openflow.delete_flows(message.version, through=port)

    def _empty_message(self, kind: Type) -> bytes:
        assert self._version is not None
        return Message(self._version, kind, 0, b"").encode()


def _is_multicast(address: bytes) -> bool:
    return bool(address[0] & 1)
