"""Each interface says why it lost packets, and whether another place counts them as well."""

from __future__ import annotations

import pytest

import wanlab
from wanlab import Network, shapes
from wanlab.measure.interface_drops import REFUSED_BELOW, drops_of_interface
from wanlab.measure.lost_packets import summary
from wanlab.netlink.link_dump import LinkCounters

FILTERED = "a filter dropped them (drop, police, or a redirection to an interface that is down)"
NO_PROTOCOL = "nothing here takes packets of their protocol, or it was down"
NO_CLASS = "no class took them, or a filter dropped them"
BURST = "ping -c 9 -i 0.002 -s 1000 -W 1 {}"
SHORT_QUEUE = "tc qdisc add dev h1-eth0 root handle 1: netem delay 50ms limit 1"


@pytest.fixture
def net() -> Network:
    return Network(shapes.single(2))


def run(net: Network, node: str, *commands: str) -> None:
    for command in commands:
        (net.root if node == "root" else net[node]).run(["sh", "-c", command], check=False)
    net.run_for("2s")


def causes(net: Network) -> dict[tuple[str, str], tuple[int, str]]:
    """Return the packets that each place lost, and why."""
    found = [drop for drop in wanlab.drops(net) if drop.what != "IPv4"]
    return {(drop.place, drop.what): (drop.packets, drop.cause) for drop in found}


def blamed(net: Network) -> list[str]:
    return [line.partition(" lost ")[0] for line in summary(net)]


@pytest.mark.machine
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("tc qdisc add dev s1-eth1 ingress; tc filter add dev s1-eth1 ingress {}", "ingress ffff:"),
        ("tc qdisc add dev s1-eth1 clsact; tc filter add dev s1-eth1 ingress {}", "clsact ffff:"),
        ("tc qdisc add dev s1-eth1 clsact; tc filter add dev s1-eth1 egress {}", "clsact ffff:"),
    ],
)
@pytest.mark.parametrize(
    "action",
    ["police rate 8kbit burst 2k conform-exceed drop", "drop", "mirred egress redirect dev ifb0"],
)
def test_a_filter_at_the_edge_of_a_port_is_named(
    net: Network, command: str, what: str, action: str
) -> None:
    with net:
        run(net, "h1", "ping -c 1 h2")
        run(net, "root", "ip link add ifb0 type ifb", command.format(f"matchall action {action}"))
        run(net, "h1", BURST.format("h2"))
        (drop,) = [drop for drop in wanlab.drops(net) if drop.place == "s1-eth1"]
        assert (drop.what, drop.cause) == (what, FILTERED)
        assert drop.packets >= 7
        assert (drop.share == 1) == ("police" not in action)
        assert blamed(net) == [f"s1-eth1 ({what})"]


@pytest.mark.machine
def test_an_ifb_that_gets_packets_of_its_own_is_not_down(net: Network) -> None:
    """The kernel sends packets of IPv6 when the ifb starts; it takes only redirected ones."""
    with net:
        run(
            net,
            "h1",
            "ping -c 1 h2",
            "ip link add ifb0 type ifb; ip link set ifb0 up",
            "tc qdisc add dev h1-eth0 ingress",
            "tc filter add dev h1-eth0 ingress matchall action mirred egress redirect dev ifb0",
            "ping -c 3 h2",
        )
        (drop,) = wanlab.drops(net)
        assert (drop.place, drop.what) == ("ifb0", "interface")
        assert (
            drop.cause
            == "it takes packets that a filter redirects to it, but these were sent to it"
        )
        assert 0 < drop.share < 1
        assert blamed(net) == []


@pytest.mark.machine
@pytest.mark.parametrize(
    ("interface", "peer"),
    [
        ("ip link add up0 link h1-eth0 type vlan id 5", "lladdr 00:00:00:00:00:02"),
        ("ip link add up0 link h1-eth0 type macvlan mode bridge", "lladdr 00:00:00:00:00:02"),
        ("ip link add up0 type gretap local 10.0.0.1 remote 10.0.0.2", "lladdr 00:00:00:00:00:02"),
        ("ip link add up0 type ipip local 10.0.0.1 remote 10.0.0.2", ""),
    ],
)
def test_what_a_queue_below_an_interface_loses_counts_once(
    net: Network, interface: str, peer: str
) -> None:
    with net:
        run(net, "h1", "ping -c 1 h2", interface, "ip addr add 10.9.0.1/24 dev up0")
        run(net, "h1", "ip link set up0 up", SHORT_QUEUE)
        if peer:
            run(net, "h1", f"ip neigh add 10.9.0.2 {peer} dev up0")
        run(net, "h1", BURST.format("10.9.0.2"))
        lost = causes(net)
        packets, cause = lost["up0", "interface"]
        assert cause == REFUSED_BELOW
        assert 7 <= packets <= lost["h1-eth0", "netem 1:"][0]
        assert blamed(net)[0] == "h1-eth0 (netem 1:)"
        assert "up0 (interface)" not in blamed(net)


