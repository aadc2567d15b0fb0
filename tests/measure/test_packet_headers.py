"""Test which packets are kept for the canvas, and when they passed, without a machine."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wanlab import Network
from wanlab.measure import packet_headers
from wanlab.measure.packet_headers import PacketHeaders, PassedPacket
from wanlab.measure.readings import Beginning, Reading

SECOND = 10**9
BOOT_S = 1_000


class Ports:
    """Stands in for a network: ports of switches are in the root namespace, others in their node's."""

    def port(self, name: str) -> Any:
        return SimpleNamespace(name=name)

    def namespace_of(self, port: Any) -> str:
        node = str(port.name).partition("-")[0]
        return "" if node.startswith("s") else node

    def read(self, sources: Any) -> list[bytes]:
        assert list(sources) == [["file", "", "/proc/stat"]]
        return [f"cpu 1 2 3\nbtime {BOOT_S}\nprocesses 5\n".encode()]


def prepared(monkeypatch: pytest.MonkeyPatch, *links: tuple[str, str]) -> PacketHeaders:
    """Return a sampler of these links whose interfaces are numbered from 1 in each namespace."""
    ports = Ports()

    def numbers(network: object, names: list[str]) -> dict[str, dict[int, str]]:
        devices: dict[str, dict[int, str]] = {}
        for name in names:
            of_node = devices.setdefault(ports.namespace_of(ports.port(name)), {})
            of_node[len(of_node) + 1] = name
        return devices

    monkeypatch.setattr(packet_headers, "interface_numbers", numbers)
    headers = PacketHeaders(links)
    headers.prepare(cast(Network, ports))
    return headers


def ring_packet(number: int, time_ns: int, data: bytes, kind: int, *, follows: bool) -> bytes:
    """Encode a packet as in the kernel's ring (struct tpacket3_hdr, struct sockaddr_ll)."""
    begin = 82
    size = (begin + len(data) + 7) & ~7
    header = struct.pack(
        "=IIIIIIHH",
        size if follows else 0,
        time_ns // SECOND,
        time_ns % SECOND,
        len(data),
        1500,
        1,
        begin,
        begin + 14,
    ).ljust(48, b"\0")
    address = struct.pack("=HHiHBB8s", 17, 8, number, 1, kind, 6, bytes(8))
    return (header + address).ljust(begin, b"\0") + data.ljust(size - begin, b"\0")


def test_one_end_of_each_link_is_captured_in_as_few_namespaces_as_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers = prepared(
        monkeypatch, ("h1-eth0", "s1-eth1"), ("s1-eth2", "h2-eth0"), ("h3-eth0", "h4-eth0")
    )
    nodes = [stream["node"] for stream in headers.streams()]
    assert nodes == ["", "h3"]
    assert headers.sources() == []
    assert headers.streams()[0] == {
        "what": "packets",
        "node": "",
        "interface": "",
        "snaplen": 128,
        "ring_bytes": 4 << 20,
        "program": [],
        "max_bytes": 1 << 40,
    }


def test_of_many_namespaces_those_with_the_most_ends_are_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packet_headers, "MAX_NAMESPACES", 1)
    headers = prepared(monkeypatch, ("h1-eth0", "s1-eth1"), ("h2-eth0", "s1-eth2"))
    assert [stream["node"] for stream in headers.streams()] == [""]


def test_packets_have_the_time_of_the_tables_their_port_and_their_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers = prepared(monkeypatch, ("h1-eth0", "s1-eth1"), ("h2-eth0", "s1-eth2"))
    headers.began(Beginning(time_ns=5 * SECOND, clock_ns=2 * SECOND, streams=[]))
    at_ns = (BOOT_S + 7) * SECOND + 123
    data = b"".join(
        (
            ring_packet(1, at_ns, b"a" * 61, 4, follows=True),
            ring_packet(2, at_ns, b"b" * 60, 0, follows=False),  # the last of its block
            ring_packet(9, at_ns, b"of another port", 0, follows=False),
            ring_packet(1, at_ns, b"d" * 64, 3, follows=False),
        )
    )
    headers.take(Reading(0, 0, data))
    time_ns = 10 * SECOND + 123
    assert headers.drain() == [
        PassedPacket(time_ns, "s1-eth1", True, 1500, b"a" * 61),
        PassedPacket(time_ns, "s1-eth2", False, 1500, b"b" * 60),
        PassedPacket(time_ns, "s1-eth1", False, 1500, b"d" * 64),
    ]
    assert headers.drain() == []
    assert (headers.ended([3]), headers.tables()) == ([], {})


def test_a_reading_belongs_to_the_namespace_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = prepared(
        monkeypatch, ("h1-eth0", "s1-eth1"), ("h2-eth0", "s1-eth2"), ("h3-eth0", "h4-eth0")
    )
    headers.take(Reading(0, 1, ring_packet(1, BOOT_S * SECOND, b"x", 4, follows=False)))
    assert [packet.port for packet in headers.drain()] == ["h3-eth0"]


def test_more_packets_than_are_kept_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_headers, "MAX_KEPT", 2)
    headers = prepared(monkeypatch, ("h1-eth0", "s1-eth1"), ("h2-eth0", "s1-eth2"))
    one = ring_packet(1, BOOT_S * SECOND, b"x", 4, follows=False)
    headers.take(Reading(0, 0, one * 5))
    assert len(headers.drain()) == 2
    headers.take(Reading(0, 0, one))
    assert len(headers.drain()) == 1
