"""Compare our messages with bytes written by hand from the standards ONF TS-001 and TS-006."""

import pytest

from wanlab.controller import openflow
from wanlab.controller.openflow import Match, Message, MessageReader, PacketIn, PortStatus, Type

V10, V13 = openflow.VERSIONS
HERE, THERE = bytes.fromhex("000000000001"), bytes.fromhex("000000000002")


def hexes(text: str) -> bytes:
    return bytes.fromhex(text)


def messages(data: bytes) -> list[Message]:
    return list(MessageReader().feed(data))


def test_messages_come_in_pieces_of_any_size() -> None:
    data = openflow.hello() + Message(V10, Type.ECHO_REQUEST, 7, b"abc").encode()
    reader = MessageReader()
    found = [message for byte in data for message in reader.feed(bytes([byte]))]
    assert found == messages(data)
    assert [message.type for message in found] == [Type.HELLO, Type.ECHO_REQUEST]


def test_a_message_shorter_than_its_header_is_refused() -> None:
    with pytest.raises(ValueError, match="4 bytes"):
        messages(hexes("0100 0004 00000000"))


def test_a_hello_names_both_versions() -> None:
    assert openflow.hello() == hexes("04 00 0010 00000000  0001 0008 00000012")


@pytest.mark.parametrize(
    ("hello", "version"),
    [
        ("01 00 0008 00000001", V10),
        ("04 00 0008 00000001", V13),
        ("06 00 0008 00000001", V13),
        ("04 00 0010 00000001  0001 0008 00000002", V10),
        ("06 00 0010 00000001  0001 0008 00000060", None),
        ("06 00 0018 00000001  00ff 0008 00000000  0001 0008 00000010", V13),
    ],
)
def test_the_newest_common_version_is_chosen(hello: str, version: int | None) -> None:
    (message,) = messages(hexes(hello))
    assert openflow.agreed_version(message) == version


def test_a_packet_in_of_version_1_0_has_its_port_in_a_field() -> None:
    body = hexes("ffffffff 0004 0007 00 00 01020304")
    packet = openflow.read_packet_in(Message(V10, Type.PACKET_IN, 0, body))
    assert packet == PacketIn(openflow.NO_BUFFER, 7, hexes("01020304"))


def test_a_packet_in_of_version_1_3_has_its_port_in_a_match() -> None:
    fields = hexes("80000606 000000000001 80000004 00000007")
    length = (4 + len(fields)).to_bytes(2, "big")
    match = hexes("0001") + length + fields
    match += bytes(-len(match) % 8)
    body = hexes("00000005 0004 00 00 0000000000000000") + match + bytes(2) + hexes("01020304")
    packet = openflow.read_packet_in(Message(V13, Type.PACKET_IN, 0, body))
    assert packet == PacketIn(5, 7, hexes("01020304"))


def test_a_packet_in_without_a_port_is_refused() -> None:
    body = hexes("ffffffff 0004 00 00 0000000000000000 0001 0004 00000000 0000 01020304")
    with pytest.raises(ValueError, match="without a port"):
        openflow.read_packet_in(Message(V13, Type.PACKET_IN, 0, body))


@pytest.mark.parametrize(
    ("reason", "config", "state", "is_gone"),
    [("00", 0, 0, False), ("01", 0, 0, True), ("02", 1, 0, True), ("02", 0, 1, True)],
)
def test_a_port_that_is_down_or_deleted_is_gone(
    reason: str, config: int, state: int, is_gone: bool
) -> None:
    states = config.to_bytes(4, "big") + state.to_bytes(4, "big")
    old = hexes(f"{reason} 00000000000000 0009") + bytes(22) + states
    new = hexes(f"{reason} 00000000000000 00000009") + bytes(28) + states
    for version, body in ((V10, old), (V13, new)):
        message = Message(version, Type.PORT_STATUS, 0, body)
        assert openflow.read_port_status(message) == PortStatus(9, is_gone)


MATCH = Match(7, HERE, THERE)


def test_a_flow_of_version_1_0_is_encoded() -> None:
    assert openflow.add_flow(V10, MATCH, 3, priority=1, idle_s=60) == hexes(
        "01 0e 0050 00000000"
        "003ffff2 0007 000000000001 000000000002 0000 00 00 0000 00 00 0000 00000000 00000000 0000 0000"
        "0000000000000000 0000 003c 0000 0001 ffffffff ffff 0000"
        "0000 0008 0003 ffff"
    )


def test_a_flow_of_version_1_3_is_encoded() -> None:
    assert openflow.add_flow(V13, MATCH, 3, priority=1, idle_s=60) == hexes(
        "04 0e 0068 00000000"
        "0000000000000000 0000000000000000 00 00 003c 0000 0001 ffffffff ffffffff ffffffff 0000 0000"
        "0001 0020 80000004 00000007 80000606 000000000002 80000806 000000000001"
        "0004 0018 00000000 0000 0010 00000003 ffff 000000000000"
    )


def test_in_version_1_3_a_table_miss_flow_sends_packets_to_the_controller() -> None:
    assert openflow.add_flow(V13, Match(), openflow.CONTROLLER, priority=0) == hexes(
        "04 0e 0050 00000000"
        "0000000000000000 0000000000000000 00 00 0000 0000 0000 ffffffff ffffffff ffffffff 0000 0000"
        "0001 0004 00000000"
        "0004 0018 00000000 0000 0010 fffffffd ffff 000000000000"
    )


def test_flows_through_a_port_are_deleted_in_all_tables() -> None:
    assert openflow.delete_flows(V13, through=9) == hexes(
        "04 0e 0038 00000000"
        "0000000000000000 0000000000000000 ff 03 0000 0000 0000 ffffffff 00000009 ffffffff 0000 0000"
        "0001 0004 00000000"
    )
    assert openflow.delete_flows(V10, through=9)[-24:] == hexes(
        "0000000000000000 0003 0000 0000 0000 ffffffff 0009 0000"
    )


def test_a_packet_is_sent_on_with_its_bytes_or_by_the_buffer_that_holds_it() -> None:
    whole = PacketIn(openflow.NO_BUFFER, 7, b"data")
    assert (
        openflow.packet_out(V10, whole, openflow.FLOOD)
        == hexes("01 0d 001c 00000000 ffffffff 0007 0008 0000 0008 fffb ffff") + b"data"
    )
    assert openflow.packet_out(V13, whole._replace(buffer=5), openflow.FLOOD) == hexes(
        "04 0d 0028 00000000 00000005 00000007 0010 000000000000"
        "0000 0010 fffffffb ffff 000000000000"
    )
