"""The part of OpenFlow that a learning controller needs, in versions 1.0 and 1.3.

A message is `version u8 | type u8 | length u16 | transaction id u32 | body`, in network byte order.
The types below have the same numbers in both versions, but different bodies:

    PACKET_IN    1.0: the port is a separate field         1.3: it is one of the fields of a match
    FLOW_MOD     1.0: a match of 40 bytes with wildcards,  1.3: a match as a list of fields, and
                      and actions                               instructions that hold actions
    ports        1.0: 16 bits                              1.3: 32 bits

In 1.0 a packet that no flow matches is sent to the controller; in 1.3 it is dropped unless a flow of
priority 0 sends it there (ONF TS-001, TS-006).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

VERSION_1_0, VERSION_1_3 = 0x01, 0x04
VERSIONS = (VERSION_1_0, VERSION_1_3)

HEADER = struct.Struct("!BBHI")
NO_BUFFER = 0xFFFFFFFF
TO_CONTROLLER_WHOLE = 0xFFFF

# Reserved ports in 16 bits, as in 1.0.
FLOOD, CONTROLLER, ANY_PORT = 0xFFFB, 0xFFFD, 0xFFFF
RESERVED_1_3 = 0xFFFF0000  # the upper 16 bits of the same ports in 1.3
SEND_FLOW_REMOVED = 1

ADD, DELETE = 0, 3
IN_PORT, ETHERNET_DESTINATION, ETHERNET_SOURCE = 0, 3, 4  # fields of a 1.3 match
BASIC_FIELDS = 0x8000
APPLY_ACTIONS = 4
HELLO_VERSIONS = 1

# Wildcards of a 1.0 match: all 22 bits, and those of port and addresses.
WILDCARD_ALL, WILDCARD_PORT, WILDCARD_SOURCE, WILDCARD_DESTINATION = (1 << 22) - 1, 1, 4, 8

PORT_DELETED = 1
PORT_IS_DOWN = 1  # in its configuration (OFPPC_PORT_DOWN) and in its state (OFPPS_LINK_DOWN)


class Type(IntEnum):
    """The type of a message."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14


class Message(NamedTuple):
    """A message; `number` is its transaction id."""

    version: int
    type: int
    number: int
    body: bytes

    def encode(self) -> bytes:
        length = HEADER.size + len(self.body)
        return HEADER.pack(self.version, self.type, length, self.number) + self.body


class PacketIn(NamedTuple):
    """A packet that a switch sends to the controller."""

    buffer: int
    port: int
    data: bytes


class PortStatus(NamedTuple):
    """A change of a switch's port."""

    port: int
    is_gone: bool


class Match(NamedTuple):
    """The packets that a flow applies to; None matches any value."""

    port: int | None = None
    source: bytes | None = None
    destination: bytes | None = None


EVERYTHING = Match()


class MessageReader:
    """Splits a stream of bytes into messages."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes, in pieces of any size, and yield the complete messages.

        Raises ValueError if these are not messages.
        """
        self._bytes += data
        while len(self._bytes) >= HEADER.size:
            version, kind, length, number = HEADER.unpack_from(self._bytes)
            if length < HEADER.size:
                raise ValueError(f"a message of only {length} bytes")
            if len(self._bytes) < length:
                return
            body = bytes(self._bytes[HEADER.size : length])
            del self._bytes[:length]
            yield Message(version, kind, number, body)


# -- versions ---------------------------------------------------------------------------------------


def hello() -> bytes:
    """Return our first message, with all our versions in a bitmap (OpenFlow 1.3.1, section 6.3.1)."""
    bitmap = sum(1 << version for version in VERSIONS)
    element = struct.pack("!HHI", HELLO_VERSIONS, 8, bitmap)
    return Message(max(VERSIONS), Type.HELLO, 0, element).encode()


def agreed_version(hello: Message) -> int | None:
    """Return the newest version that both sides support, or None if there is none."""
    versions = _versions_of(hello.body)
    if versions is None:  # an older peer supports all versions up to that of its header
        versions = {version for version in VERSIONS if version <= hello.version}
    return max(versions & set(VERSIONS), default=None)


def _versions_of(body: bytes) -> set[int] | None:
    position = 0
    while position + 8 <= len(body):
        kind, length = struct.unpack_from("!HH", body, position)
        if kind == HELLO_VERSIONS:
            (bitmap,) = struct.unpack_from("!I", body, position + 4)
            return {version for version in range(32) if bitmap >> version & 1}
        position += max(8, (length + 7) & ~7)
    return None


def refusal() -> bytes:
    """Return the error HELLO_FAILED, INCOMPATIBLE."""
    return Message(max(VERSIONS), Type.ERROR, 0, struct.pack("!HH", 0, 0)).encode()


# -- from the switch --------------------------------------------------------------------------------


def datapath_of(features: Message) -> int:
    """Return the datapath ID in a FEATURES_REPLY."""
    return int(struct.unpack_from("!Q", features.body)[0])


def read_packet_in(message: Message) -> PacketIn:
    if message.version == VERSION_1_0:
        buffer, _, port, _ = struct.unpack_from("!IHHBx", message.body)
        return PacketIn(buffer, port, message.body[10:])
    (buffer,) = struct.unpack_from("!I", message.body)
    (length,) = struct.unpack_from("!H", message.body, 18)
    fields = message.body[20 : 16 + length]
    return PacketIn(buffer, _port_in(fields), message.body[16 + (length + 7 & ~7) + 2 :])


