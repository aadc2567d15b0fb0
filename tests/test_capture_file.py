"""Captures of every format, byte order, resolution and link type give the same packets."""

from __future__ import annotations

import struct

import pytest
from made_captures import COOKED, ETHERNET, LOOPBACK, RAW, A, B, pcap, pcapng

from wanlab.capture_file import address_text, has_both_directions, ip_packets, is_capture
from wanlab.errors import WanlabError

TIMES = [(0, 1500), (1_000, 40), (2_500_001_000, 600)]
C6, D6 = "2001:db8::1", "2001:db8::2"


def read(data: bytes) -> list[tuple[int, int]]:
    assert is_capture(data)
    return [(packet.time_ns, packet.length) for packet in ip_packets(data, "a.pcap")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("in_ns", [False, True])
@pytest.mark.parametrize("link_type", [ETHERNET, RAW, COOKED, LOOPBACK])
def test_sizes_and_times_are_read_from_pcap(order: str, in_ns: bool, link_type: int) -> None:
    assert read(pcap(TIMES, order=order, in_ns=in_ns, link_type=link_type)) == TIMES


def test_sizes_and_times_are_read_from_pcapng() -> None:
    assert read(pcapng([(0, 1500), (7, 40)])) == [(0, 1500), (7, 40)]


def test_times_in_ns_are_not_rounded() -> None:
    assert read(pcap([(0, 100), (1, 100)], in_ns=True)) == [(0, 100), (1, 100)]
    assert read(pcap([(0, 100), (1, 100)])) == [(0, 100), (0, 100)]


def test_vlan_tags_and_ipv6_are_no_obstacle() -> None:
    assert read(pcap(TIMES, tags=2)) == TIMES
    data = pcap([(0, 1280, C6, D6)])
    (packet,) = ip_packets(data, "a.pcap")
    assert (packet.length, address_text(packet.source)) == (1280, C6)


def test_a_length_of_zero_is_that_of_the_frame() -> None:
    """A super-packet that the kernel has not cut yet may say that it has no length."""
    data = bytearray(pcap([(0, 60_000)]))
    data[24 + 16 + 14 + 2 : 24 + 16 + 14 + 4] = bytes(2)
    assert read(bytes(data)) == [(0, 60_000)]


def test_packets_are_in_order_of_time() -> None:
    assert read(pcapng([(5, 100), (0, 200)])) == [(0, 200), (5, 100)]


def test_other_protocols_are_left_out() -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    packet = struct.pack("<IIII", 1_700_000_000, 0, len(arp), len(arp)) + arp
    data = pcap([])
    assert read(data + packet + pcap([(2000, 100)])[24:]) == [(2000, 100)]
    with pytest.raises(WanlabError, match=r"none of the 1 packets in a\.pcap is an IP packet"):
        read(data + packet)


@pytest.mark.parametrize("kept", [3, 10, 30, 60, 70])
def test_a_file_that_is_cut_off_says_where(kept: int) -> None:
    data = pcap([(0, 100), (1000, 100)])[: 24 + kept]
    packets = int(kept >= 50)  # a header of 16 bytes, and 34 of the frame
    with pytest.raises(WanlabError, match=rf"a\.pcap is cut off after packet {packets} "):
        read(data)


def test_every_piece_of_a_pcapng_file_is_read_or_cut_off() -> None:
    data = pcapng([(0, 100), (1000, 100)])
    whole = len(pcapng([(0, 100)]))
    for length in {*range(4, len(data))} - {whole}:
        with pytest.raises(
            WanlabError, match=r"a\.pcap (is cut off after packet [01] |has no pac)"
        ):
            read(data[:length])


@pytest.mark.parametrize("data", [pcap([]), pcapng([])])
def test_an_empty_capture_is_refused(data: bytes) -> None:
    with pytest.raises(WanlabError, match=r"a\.pcap has no packets .did the capture end before"):
        read(data)


@pytest.mark.parametrize(
    ("link_type", "words"), [(105, "802.11"), (127, "802.11 with radiotap"), (9, "link type 9")]
)
def test_other_links_are_named(link_type: int, words: str) -> None:
    with pytest.raises(WanlabError, match=rf"is a capture of {words}.*wanlab reads Ethernet"):
        read(pcap([(0, 100)], link_type=link_type))


def test_packets_of_several_interfaces_are_refused() -> None:
    with pytest.raises(WanlabError, match=r"several interfaces: h1-eth0, s1-eth1"):
        read(pcapng(TIMES, ports=("h1-eth0", "s1-eth1")))


def test_too_short_a_piece_of_a_packet_is_refused() -> None:
    data = bytearray(pcap([(0, 100)]))[: 24 + 16 + 30]
    data[24 + 8 : 24 + 12] = struct.pack("<I", 30)
    with pytest.raises(WanlabError, match=r"too few bytes of packet 1 were captured"):
        read(bytes(data))


def test_both_directions_are_noticed() -> None:
    one, both = [(0, 100, A, B)], [(0, 100, A, B), (1, 100, B, A)]
    assert not has_both_directions(ip_packets(pcap(one), ""))
    assert has_both_directions(ip_packets(pcap(both), ""))


@pytest.mark.parametrize("data", [b"", b"1\n2\n", b"at,rate\n", b"\x1f\x8b\x08\x00"])
def test_other_files_are_no_captures(data: bytes) -> None:
    assert not is_capture(data)
