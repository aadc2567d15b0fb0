"""Captures contain the packets of a port with their times, in files that Wireshark reads."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Capture, Network, Sampling, shapes
from wanlab.errors import WanlabError
from wanlab.measure import captures, pcapng

Start = Callable[..., Network]
PORT = "s1-eth2"

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
needs_tcpdump = pytest.mark.skipif(
    shutil.which("tcpdump") is None, reason="tcpdump is not installed"
)


def tshark(path: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def blocks(data: bytes) -> list[tuple[int, bytes]]:
    """Return the kind and body of each block."""
    found, position = [], 0
    while position < len(data):
        kind, length = struct.unpack_from("=II", data, position)
        assert data[position + length - 4 : position + length] == struct.pack("=I", length)
        found.append((kind, data[position + 8 : position + length - 4]))
        position += length
    return found


def times_of(path: Path) -> list[int]:
    """Return the times of the packets in ns since 1970."""
    packets = [body for kind, body in blocks(path.read_bytes()) if kind == pcapng.PACKET]
    highs_and_lows = (struct.unpack_from("=II", body, 4) for body in packets)
    return [high << 32 | low for high, low in highs_and_lows]


@pytest.mark.machine
@needs_tshark
def test_tshark_reads_a_capture_at_a_gigabit_with_times_that_do_not_go_back(start: Start) -> None:
    net = start(shapes.dumbbell(pairs=1, rate="1Gbps", delay="1ms"))
    net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    capture = Capture(PORT, snaplen=96)
    with Sampling(net, [capture]):
        flow = net["h1"].start("iperf3 -c h2 -n 25M")
        flow.finish()
    lines = tshark(capture.file, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len")
    times = [float(line.split()[0]) for line in lines]
    assert len(lines) > 17_000  # 25 MB in packets of one MTU
    assert times == sorted(times)
    assert max(int(line.split()[1]) for line in lines) == 1514
    assert net.warnings == []
    exact = times_of(capture.file)
    assert len(exact) == len(lines)
    assert exact == sorted(exact)


@pytest.mark.machine
@needs_tshark
def test_a_packet_has_the_time_at_which_it_passed(start: Start) -> None:
    """A packet of 98 bytes and 24 on the wire takes 24.4 ns at 40 Gbit/s at every port."""
    net = start(shapes.minimal())
    net["h1"].run("ping -c 1 h2")  # resolves the addresses
    capture = Capture("h1-eth0", "s1-eth1", "h2-eth0")
    with Sampling(net, [capture]):
        net["h1"].run("ping -c 1 h2")
    fields = ("frame.time_epoch", "frame.interface_name", "icmp.type")
    lines = tshark(
        capture.file, "-Y", "icmp", "-T", "fields", *(w for f in fields for w in ("-e", f))
    )
    seen = [line.split() for line in lines]
    assert [row[1:] for row in seen] == [
        ["h1-eth0", "8"],
        ["s1-eth1", "8"],
        ["h2-eth0", "8"],
        ["h2-eth0", "0"],
        ["s1-eth1", "0"],
        ["h1-eth0", "0"],
    ]
    assert b"which was 0 at 1767225610.000000000 s" in capture.file.read_bytes()
    first, second, third = times_of(capture.file)[:3]
    assert 24 <= second - first <= 26
    assert 24 <= third - second <= 26


@pytest.mark.machine
def test_both_directions_are_distinguished(start: Start) -> None:
    net = start(shapes.minimal())
    capture = Capture("h1-eth0")
    with Sampling(net, [capture]):
        net["h1"].run("ping -c 2 -i 0.1 h2")
    packets = [body for kind, body in blocks(capture.file.read_bytes()) if kind == pcapng.PACKET]
    outgoing = struct.pack("=HHI", 2, 4, pcapng.OUTBOUND)
    assert len(packets) == 6  # ARP and two pings, each a request and a reply
    assert sum(outgoing in body for body in packets) == 3


@pytest.mark.machine
def test_a_capture_ends_when_its_file_is_full(start: Start) -> None:
    net = start(shapes.minimal())
    capture = Capture("h1-eth0", max_bytes="2KB")
    with Sampling(net, [capture]):
        net["h1"].run("ping -c 50 -i 0.03 h2")
    assert 1500 < capture.file.stat().st_size <= 2000
    assert net.warnings == ["h1-eth0.pcapng is full (2000 bytes): later packets are left out"]


@pytest.mark.machine
def test_a_capture_can_be_read_before_its_first_packet(start: Start) -> None:
    """So a capture that is killed then is a capture without packets, not an empty file."""
    capture = Capture("h1-eth0")
    with Sampling(start(shapes.minimal()), [capture]):
        kinds = [kind for kind, _ in blocks(capture.file.read_bytes())]
    assert kinds == [pcapng.SECTION, pcapng.INTERFACE]


@pytest.mark.machine
def test_a_capture_that_cannot_be_written_is_named(start: Start, tmp_path: Path) -> None:
    net = start(shapes.minimal())
    for file, reason in (
        ("/dev/full", "No space left on device"),
        (f"{tmp_path}/nowhere/x.pcapng", "No such file or directory"),
        (str(tmp_path), "Is a directory"),
    ):
        with (
            pytest.raises(WanlabError, match=f"cannot write {file}: {reason}"),
            Sampling(net, [Capture("h1-eth0", file=file)]),
        ):
            pass


@pytest.mark.machine
@needs_tcpdump
def test_only_packets_that_match_the_filter_are_captured(start: Start) -> None:
    net = start(shapes.minimal())
    capture = Capture("h1-eth0", filter="icmp[icmptype] = icmp-echo")
    with Sampling(net, [capture]):
        net["h1"].run("ping -c 3 -i 0.1 h2")
    assert len(times_of(capture.file)) == 3


@needs_tcpdump
def test_an_invalid_filter_is_refused_and_quoted() -> None:
    with pytest.raises(WanlabError, match=r'the filter "tcp prot 80": .*syntax error'):
        Capture(PORT, filter="tcp prot 80")


def test_a_capture_of_nothing_is_refused() -> None:
    with pytest.raises(WanlabError, match="a capture needs at least one port"):
        Capture()
    with pytest.raises(WanlabError, match="snaplen cannot be 0"):
        Capture(PORT, snaplen=0)


def ring_packet(time_ns: int, data: bytes, *, follows: bool, tag: int | None = None) -> bytes:
    """Encode a packet as in the kernel's ring (struct tpacket3_hdr, struct sockaddr_ll)."""
    begin = 82
    size = (begin + len(data) + 7) & ~7
    status = 0x51 if tag is not None else 1
    header = struct.pack(
        "=IIIIIIHHIIH",
        size if follows else 0,
        time_ns // 10**9,
        time_ns % 10**9,
        len(data),
        len(data),
        status,
        begin,
        begin + 14,
        0,
        tag or 0,
        0x8100,
    ).ljust(48, b"\0")
    address = struct.pack("=HHiHBB8s", 17, 8, 1, 1, 4, 6, bytes(8))
    return (header + address).ljust(begin, b"\0") + data.ljust(size - begin, b"\0")


def test_packets_of_several_blocks_are_read_one_after_the_other() -> None:
    data = b"".join(
        (
            ring_packet(5, b"a" * 60, follows=True),
            ring_packet(6, b"b" * 61, follows=False),  # the last of its block
            ring_packet(7, b"c" * 62, follows=False),
        )
    )
    assert captures.packets_in(data, 3) == [
        (5, 3, pcapng.OUTBOUND, 60, b"a" * 60),
        (6, 3, pcapng.OUTBOUND, 61, b"b" * 61),
        (7, 3, pcapng.OUTBOUND, 62, b"c" * 62),
    ]


def test_the_tag_of_a_vlan_is_put_back_where_it_is_on_the_wire() -> None:
    packet = bytes(range(60))
    ((_, _, _, length, data),) = captures.packets_in(
        ring_packet(5, packet, follows=False, tag=100), 0
    )
    assert data == packet[:12] + b"\x81\x00\x00\x64" + packet[12:]
    assert length == 64
