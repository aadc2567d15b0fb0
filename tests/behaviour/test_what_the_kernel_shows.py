"""The machine's kernel does not show how it was started, and makes devices where they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

# A mode of `ip tunnel` or `ip -6 tunnel`, and the device by whose name the tunnel is added.
TUNNELS = {
    "tunnel add t1 mode ipip remote 10.0.0.2": "tunl0",
    "tunnel add t2 mode gre remote 10.0.0.2": "gre0",
    "tunnel add t3 mode sit remote 10.0.0.2": "sit0",
    "-6 tunnel add t4 mode ip6ip6 remote fd00::2": "ip6tnl0",
    "-6 tunnel add t5 mode ip6gre remote fd00::2": "ip6gre0",
}


def interfaces(net: Network, node: str) -> set[str]:
    lines = net[node].run("ip -o link").output.splitlines()
    return {line.split(": ")[1].split("@")[0] for line in lines}


def test_ip_tunnel_adds_tunnels_to_a_node_that_began_without_their_devices(start: Start) -> None:
    net = start(shapes.minimal())
    assert interfaces(net, "h1") == {"lo", "h1-eth0"}
    for number, (command, device) in enumerate(TUNNELS.items(), 1):
        net["h1"].run(f"ip {command}")
        assert {f"t{number}", device} <= interfaces(net, "h1")
    assert interfaces(net, "h2") == {"lo", "h2-eth0"}


def test_a_packet_crosses_a_tunnel_that_ip_tunnel_has_added(start: Start) -> None:
    net = start(shapes.minimal())
    for here, there in (("1", "2"), ("2", "1")):
        node = net[f"h{here}"]
        node.run(f"ip tunnel add tunnel1 mode gre local 10.0.0.{here} remote 10.0.0.{there}")
        node.run(f"ip address add 192.168.9.{here}/24 dev tunnel1; ip link set tunnel1 up")
    assert "1 received" in net["h1"].run("ping -c 1 192.168.9.2").output


def test_dmesg_does_not_show_numbers_of_the_computer(start: Start) -> None:
    messages = start(shapes.minimal()).root.run("dmesg").output
    assert "Linux version" in messages
    for word in (
        "command line:",
        "memory_file",
        "hostfs_broker",
        "time-travel=",
        "fd:",
        "channel=",
    ):
        assert word not in messages
