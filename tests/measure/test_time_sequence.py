"""Test the time sequence of TCP flows: hand-made packets, and a flow of a real network."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from wanlab import Capture, Network, Sampling, drops, shapes
from wanlab.capture_file import CapturedPacket, CaptureReader
from wanlab.errors import WanlabError
from wanlab.measure.time_sequence import MAX_SEGMENTS, TcpPackets, TcpSegment, TimeSequence

MACS = bytes(12)
CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
FLOW = "10.0.0.1:40000 > 10.0.0.2:5201"
SYN, ACK = 2, 16
MS = 1_000_000
MSS = 1448
START = 0xFFFF_FF00
"""A sequence number that soon begins again at 0."""
NO_OPTIONS, SCALE_7 = b"", b"\x03\x03\x07\x01"


class Wire:
    """Collects the packets of a connection in a capture."""

    def __init__(self) -> None:
        self.packets: list[CapturedPacket] = []

    def sends(
        self,
        at_ms: float,
        sequence: int,
        size: int = 0,
        *,
        port: str = "h1-eth0",
        direction: str = "out",
        flags: int = ACK,
        options: bytes = NO_OPTIONS,
    ) -> None:
        segment = tcp(40000, 5201, START + sequence, 1, flags, 512, options, size)
        self._add(at_ms, port, direction, CLIENT, SERVER, segment, size)

    def acknowledges(
        self,
        at_ms: float,
        ack: int,
        window: int = 100,
        *,
        sacks: tuple[tuple[int, int], ...] = (),
        flags: int = ACK,
        options: bytes = NO_OPTIONS,
    ) -> None:
        for left, right in sacks:
            edges = struct.pack("!II", (START + left) % 2**32, (START + right) % 2**32)
            options += b"\x01\x01\x05\x0a" + edges
        segment = tcp(5201, 40000, 0, START + ack, flags, window, options, 0)
        self._add(at_ms, "h1-eth0", "in", SERVER, CLIENT, segment, 0)

    def shakes_hands(self) -> None:
        self.sends(0, -1, flags=SYN, options=SCALE_7)
        self.acknowledges(10, 0, 64240, flags=SYN | ACK, options=SCALE_7)

    def _add(
        self,
        at_ms: float,
        port: str,
        direction: str,
        source: bytes,
        destination: bytes,
        segment: bytes,
        size: int,
    ) -> None:
        length = 20 + len(segment) + size
        header = struct.pack("!BBHHHBBH", 0x45, 0, length, 1, 0, 64, 6, 0)
        data = MACS + b"\x08\x00" + header + source + destination + segment
        self.packets.append(
            CapturedPacket(
                len(self.packets) + 1, round(at_ms * MS), port, direction, len(data) + size, data
            )
        )

    def sequence(self) -> TimeSequence:
        return TcpPackets(self.packets, "x.pcapng").sequence()


def tcp(
    source: int,
    destination: int,
    sequence: int,
    ack: int,
    flags: int,
    window: int,
    options: bytes,
    size: int,
) -> bytes:
    offset = (5 + len(options) // 4) << 4
    return (
        struct.pack(
            "!HHIIBBHHH",
            source,
            destination,
            sequence % 2**32,
            ack % 2**32,
            offset,
            flags,
            window,
            0,
            0,
        )
        + options
    )


def test_bytes_count_from_the_first_byte_of_data_also_past_the_end_of_32_bits() -> None:
    wire = Wire()
    wire.shakes_hands()
    wire.sends(20, 0, 1000)
    wire.sends(20.1, 1000, 1000)
    wire.acknowledges(30, 2000)
    found = wire.sequence()
    assert found.flow == FLOW
    assert found.segments == [
        TcpSegment(3, 20 * MS, 0, 1000, "new"),
        TcpSegment(4, 20_100_000, 1000, 2000, "new"),
    ]
    assert [(it.ack, it.window_end) for it in found.acknowledgements] == [
        (0, 64240),  # the window of a SYN is not scaled
        (2000, 2000 + (100 << 7)),
    ]


def test_without_the_handshake_the_window_is_unknown_and_bytes_count_from_the_first() -> None:
    wire = Wire()
    wire.acknowledges(1, 4000)
    wire.sends(2, 5000, 1000)
    wire.acknowledges(12, 6000)
    found = wire.sequence()
    assert [(it.start, it.end) for it in found.segments] == [(1000, 2000)]
    assert [(it.ack, it.window_end) for it in found.acknowledgements] == [(0, None), (2000, None)]


def test_the_scale_counts_only_if_both_ends_sent_it() -> None:
    wire = Wire()
    wire.sends(0, -1, flags=SYN)
    wire.acknowledges(10, 0, 64240, flags=SYN | ACK, options=SCALE_7)
    wire.sends(20, 0, 10)
    wire.acknowledges(30, 10)
    assert wire.sequence().acknowledgements[-1].window_end == 10 + 100


def test_what_was_sent_again_is_marked_and_so_are_duplicate_acknowledgements() -> None:
    wire = Wire()
    wire.shakes_hands()
    for row in range(4):
        wire.sends(20 + row, 1000 * row, 1000)
    wire.acknowledges(30, 1000)
    wire.acknowledges(32, 1000, sacks=((2000, 3000),))
    wire.acknowledges(33, 1000, sacks=((2000, 4000),))
    wire.sends(34, 1000, 1000)
    wire.sends(80, 1000, 1000)
    wire.acknowledges(90, 4000)
    found = wire.sequence()
    assert [it.kind for it in found.segments] == ["new"] * 4 + ["again"] * 2
    assert [it.fate for it in found.segments] == ["", "resent", "", "", "resent", ""]
    assert [it.number for it in found.lost()] == [4, 10]
    assert [it.is_duplicate for it in found.acknowledgements[1:]] == [False, True, True, False]
    assert [it.sacks for it in found.acknowledgements[2:4]] == [((2000, 3000),), ((2000, 4000),)]


def test_a_segment_that_was_lost_before_the_port_of_the_capture_is_late() -> None:
    wire = Wire()
    wire.sends(1, 0, 1000)
    wire.sends(2, 2000, 1000)
    wire.sends(40, 1000, 1000)
    found = wire.sequence()
    assert [it.kind for it in found.segments] == ["new", "new", "late"]
    assert [it.time_ns for it in found.lost()] == [40 * MS]


def test_a_part_of_a_large_segment_that_is_sent_again_marks_the_large_one() -> None:
    wire = Wire()
    wire.sends(1, 0, 20_000)
    wire.sends(2, 20_000, 20_000)
    wire.sends(9, 14_000, 1000)
    assert [it.fate for it in wire.sequence().segments] == ["resent", "", ""]


def test_a_capture_of_both_ends_shows_which_segment_was_lost() -> None:
    wire = Wire()
    for row in range(4):
        wire.sends(20 + row, 1000 * row, 1000)
        if row != 1:
            wire.sends(30 + row, 1000 * row, 1000, port="h2-eth0", direction="in")
    wire.sends(45, 1000, 1000)
    wire.sends(46, 4000, 1000)
    wire.sends(55, 1000, 1000, port="h2-eth0", direction="in")
    found = wire.sequence()
    # The last one was still on its way when the capture ended.
    fates = ["arrived", "lost", "arrived", "arrived", "arrived", ""]
    assert [it.fate for it in found.segments] == fates
    assert [it.start for it in found.lost()] == [1000]


def test_a_large_segment_of_which_a_packet_was_lost_is_shown_in_parts() -> None:
    wire = Wire()
    wire.sends(1, 0, 3000)
    wire.sends(2, 3000, 1000)
    wire.sends(11, 0, 1000, port="h2-eth0", direction="in")
    wire.sends(12, 2000, 2000, port="h2-eth0", direction="in")  # joined by GRO
    found = wire.sequence()
    assert [(it.start, it.end, it.fate) for it in found.segments] == [
        (0, 1000, "arrived"),
        (1000, 2000, "lost"),
        (2000, 3000, "arrived"),
        (3000, 4000, "arrived"),
    ]


def test_a_needless_retransmission_was_not_lost() -> None:
    wire = Wire()
    wire.sends(1, 0, 1000)
    wire.sends(2, 0, 1000)
    wire.sends(11, 0, 1000, port="h2-eth0", direction="in")
    wire.sends(12, 0, 1000, port="h2-eth0", direction="in")
    assert [it.fate for it in wire.sequence().segments] == ["arrived", "arrived"]


def test_the_flow_with_most_bytes_comes_first_and_another_one_can_be_chosen() -> None:
    wire = Wire()
    wire.sends(1, 0, 10)
    answer = tcp(5201, 40000, 0, START + 10, ACK, 100, NO_OPTIONS, 30)
    wire._add(2, "h1-eth0", "in", SERVER, CLIENT, answer, 30)
    packets = TcpPackets(wire.packets, "x.pcapng")
    back = "10.0.0.2:5201 > 10.0.0.1:40000"
    assert packets.flows() == [back, FLOW]
    assert packets.sequence().flow == back
    assert packets.sequence(FLOW).segments[0].end == 10
    with pytest.raises(WanlabError, match=r"x\.pcapng has no data of 1\.2\.3\.4:5 > 6\.7\.8\.9:10"):
        packets.sequence("1.2.3.4:5 > 6.7.8.9:10")


def test_a_direction_without_data_stands_for_the_other_one() -> None:
    wire = Wire()
    wire.sends(1, 0, 10)
    wire.acknowledges(2, 10)
    assert TcpPackets(wire.packets, "x").sequence("10.0.0.2:5201 > 10.0.0.1:40000").flow == FLOW


def test_a_capture_without_tcp_has_no_flow() -> None:
    with pytest.raises(WanlabError, match=r"x\.pcapng has no TCP flow that carries data"):
        TcpPackets([CapturedPacket(1, 0, "", "", 60, MACS + b"\x08\x06")], "x.pcapng").sequence()


def test_packets_that_were_cut_too_short_are_left_out() -> None:
    wire = Wire()
    wire.sends(1, 0, 10)
    wire.packets.append(wire.packets[0]._replace(number=2, data=wire.packets[0].data[:40]))
    assert [it.number for it in wire.sequence().segments] == [1]


def test_a_long_flow_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wanlab.measure.time_sequence.MAX_SEGMENTS", 3)
    wire = Wire()
    for row in range(5):
        wire.sends(row, 1000 * row, 1000)
        wire.acknowledges(row + 0.5, 1000 * (row + 1))
    found = wire.sequence()
    assert (len(found.segments), len(found.acknowledgements), found.is_cut) == (3, 2, True)
    assert MAX_SEGMENTS > 10_000


@pytest.mark.machine
def test_the_losses_of_a_real_flow_are_those_that_the_queue_counts(tmp_path: Path) -> None:
    queue = {"kind": "fifo", "limit": "30KB"}
    topology = shapes.dumbbell(pairs=1, rate="5Mbps", delay="10ms", queue=queue)
    file = tmp_path / "flow.pcapng"
    with Network(topology, folder=tmp_path) as network:
        network["h2"].start("iperf3 -s -1")
        network.run_for("100ms")
        with Sampling(network, [Capture("h1-eth0", "h2-eth0", file=file, snaplen=128)]):
            network["h1"].run("iperf3 -c 10.0.0.2 -n 1M")
        dropped = sum(drop.packets for drop in drops(network) if drop.place == "s1-eth2")
    with file.open("rb") as opened:
        packets = TcpPackets(CaptureReader(opened, file.name).packets(), file.name)
    found = packets.sequence()
    assert found.flow.startswith("10.0.0.1:")
    assert found.segments[-1].end > 500_000
    assert max(it.ack for it in found.acknowledgements) > 500_000
    assert all(it.window_end is not None for it in found.acknowledgements)
    assert any(it.sacks for it in found.acknowledgements)
    lost = found.lost()
    assert {it.fate for it in lost} == {"lost"}
    assert sum(-(-(it.end - it.start) // MSS) for it in lost) == dropped > 0
    again = [(it.start, it.end) for it in found.segments if it.kind == "again"]
    assert all(any(start <= it.start < end for start, end in again) for it in lost)
