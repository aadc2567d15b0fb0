"""Test the learning controller's logic for one switch, without a network."""

import pytest

from wanlab.controller import openflow
from wanlab.controller.learning import IDLE_S, PRIORITY, LearningSwitch
from wanlab.controller.openflow import Match, Message, PacketIn, Type

V10, V13 = openflow.VERSIONS
A, B = bytes.fromhex("00000000000a"), bytes.fromhex("00000000000b")
EVERYBODY = bytes([255] * 6)


def packet_in(port: int, source: bytes, destination: bytes) -> Message:
    data = destination + source + bytes(50)
    head = openflow.NO_BUFFER.to_bytes(4, "big") + len(data).to_bytes(2, "big")
    return Message(V10, Type.PACKET_IN, 0, head + port.to_bytes(2, "big") + bytes(2) + data)


def sent_on(message: Message, to: int) -> bytes:
    return openflow.packet_out(V10, openflow.read_packet_in(message), to)


def deliver(switch: LearningSwitch, *messages: Message) -> bytes:
    return switch.receive(b"".join(message.encode() for message in messages))


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def switch(log: list[str]) -> LearningSwitch:
    switch = LearningSwitch(log.append)
    features = Message(V10, Type.FEATURES_REPLY, 1, (0xA1).to_bytes(8, "big") + bytes(16))
    deliver(switch, Message(V10, Type.HELLO, 1, b""), features)
    return switch


@pytest.mark.parametrize(("version", "flows"), [(V10, 1), (V13, 2)])
def test_old_flows_are_deleted_when_a_switch_connects(version: int, flows: int) -> None:
    switch = LearningSwitch()
    assert switch.hello() == openflow.hello()
    asked = deliver(switch, Message(version, Type.HELLO, 1, b""))
    assert asked == Message(version, Type.FEATURES_REQUEST, 0, b"").encode()
    answer = deliver(switch, Message(version, Type.FEATURES_REPLY, 1, bytes(24)))
    replies = list(openflow.MessageReader().feed(answer))
    assert [message.type for message in replies] == [Type.FLOW_MOD] * flows
    assert replies[0].encode() == openflow.delete_flows(version)


def test_the_table_miss_flow_of_version_1_3_is_restored_if_it_is_deleted() -> None:
    switch = LearningSwitch()
    deliver(switch, Message(V13, Type.HELLO, 1, b""))
    replies = deliver(switch, Message(V13, Type.FEATURES_REPLY, 1, bytes(24)))
    _, question = openflow.MessageReader().feed(replies)
    of_others = Message(V13, Type.FLOW_REMOVED, 0, bytes(8) + b"\0\1" + bytes(38))
    assert deliver(switch, of_others) == b""
    of_ours = Message(V13, Type.FLOW_REMOVED, 0, bytes(48))
    assert deliver(switch, of_ours) == question.encode()


def test_a_packet_to_an_unknown_address_leaves_through_every_other_port(
    switch: LearningSwitch,
) -> None:
    question = packet_in(1, A, B)
    assert deliver(switch, question) == sent_on(question, openflow.FLOOD)


def test_a_reply_adds_a_flow_in_the_other_direction(switch: LearningSwitch, log: list[str]) -> None:
    deliver(switch, packet_in(1, A, EVERYBODY))
    answer = packet_in(2, B, A)
    flow = openflow.add_flow(V10, Match(2, B, A), 1, priority=PRIORITY, idle_s=IDLE_S)
    assert deliver(switch, answer) == flow + sent_on(answer, 1)
    assert log == [
        "switch 00000000000000a1 connected, OpenFlow 1.0",
        "switch 00000000000000a1: 00:00:00:00:00:0a is at port 1",
        "switch 00000000000000a1: 00:00:00:00:00:0b is at port 2",
    ]


def test_flows_to_an_address_that_moves_are_deleted(switch: LearningSwitch) -> None:
    deliver(switch, packet_in(1, A, EVERYBODY))
    again = packet_in(3, A, EVERYBODY)
    expected = openflow.delete_flows(V10, Match(destination=A)) + sent_on(again, openflow.FLOOD)
    assert deliver(switch, again) == expected
    assert switch.ports == {A: 3}


def test_addresses_behind_a_port_that_goes_down_are_forgotten(switch: LearningSwitch) -> None:
    deliver(switch, packet_in(1, A, EVERYBODY), packet_in(2, B, EVERYBODY))
    down = Message(V10, Type.PORT_STATUS, 0, b"\2" + bytes(7) + b"\0\1" + bytes(26) + b"\0\0\0\1")
    assert deliver(switch, down) == openflow.delete_flows(V10, through=1)
    assert switch.ports == {B: 2}


def test_a_packet_is_not_sent_back_to_its_own_port(switch: LearningSwitch) -> None:
    deliver(switch, packet_in(1, A, EVERYBODY), packet_in(1, B, EVERYBODY))
    assert deliver(switch, packet_in(1, A, B)) == b""


def test_link_local_frames_of_bridges_are_not_forwarded(switch: LearningSwitch) -> None:
    assert deliver(switch, packet_in(1, A, bytes.fromhex("0180c200000e"))) == b""


def test_an_echo_request_is_answered(switch: LearningSwitch) -> None:
    asked = Message(V10, Type.ECHO_REQUEST, 9, b"hello")
    assert deliver(switch, asked) == asked._replace(type=Type.ECHO_REPLY).encode()


def test_an_error_message_of_a_switch_is_logged(switch: LearningSwitch, log: list[str]) -> None:
    assert deliver(switch, Message(V10, Type.ERROR, 0, b"\0\1\0\2more")) == b""
    assert log[-1] == "switch 00000000000000a1 refuses: 00010002"


def test_a_peer_with_no_common_version_is_refused() -> None:
    bitmap = bytes.fromhex("0001000800000040")
    with pytest.raises(ValueError, match="no common version"):
        deliver(LearningSwitch(), Message(6, Type.HELLO, 0, bitmap))


def test_each_switch_learns_for_itself() -> None:
    one, other = LearningSwitch(), LearningSwitch()
    deliver(one, packet_in(1, A, EVERYBODY))
    assert (one.ports, other.ports) == ({A: 1}, {})
    assert PacketIn(0, 1, b"") == openflow.read_packet_in(
        Message(V10, Type.PACKET_IN, 0, bytes.fromhex("00000000 0000 0001 0000"))
    )
