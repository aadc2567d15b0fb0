"""Test pcapng files byte by byte, without a machine and without Wireshark."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable

import pytest

from wanlab.measure.pcapng import INBOUND, OUTBOUND, PcapngFile

Block = tuple[int, bytes]


def blocks_of(write: Callable[[PcapngFile], None]) -> list[Block]:
    """Write a file; return the type and the body of each block, after checking their lengths."""
    stream = io.BytesIO()
    file = PcapngFile(stream, "wanlab 1", "made here")
    write(file)
    data, blocks = stream.getvalue(), []
    assert file.bytes_written == len(data)
    while data:
        kind, length = struct.unpack_from("=II", data)
        assert length % 4 == 0
        assert struct.unpack_from("=I", data, length - 4) == (length,)
        blocks.append((kind, data[8 : length - 4]))
        data = data[length:]
    return blocks


def options_of(data: bytes) -> list[tuple[int, bytes]]:
    """Return the options of a block; the end of the options must be the last."""
    options: list[tuple[int, bytes]] = []
    while True:
        code, length = struct.unpack_from("=HH", data)
        padded = 4 + (length + 3 & ~3)
        assert data[4 + length : padded] == bytes(padded - 4 - length)
        if code == 0:
            assert (length, data[4:]) == (0, b"")
            return options
        options.append((code, data[4 : 4 + length]))
        data = data[padded:]


def test_a_file_begins_with_what_wrote_it() -> None:
    ((kind, body),) = blocks_of(lambda file: None)
    assert kind == 0x0A0D0D0A
    assert struct.unpack_from("=IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
    assert options_of(body[16:]) == [(1, b"made here"), (4, b"wanlab 1")]


@pytest.mark.parametrize(("condition", "more"), [("", []), ("tcp", [(11, b"\0tcp")])])
def test_an_interface_has_its_name_its_resolution_and_its_filter(
    condition: str, more: list[tuple[int, bytes]]
) -> None:
    _, (kind, body) = blocks_of(lambda file: file.add_interface("s1-eth1", 96, condition))
    assert (kind, struct.unpack_from("=HHI", body)) == (1, (1, 0, 96))
    assert options_of(body[8:]) == [(2, b"s1-eth1"), (9, b"\x09"), *more]


@pytest.mark.parametrize("data", [b"", b"a", b"ab", b"abc", b"abcd"])
@pytest.mark.parametrize("direction", [INBOUND, OUTBOUND])
def test_a_packet_has_its_time_its_lengths_and_its_direction(direction: int, data: bytes) -> None:
    time_ns = (3 << 32) + 4_000_000_000
    packet = (time_ns, 1, direction, 1500, data)
    _, (kind, body), again = blocks_of(lambda file: file.write([packet, packet]))
    assert (kind, body) == again
    assert kind == 6
    assert struct.unpack_from("=IIIII", body) == (1, 3, 4_000_000_000, len(data), 1500)
    padded = len(data) + 3 & ~3
    assert body[20 : 20 + padded] == data.ljust(padded, b"\0")
    assert options_of(body[20 + padded :]) == [(2, struct.pack("=I", direction))]


def test_statistics_count_received_and_dropped_packets() -> None:
    _, (kind, body) = blocks_of(lambda file: file.add_statistics(2, (5 << 32) + 6, 1 << 40, 7))
    assert (kind, struct.unpack_from("=III", body)) == (5, (2, 5, 6))
    assert options_of(body[12:]) == [(4, struct.pack("=Q", 1 << 40)), (5, struct.pack("=Q", 7))]
