"""Compare our rtnetlink messages with captured messages of `ip` (tests/golden/netlink)."""

import struct
from pathlib import Path
from typing import Any

import pytest

from wanlab.agent import links
from wanlab.agent.links import IFLA_ADDRESS, IFLA_IFNAME, IFLA_MASTER, IFLA_MTU

CAPTURES = Path(__file__).parents[1] / "golden" / "netlink" / "links.txt"
REQUEST_AND_ACK = 5
LINK_BYTES, ADDRESS_BYTES = 16, 8
# Paths of the attributes that hold attributes. The peer of a veth begins with a link header.
LINK_INFO, INFO_DATA, PEER = (18,), (18, 2), (18, 2, 1)
END_A = links.end_of_pair("a0", "00:00:00:00:00:01", 9000)
END_B = links.end_of_pair("b0", "02:00:00:03:00:01", 9000)


def captured(command: str) -> tuple[int, int, bytes]:
    """Return type, flags and body of the message that `ip` sent."""
    lines = CAPTURES.read_text().splitlines()
    start = lines.index(command) + 1
    data = b""
    for line in lines[start:]:
        if not line.startswith(" "):
            break
        data += bytes.fromhex(line)
    length, kind, flags = struct.unpack_from("=IHH", data)
    assert length == len(data)
    return kind, flags & ~REQUEST_AND_ACK, data[16:]


def index_of(body: bytes) -> int:
    """Return the index of the interface in a captured message."""
    (index,) = struct.unpack_from("=i", body, 4)
    return int(index)


def tree(data: bytes, place: tuple[int, ...] = ()) -> dict[int, Any]:
    """Return attributes by number, since their order has no meaning; names lose their NUL."""
    found: dict[int, Any] = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        value, here = data[4:length], (*place, kind)
        if here in (LINK_INFO, INFO_DATA):
            found[kind] = tree(value, here)
        elif here == PEER and len(value) > LINK_BYTES:
            found[kind] = (value[:LINK_BYTES], tree(value[LINK_BYTES:]))
        else:
            found[kind] = value.rstrip(b"\0") if kind == IFLA_IFNAME or here == (18, 1) else value
        data = data[(length + 3) & ~3 :]
    return found


def meaning(request: tuple[int, int, bytes]) -> tuple[int, int, bytes, dict[int, Any]]:
    kind, flags, body = request
    head = LINK_BYTES if kind == links.RTM_NEWLINK else ADDRESS_BYTES
    return kind, flags, body[:head], tree(body[head:])


@pytest.mark.parametrize(
    ("command", "request_"),
    [
        (
            "ip link add name s1 up type bridge stp_state 1 priority 4096",
            links.bridge("s1", True, 4096),
        ),
        (
            "ip link add name s2 up type bridge stp_state 0 forward_delay 0",
            links.bridge("s2", False, None),
        ),
        (
            "ip link add name a0 address 00:00:00:00:00:01 mtu 9000 up type veth "
            "peer name b0 address 02:00:00:03:00:01 mtu 9000",
            links.veth(END_A, END_B),
        ),
    ],
)
def test_a_new_link_is_encoded_as_ip_encodes_it(
    command: str, request_: tuple[int, int, bytes]
) -> None:
    assert meaning(request_) == meaning(captured(command))


@pytest.mark.parametrize(("word", "up"), [("up", True), ("down", False)])
def test_a_state_is_set_as_ip_sets_it(word: str, up: bool) -> None:
    said = captured(f"ip link set a0 {word}")
    assert links.change_link(index_of(said[2]), up=up) == said


def test_an_end_joins_its_bridge_as_ip_does_it() -> None:
    said = captured("ip link set b0 master s1 up")
    bridge = meaning(said)[3][IFLA_MASTER]
    ours = links.change_link(index_of(said[2]), True, links.attribute(IFLA_MASTER, bridge))
    assert ours == said


@pytest.mark.parametrize(
    ("command", "address"),
    [
        ("ip addr add 10.0.0.1/8 brd + dev a0", "10.0.0.1/8"),
        ("ip addr add 10.1.0.1/32 dev a0", "10.1.0.1/32"),
        ("ip addr add 10.1.0.1/32 dev a0", "10.1.0.1"),
        ("ip addr add 2001:db8::1/64 dev a0 nodad", "2001:db8::1/64"),
    ],
)
def test_an_address_is_added_as_ip_adds_it(command: str, address: str) -> None:
    said = captured(command)
    assert meaning(links.new_address(index_of(said[2]), address)) == meaning(said)


def test_an_end_has_only_the_attributes_that_it_was_given() -> None:
    assert tree(links.end_of_pair("h1-eth0", None, None)) == {IFLA_IFNAME: b"h1-eth0"}
    assert tree(END_A) == {
        IFLA_IFNAME: b"a0",
        IFLA_ADDRESS: bytes.fromhex("000000000001"),
        IFLA_MTU: struct.pack("=I", 9000),
    }
    four = struct.pack("=I", 4)
    assert tree(links.end_of_pair("a0", None, None, 4)) == {
        IFLA_IFNAME: b"a0",
        links.IFLA_NUM_TX_QUEUES: four,
        links.IFLA_NUM_RX_QUEUES: four,
    }


@pytest.mark.parametrize("size", range(9))
def test_an_attribute_is_padded_to_four_bytes_that_its_length_does_not_count(size: int) -> None:
    made = links.attribute(7, b"x" * size)
    assert made[:4] == struct.pack("=HH", 4 + size, 7)
    assert made[4:] == (b"x" * size).ljust((size + 3) // 4 * 4, b"\0")
