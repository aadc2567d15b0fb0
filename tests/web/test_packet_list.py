"""Test decoding and listing the packets of capture files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from web_client import Server

from wanlab.errors import WanlabError
from wanlab.measure.pcapng import INBOUND, OUTBOUND, PcapngFile
from wanlab.shared_folder import SharedFolder
from wanlab.web.packets.packet_decode import decode
from wanlab.web.packets.packet_list import (
    MAX_LISTED,
    list_packets,
    packet_details,
    time_sequence_page,
)
from wanlab.web.protocol.messages import PacketDetails, PacketPage

MACS = bytes.fromhex("0000000000020000000000010800")
ZERO_S = 1_767_225_610


def listed(path: Path, **options: Any) -> PacketPage:
    return list_packets(SharedFolder(path.parent), path.name, **options)


def details(path: Path, number: int) -> PacketDetails:
    return packet_details(SharedFolder(path.parent), path.name, number)


def ipv4(protocol: int, body: bytes, *, ttl: int = 64, fragment: int = 0) -> bytes:
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, fragment, ttl, protocol, 0)
    return MACS + header + addresses + body


def tcp(flags: int, payload: bytes = b"") -> bytes:
    return ipv4(6, struct.pack("!HHIIBBHHH", 40000, 5201, 7, 9, 0x50, flags, 512, 0, 0) + payload)


PING = ipv4(1, struct.pack("!BBHHH", 8, 0, 0, 25, 1) + bytes(56))
SYN, ACK, DATA = tcp(2), tcp(16), tcp(24, b"hello")
ARP = bytes.fromhex("ffffffffffff0000000000010806" + "0001080006040001") + bytes.fromhex(
    "000000000001" + "0a000001" + "000000000000" + "0a000002"
)
DNS = ipv4(
    17,
    struct.pack("!HHHH", 5353, 53, 37, 0)
    + bytes.fromhex("000101000001000000000000")
    + b"\x07example\x03org\x00\x00\x01\x00\x01",
)


@pytest.mark.parametrize(
    ("data", "protocol", "info"),
    [
        (PING, "ICMP", "echo request id=25 seq=1"),
        (SYN, "TCP", "40000 → 5201 [SYN] seq=7 win=512 len=0"),
        (DATA, "TCP", "40000 → 5201 [PSH, ACK] seq=7 ack=9 win=512 len=5"),
        (ARP, "ARP", "who has 10.0.0.2? tell 10.0.0.1"),
        (DNS, "DNS", "query A example.org"),
        (ipv4(1, PING[34:], ttl=1), "ICMP", "echo request id=25 seq=1 [TTL 1]"),
        (ipv4(17, bytes(8), fragment=185), "IPv4", "fragment at 1480 of UDP"),
        (PING[:20], "?", "98 bytes, of which too few were captured"),
    ],
)
def test_packets_are_decoded(data: bytes, protocol: str, info: str) -> None:
    decoded = decode(data, 98)
    assert (decoded.protocol, decoded.info) == (protocol, info)


def test_a_pure_acknowledgement_carries_no_data() -> None:
    assert [decode(data, 60).payload_bytes for data in (ACK, DATA)] == [0, 5]
    assert decode(ACK, 60).flow == "TCP 10.0.0.1:40000 10.0.0.2:5201"


def capture(path: Path, packets: list[bytes]) -> Path:
    with path.open("wb") as file:
        comment = f"captured on a network's virtual clock, which was 0 at {ZERO_S}.000000000 s"
        writer = PcapngFile(file, "wanlab", comment)
        writer.add_interface("h1-eth0", 96, "")
        start_ns = ZERO_S * 10**9
        writer.write(
            [
                (start_ns + 10**9 + n, 0, OUTBOUND if n % 2 else INBOUND, 98, data)
                for n, data in enumerate(packets)
            ]
        )
    return path


def test_packets_are_listed_with_the_networks_time(tmp_path: Path) -> None:
    path = capture(tmp_path / "one.pcapng", [PING, SYN, DATA])
    page = listed(path)
    assert [(it.number, it.time_ns, it.direction, it.port) for it in page.packets] == [
        (1, 10**9, "in", "h1-eth0"),
        (2, 10**9 + 1, "out", "h1-eth0"),
        (3, 10**9 + 2, "in", "h1-eth0"),
    ]
    assert [it.number for it in listed(path, words="tcp SYN").packets] == [2]
    flow = page.packets[1].flow
    assert [it.number for it in listed(path, flow=flow).packets] == [2, 3]
    assert bytes.fromhex(details(path, 1).data) == PING
    with pytest.raises(WanlabError, match="no packet 4"):
        details(path, 4)


def test_long_captures_are_listed_in_pages(tmp_path: Path) -> None:
    path = capture(tmp_path / "long.pcapng", [PING] * (MAX_LISTED + 5))
    first = listed(path)
    assert (len(first.packets), first.scanned, first.is_cut) == (MAX_LISTED, MAX_LISTED, True)
    assert first.total == MAX_LISTED + 5
    rest = listed(path, after=first.scanned)
    assert (len(rest.packets), rest.is_cut) == (5, False)
    assert rest.total == MAX_LISTED + 5


def test_incomplete_captures_are_listed_and_other_files_refused(tmp_path: Path) -> None:
    path = capture(tmp_path / "part.pcapng", [PING, SYN])
    path.write_bytes(path.read_bytes()[:-7])
    assert [it.number for it in listed(path).packets] == [1]
    path.write_bytes(b"")
    assert listed(path).packets == ()
    path.write_bytes(b"hello, world")
    with pytest.raises(WanlabError, match=r"part.pcapng is not a packet capture"):
        listed(path)


def test_damaged_blocks_of_a_capture_are_refused_or_read(tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + b"%b")
    zero = b"which was 0 at " + b"9" * 5000 + b".000000000 s"
    empty_resolution = block(1, bytes(8) + struct.pack("<HH", 9, 0))
    packet = block(6, struct.pack("<IIIII", 7, 2**32 - 1, 2**32 - 1, 2**32 - 1, 14) + MACS)
    path = tmp_path / "a.pcapng"
    path.write_bytes(section.replace(b"%b", b"") + block(0x0A0D0D0A, section[8:-4] + zero))
    assert listed(path).packets == ()
    path.write_bytes(section + empty_resolution + packet)
    assert listed(path).scanned == 1
    for length in range(0, 20, 4):
        path.write_bytes(section + empty_resolution + packet + block(6, bytes(length)))
        with pytest.raises(WanlabError, match=r"a.pcapng is damaged after packet 1"):
            listed(path)


def test_captures_of_tcpdump_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "old.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    packets = [struct.pack("<IIII", 5, n, len(SYN), len(SYN)) + SYN for n in (0, 3)]
    path.write_bytes(header + b"".join(packets))
    assert [it.time_ns for it in listed(path).packets] == [
        0,
        3000,
    ]


def test_the_list_reads_nothing_outside_the_folder(server: Server) -> None:
    capture(server.folder / "one.pcapng", [PING])
    capture(server.folder.parent / "other.pcapng", [PING])
    assert len(server.get("/api/packets/one.pcapng").json()["packets"]) == 1
    for path in ("../other.pcapng", "%2e%2e/other.pcapng", "none.pcapng"):
        assert server.raw(f"/api/packets/{path}") == 404
    assert server.get("/api/packets/one.pcapng?after=x").status_code == 400
    assert server.get("/api/packets/one.pcapng", cookie="").status_code == 403


def test_the_time_sequence_of_a_flow_is_on_the_networks_clock(tmp_path: Path) -> None:
    file = tmp_path / "one.pcapng"
    with file.open("wb") as opened:
        comment = f"captured on a network's virtual clock, which was 0 at {ZERO_S}.000000000 s"
        writer = PcapngFile(opened, "test", comment)
        writer.add_interface("h1-eth0", 128, "")
        writer.write([(ZERO_S * 10**9 + 5, 0, OUTBOUND, len(DATA), DATA)])
    folder = SharedFolder(tmp_path)
    flow = "10.0.0.1:40000 > 10.0.0.2:5201"
    page = time_sequence_page(folder, "one.pcapng")
    assert (page.flow, page.flows) == (flow, (flow,))
    assert (page.sent.times_ns, page.sent.starts, page.sent.ends) == ((5,), (0,), (5,))
    assert page.sent.kinds == ("new",)
    assert page.answers.acks == ()
    # A flow that the file does not have yet is empty; the list says which ones it has.
    other = time_sequence_page(folder, "one.pcapng", "1.1.1.1:1 > 2.2.2.2:2")
    assert (other.flow, other.flows, other.sent.ends) == ("1.1.1.1:1 > 2.2.2.2:2", (flow,), ())
