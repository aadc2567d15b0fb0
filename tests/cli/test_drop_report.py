"""Test that a network that lost packets says so when it ends: where, how many, why, what to change."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.machine

FULL = "s1-eth2 (netem 1:) lost 17 packets (85 %): netem: its limit of 3 packets was full (try: a larger"
LINE = re.compile(
    r"(?m)^(wanlab:|\*\*\*) s1-eth2 \(netem 1:\) lost \d+ packets .* its limit of 3 packets"
)
"""With Mininet, a frame or two of ARP are lost, too."""
SEND = """\
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    s.sendto(bytes(1000), ("10.0.0.2", 9))
time.sleep(1)
"""
TEST = """\
ip netns exec h1 ping -c 1 -q 10.0.0.2 > /dev/null
tc qdisc replace dev s1-eth2 root handle 1: netem delay 50ms limit 3
ip netns exec h1 python3 send.py
"""


@pytest.fixture(autouse=True)
def scripts(wanlab: Any) -> None:
    (wanlab.folder / "send.py").write_text(SEND)
    (wanlab.folder / "test.sh").write_text(TEST)


def test_exec_says_at_its_end_where_packets_were_lost(wanlab: Any) -> None:
    command = ("--topo", "single,2", "--", "sh", "test.sh")
    ran = wanlab("exec", *command)
    assert (ran.status, ran.output) == (0, b"")
    assert ran.errors == f"wanlab: {FULL} limit (max_queue_size of a TCLink))\n"
    assert wanlab("exec", "--no-drops", *command).errors == ""


def test_exec_says_nothing_if_nothing_was_lost_in_silence(wanlab: Any) -> None:
    """No program listens in h2, and h1 gets an ICMP error."""
    ran = wanlab("exec", "--topo", "single,2", "--node", "h1", "--", "python3", "send.py")
    assert (ran.status, ran.errors) == (0, "")


@pytest.mark.parametrize(("level", "is_shown"), [("info", True), ("output", False)])
@pytest.mark.parametrize("topo", ["single,2", "net.yaml"])
def test_mn_says_it_unless_it_is_silent(wanlab: Any, level: str, is_shown: bool, topo: str) -> None:
    (wanlab.folder / "net.yaml").write_text(
        "nodes: [{host: h1}, {host: h2}, {switch: s1}]\n"
        "links: [{link: [h1, s1]}, {link: [s1, h2]}]\n"
    )
    ran = wanlab("mn", "-v", level, "--topo", topo, input=b"s1 sh test.sh\n")
    assert ran.status == 0
    assert (LINE.search(ran.errors) is not None) == is_shown


def test_a_script_says_it_where_it_says_what_it_does(wanlab: Any) -> None:
    (wanlab.folder / "net.py").write_text(
        "from mininet.log import setLogLevel\n"
        "from mininet.net import Mininet\n"
        "from mininet.topo import SingleSwitchTopo\n"
        "import sys\n"
        "setLogLevel(sys.argv[1])\n"
        "net = Mininet(SingleSwitchTopo(2), controller=None)\n"
        "net.start()\n"
        "net['s1'].cmd('sh test.sh')\n"
        "net.stop()\n"
    )
    assert LINE.search(wanlab("python", "net.py", "info").errors)
    assert wanlab("python", "net.py", "output").errors == ""