@pytest.mark.machine
@pytest.mark.parametrize(
    ("interface", "cause"),
    [
        (
            "ip tuntap add up0 mode tun",
            "no program read them, or it read too slowly",
        ),
        ("ip link add up0 type bond", "none of its ports was up"),
        (
            "ip link add up0 type vxlan id 4 local 10.0.0.1 dstport 4789",
            f"no destination was known for them, or {REFUSED_BELOW}",
        ),
        (
            "ip link add up0 type gre local 10.0.0.1 remote 192.0.2.1",
            "no route led to its other end, or they were longer than the MTU of the path there",
        ),
    ],
)
def test_an_interface_without_another_end_says_what_it_lacks(
    net: Network, interface: str, cause: str
) -> None:
    with net:
        run(net, "h1", interface, "ip addr add 10.9.0.1/24 dev up0; ip link set up0 up")
        run(net, "h1", "ping -c 3 -i 0.1 -W 1 10.9.0.2")
        packets, found = causes(net)["up0", "interface"]
        assert (packets >= 3, found) == (True, cause)


@pytest.mark.machine
def test_mtus_that_differ_are_named(net: Network) -> None:
    with net:
        run(net, "h1", "ping -c 1 h2", "ip link set h1-eth0 mtu 9000", "ping -c 3 -W 1 -s 4000 h2")
        assert causes(net) == {
            ("h1-eth0", "interface"): (
                3,
                "its peer was down or has a smaller MTU, or they were part of a storm",
            ),
            ("s1-eth1", "interface"): (
                3,
                f"they were longer than its MTU of 1500 bytes, or {NO_PROTOCOL}",
            ),
        }


@pytest.mark.machine
def test_a_peer_that_is_down_is_named(net: Network) -> None:
    with net:
        run(net, "h1", "ping -c 1 h2")
        run(net, "root", "ip link set s1-eth1 down")
        run(net, "h1", "ping -c 3 -i 0.1 -W 1 h2")
        cause = "its peer was down, or they were part of a storm"
        ((place, (packets, found)),) = causes(net).items()
        assert (place, found) == (("h1-eth0", "interface"), cause)
        assert packets >= 3


@pytest.mark.machine
def test_frames_of_an_unknown_protocol_are_named(net: Network) -> None:
    """EtherType 0x88b5 is for experiments (IEEE 802); a frame of LLDP ends at the switch's port."""
    frames = "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
    frames += "s.bind(('h1-eth0', 0)); "
    frames += "[s.send(bytes.fromhex('{}00000000000188{}') + bytes(50)) for _ in range(5)]"
    with net:
        net["h1"].run(["python3", "-c", frames.format("ffffffffffff", "b5")])
        net["h1"].run(["python3", "-c", frames.format("0180c200000e", "cc")])
        net.run_for("1s")
        expected = (5, NO_PROTOCOL)
        assert {place: lost for (place, _), lost in causes(net).items()} == dict.fromkeys(
            ("h2-eth0", "s1", "s1-eth1"), expected
        )
        assert sorted(blamed(net)) == ["h2-eth0 (interface)", "s1-eth1 (interface)"]


@pytest.mark.machine
@pytest.mark.parametrize(
    ("queue", "cause"),
    [
        ("drr", NO_CLASS),
        ("htb; tc filter add dev h1-eth0 parent 1: matchall action drop", NO_CLASS),
        ("prio; tc filter add dev h1-eth0 parent 1: matchall action drop", "a filter dropped them"),
        ("fq flow_limit 1 maxrate 8kbit", "its limit, its flow_limit or its horizon was reached"),
        (
            "tbf rate 8kbit burst 2k limit 1mb; ip link set h1-eth0 txqueuelen 2;"
            "tc qdisc add dev h1-eth0 parent 1:1 handle 2: pfifo_fast",
            "the queue was full: its limit is the interface's txqueuelen (1000 packets, unless changed)",
        ),
    ],
)
def test_a_queue_without_a_limit_of_its_own_says_why(net: Network, queue: str, cause: str) -> None:
    with net:
        run(net, "h1", "ping -c 1 h2", f"tc qdisc add dev h1-eth0 root handle 1: {queue}")
        run(net, "h1", BURST.format("h2"))
        ((packets, found),) = causes(net).values()
        assert (packets >= 3, found) == (True, cause)


def interface(kind: str, tx_drops: int, *, is_up: bool = True) -> LinkCounters:
    return LinkCounters(
        index=1,
        name="x0",
        kind=kind,
        mtu_bytes=1500,
        is_up=is_up,
        is_loopback=False,
        rx_packets=0,
        tx_packets=6,
        rx_bytes=0,
        tx_bytes=0,
        rx_errors=0,
        tx_errors=0,
        rx_drops=0,
        tx_drops=tx_drops,
    )


def test_an_interface_that_is_down_says_so_whatever_its_kind() -> None:
    for kind in ("veth", "vlan", "tun"):
        (drop,) = drops_of_interface(interface(kind, 2, is_up=False), [])
        assert (drop.packets, drop.cause, drop.remedy) == (2, "the interface was down", "")


def test_a_storm_is_named_where_all_mtus_are_equal() -> None:
    (drop,) = drops_of_interface(interface("veth", 2), [1500])
    assert (drop.cause, drop.remedy.split(",")[0]) == (
        "its peer was down, or they were part of a storm",
        "STP",
    )
    assert not drop.is_known
