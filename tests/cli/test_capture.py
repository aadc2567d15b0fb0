"""Test `wanlab capture`: places, files, and where the command's output goes."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from wanlab import Host, Topology, shapes
from wanlab.cli.capture import ports_at
from wanlab.errors import WanlabError

SECTION = struct.pack("=I", 0x0A0D0D0A)
PING = ("--", "wanlab-node", "h1", "ping", "-c", "2", "-i", "0.1", "h2")


def packets(pcapng: bytes) -> list[int]:
    """Return the original length of each packet in a capture."""
    lengths, position = [], 0
    while position < len(pcapng):
        kind, length = struct.unpack_from("=II", pcapng, position)
        if kind == 6:
            lengths.append(struct.unpack_from("=I", pcapng, position + 24)[0])
        position += length
    return lengths


@pytest.mark.parametrize(
    ("place", "ports"),
    [
        ("s1-eth2", ["s1-eth2"]),
        ("s1", ["s1-eth1", "s1-eth2", "s1-eth3"]),
        ("s1-s2", ["s1-eth3"]),
        ("s2-s1", ["s2-eth1"]),
        ("h4", ["h4-eth0"]),
    ],
)
def test_a_place_is_a_port_a_node_or_a_link(place: str, ports: list[str]) -> None:
    assert ports_at(shapes.dumbbell(pairs=2), [place]) == ports


def test_the_error_for_an_unknown_place_names_the_nearest_one() -> None:
    with pytest.raises(WanlabError, match=r'no port, node or link "s1-eth9" .did you mean s1-eth'):
        ports_at(shapes.minimal(), ["s1-eth9"])


def test_a_place_without_ports_is_named_as_such() -> None:
    with pytest.raises(WanlabError, match="h1 has no ports to capture at"):
        ports_at(Topology(nodes=(Host("h1"),)), ["h1"])
    with pytest.raises(WanlabError, match="there are none"):
        ports_at(Topology(nodes=(Host("h1"),)), ["h2"])


@pytest.mark.machine
def test_packets_of_a_command_go_to_a_file(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("capture", "--topo", "single,2", "--at", "s1-eth1", "-w", "out.pcapng", *PING)
    assert ran.status == 0, ran.errors
    assert b"2 packets transmitted, 2 received" in ran.output
    assert "packets captured" in ran.errors
    data = (tmp_path / "out.pcapng").read_bytes()
    assert data.startswith(SECTION)
    assert packets(data).count(98) == 4  # requests and replies, besides ARP


@pytest.mark.machine
def test_standard_output_holds_packets_only(wanlab: Any) -> None:
    ran = wanlab(
        "capture",
        "--topo",
        "single,2",
        "-i",
        "h1",
        "-w",
        "-",
        "-s",
        "60",
        "-c",
        "3",
        "icmp",
        *PING,
    )
    assert ran.status == 0, ran.errors
    assert packets(ran.output) == [98, 98, 98]
    assert len(ran.output) < 700  # 60 bytes of each packet
    assert "2 packets transmitted, 2 received" in ran.errors


@pytest.mark.machine
def test_wireshark_may_be_closed_at_any_time(wanlab: Any) -> None:
    process = wanlab.start(
        "capture", "--topo", "single,2", "--at", "h1", "-w", "-", *PING, stdin=subprocess.DEVNULL
    )
    process.stdout.close()
    process.stdout = None
    ran = wanlab.end(process)
    assert ran.status == 0
    assert "Traceback" not in ran.errors


@pytest.mark.machine
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
def test_without_a_file_packets_are_printed(wanlab: Any) -> None:
    ran = wanlab("capture", "--topo", "single,2", "--at", "s1-eth1", "icmp", *PING)
    assert ran.output.decode().count("ICMP echo request") == 2
    assert ran.output.decode().count("ICMP echo reply") == 2


@pytest.mark.machine
def test_a_program_inside_a_network_captures_there(wanlab: Any, tmp_path: Path) -> None:
    script = (
        "wanlab-node h1 ping -q -i 0.1 h2 > /dev/null & "
        "wanlab capture --at h2 -w inside.pcapng --time 1s icmp; kill %1"
    )
    ran = wanlab("exec", "--topo", "single,2", "--", "bash", "-c", script)
    assert ran.status == 0, ran.errors
    count = len(packets((tmp_path / "inside.pcapng").read_bytes()))
    assert f"{count} packets captured" in ran.errors
    assert 14 <= count <= 22


def test_a_missing_argument_is_reported(wanlab: Any) -> None:
    assert "needs a place" in wanlab("capture", "--topo", "single,2", "--", "ls").errors
    assert "without a command" in wanlab("capture", "--topo", "single,2", "-i", "h1").errors
    assert "no network to capture in" in wanlab("capture", "-i", "h1", "-w", "x").errors
