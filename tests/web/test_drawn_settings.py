"""Test how settings made in terminals become part of a drawing."""

from __future__ import annotations

import pytest

from wanlab.web.drawing.drawn_settings import described, settings_of, subject_of, with_settings
from wanlab.web.protocol.messages import LivePort
from wanlab.web.protocol.model import Document, DrawnLink, DrawnNode

H1 = DrawnNode(id="n1", kind="host", name="h1")
R1 = DrawnNode(id="n2", kind="router", name="r1", options={"routes": ["10.9.0.0/16 via 10.0.0.1"]})
LINK = DrawnLink(id="l1", a="n1", b="n2", options={"rate": "10Mbps"})
DOCUMENT = Document(nodes=(H1, R1), links=(LINK,))
PORTS = (
    LivePort("l1", "a", "n1", "h1-eth0", addresses=("10.0.0.7/24", "fe80::1/64")),
    LivePort("l1", "b", "n2", "r1-eth0", addresses=("10.0.0.1/24", "10.0.5.1/24")),
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sudo sysctl -w net.ipv4.tcp_sack=0", ["sysctl -w net.ipv4.tcp_sack=0"]),
        (
            "sysctl -w net.ipv4.tcp_rmem='4096 87380 6291456'",
            ["sysctl -w 'net.ipv4.tcp_rmem=4096 87380 6291456'"],
        ),
        ("ls; cd x && ip link set h1-eth0 mtu 1400", ["ip link set h1-eth0 mtu 1400"]),
        ("ip link set nothing mtu 1400; ls", []),
        ("ethtool -K h1-eth0 tso off gro off", ["ethtool -K h1-eth0 tso off gro off"]),
        ("ip addr show; ip route; ip -s link; sysctl net.ipv4.tcp_sack; ethtool h1-eth0", []),
        ("for i in 1 2; do ip addr add 10.0.0.$i/24 dev h1-eth0; done", []),
        ("ip netns exec h1 ip link set lo up", []),
        ("echo 'unfinished", []),
    ],
)
def test_commands_that_change_settings_are_found_in_a_line(line: str, found: list[str]) -> None:
    assert settings_of(line) == found


def test_a_later_setting_of_the_same_replaces_an_earlier_one() -> None:
    assert subject_of("sysctl -w a.b=1") == subject_of("sysctl -w a.b=2")
    assert subject_of("ip link set h1-eth0 mtu 900") == subject_of("ip link set h1-eth0 mtu 1400")
    assert subject_of("ip link set h1-eth0 mtu 900") != subject_of("ip link set h2-eth0 mtu 900")
    assert subject_of("ethtool -K p tso off") == subject_of("ethtool -K p tso on")
    assert subject_of("ethtool -K p tso off") != subject_of("ethtool -K p gro off")


def test_settings_of_a_host_become_properties_and_its_start_command() -> None:
    lines = [
        "ip addr flush dev h1-eth0",
        "ip addr add 10.0.0.7/24 dev h1-eth0",
        "ip link set h1-eth0 mtu 1400",
        "ip route add default via 10.0.0.1",
        "ethtool -K h1-eth0 tso off",
        "ethtool -C h1-eth0 rx-usecs 50",
        "sysctl -w net.ipv4.tcp_sack=0",
        "ip link set h1-eth9 mtu 1400",
    ]
    assert [described(H1, line, PORTS).drawn_as for line in lines] == [
        "start command",
        "IP address of h1-eth0",
        "MTU of h1-eth0",
        "default route",
        "NIC of h1-eth0",
        "NIC of h1-eth0",
        "start command",
        "start command",
    ]
    elements = with_settings(DOCUMENT, H1, lines, PORTS)
    assert elements.nodes[0].options == {
        "ip": "10.0.0.7/24",
        "default_route": "via 10.0.0.1",
        "start_command": "sysctl -w net.ipv4.tcp_sack=0; ip link set h1-eth9 mtu 1400",
    }
    (link,) = elements.links
    assert link.options == {"rate": "10Mbps"}
    assert link.a_options == {"mtu": 1400, "nic": {"tso": "off", "coalescing": "50us"}}


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_a_number_that_python_cannot_read_stays_in_the_start_command(number: str) -> None:
    for line in (f"ip link set h1-eth0 mtu {number}", f"ethtool -C h1-eth0 rx-usecs {number}"):
        assert described(H1, line, PORTS).drawn_as == "start command"


def test_a_second_address_and_the_routes_of_a_router_are_drawn() -> None:
    lines = ["ip addr add 10.0.5.1/24 dev r1-eth0", "ip route add 10.2.0.0/16 via 10.0.0.7"]
    assert [described(R1, line, PORTS).drawn_as for line in lines] == ["start command", "routes"]
    elements = with_settings(DOCUMENT, R1, lines, PORTS)
    assert elements.links == ()
    assert elements.nodes[0].options == {
        "routes": ["10.9.0.0/16 via 10.0.0.1", "10.2.0.0/16 via 10.0.0.7"],
        "start_command": "ip addr add 10.0.5.1/24 dev r1-eth0",
    }


def test_settings_of_no_node_are_reported_and_not_drawn() -> None:
    assert described(None, "sysctl -w a.b=1", PORTS).drawn_as == ""