def _port_in(fields: bytes) -> int:
    position = 0
    while position + 4 <= len(fields):
        group, field, length = struct.unpack_from("!HBB", fields, position)
        if group == BASIC_FIELDS and field >> 1 == IN_PORT:
            return int(struct.unpack_from("!I", fields, position + 4)[0])
        position += 4 + length
    raise ValueError("a packet without a port")


def read_port_status(message: Message) -> PortStatus:
    reason = message.body[0]
    if message.version == VERSION_1_0:
        (port,) = struct.unpack_from("!H", message.body, 8)
        config, state = struct.unpack_from("!II", message.body, 32)
    else:
        (port,) = struct.unpack_from("!I", message.body, 8)
        config, state = struct.unpack_from("!II", message.body, 40)
    return PortStatus(port, reason == PORT_DELETED or bool((config | state) & PORT_IS_DOWN))


# -- to the switch ----------------------------------------------------------------------------------


def packet_out(version: int, packet: PacketIn, to: int) -> bytes:
    """Return the message that makes the switch send a packet, which it sent us, through port `to`."""
    data = b"" if packet.buffer != NO_BUFFER else packet.data
    action = _output(version, to)
    if version == VERSION_1_0:
        head = struct.pack("!IHH", packet.buffer, packet.port, len(action))
    else:
        head = struct.pack("!IIH6x", packet.buffer, packet.port, len(action))
    return Message(version, Type.PACKET_OUT, 0, head + action + data).encode()


def add_flow(
    version: int,
    match: Match,
    to: int,
    *,
    priority: int,
    idle_s: int = 0,
    buffer: int = NO_BUFFER,
    reports_removal: bool = False,
) -> bytes:
    """Return the message that makes the switch send matching packets through port `to`.

    The switch removes the flow after `idle_s` without packets (0: never). With `reports_removal` it
    sends FLOW_REMOVED when it removes the flow.
    """
    flags = SEND_FLOW_REMOVED if reports_removal else 0
    return _flow_mod(version, ADD, match, to, ANY_PORT, priority, idle_s, buffer, flags)


def priority_of_removed(message: Message) -> int:
    """Return the priority of the flow in a FLOW_REMOVED of version 1.3."""
    if len(message.body) < 10:
        raise ValueError("FLOW_REMOVED is too short")
    return int.from_bytes(message.body[8:10], "big")


def delete_flows(version: int, match: Match = EVERYTHING, through: int | None = None) -> bytes:
    """Return the message that deletes all matching flows, or only those with output port `through`."""
    out_port = ANY_PORT if through is None else through
    return _flow_mod(version, DELETE, match, None, out_port, 0, 0, NO_BUFFER)


def _flow_mod(
    version: int,
    command: int,
    match: Match,
    to: int | None,
    out_port: int,
    priority: int,
    idle_s: int,
    buffer: int,
    flags: int = 0,
) -> bytes:
    actions = b"" if to is None else _output(version, to)
    if version == VERSION_1_0:
        numbers = (0, command, idle_s, 0, priority, buffer, out_port, flags)
        body = _match_1_0(match) + struct.pack("!QHHHHIHH", *numbers) + actions
    else:
        any_table = 0xFF if command == DELETE else 0
        numbers = (0, 0, any_table, command, idle_s, 0, priority, buffer)
        body = struct.pack("!QQBBHHHI", *numbers)
        body += struct.pack("!IIH2x", _wide(out_port), _wide(ANY_PORT), flags) + _match_1_3(match)
        if to is not None:
            body += struct.pack("!HH4x", APPLY_ACTIONS, 8 + len(actions)) + actions
    return Message(version, Type.FLOW_MOD, 0, body).encode()


def _output(version: int, port: int) -> bytes:
    if version == VERSION_1_0:
        return struct.pack("!HHHH", 0, 8, port, TO_CONTROLLER_WHOLE)
    return struct.pack("!HHIH6x", 0, 16, _wide(port), TO_CONTROLLER_WHOLE)


def _wide(port: int) -> int:
    """Return a port number in 32 bits, as in 1.3."""
    return port | RESERVED_1_3 if 0xFF00 <= port <= 0xFFFF else port


def _match_1_0(match: Match) -> bytes:
    fields = (
        (match.port, WILDCARD_PORT),
        (match.source, WILDCARD_SOURCE),
        (match.destination, WILDCARD_DESTINATION),
    )
    wildcards = WILDCARD_ALL & ~sum(bit for value, bit in fields if value is not None)
    addresses = (match.source or bytes(6)) + (match.destination or bytes(6))
    return struct.pack("!IH", wildcards, match.port or 0) + addresses + bytes(22)


def _match_1_3(match: Match) -> bytes:
    fields = b""
    if match.port is not None:
        fields += _field(IN_PORT, struct.pack("!I", match.port))
    if match.destination is not None:
        fields += _field(ETHERNET_DESTINATION, match.destination)
    if match.source is not None:
        fields += _field(ETHERNET_SOURCE, match.source)
    length = 4 + len(fields)
    return struct.pack("!HH", 1, length) + fields + bytes(-length % 8)


def _field(field: int, value: bytes) -> bytes:
    return struct.pack("!HBB", BASIC_FIELDS, field << 1, len(value)) + value
