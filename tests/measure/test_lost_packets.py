"""Every lost packet has a place, a cause and a remedy."""

from __future__ import annotations

import pytest

import wanlab
from wanlab import Network, shapes
from wanlab.cli.drops import NOTHING, lines
from wanlab.measure.lost_packets import Drop, protocol_counters

SEND = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "[s.sendto(bytes(1000), ('10.0.0.2', 9)) for _ in range({count})]"
)


@pytest.fixture
def net() -> Network:
    return Network(shapes.single(2))


def send(net: Network, count: int) -> None:
    net["h1"].run(["python3", "-c", SEND.format(count=count)])
    net.run_for("5s")


def rows(net: Network) -> list[tuple[str, str, int, str]]:
    return [(drop.place, drop.what, drop.packets, drop.cause) for drop in wanlab.drops(net)]


@pytest.mark.machine
def test_a_full_queue_names_its_limit(net: Network) -> None:
    with net:
        net["h1"].run("ping -c 1 h2")
        assert wanlab.drops(net) == []
        net.root.run(
            "tc qdisc replace dev s1-eth2 root handle 1: tbf rate 1mbit burst 2000 limit 9000"
        )
        net.root.run("tc qdisc add dev s1-eth2 parent 1:1 handle 2: pfifo limit 3")
        net["h2"].start("wanlab-traffic serve --port 9")
        net.run_for("1s")
        send(net, 20)
        sent = 20 - (drop := wanlab.drops(net)[0]).packets
        assert rows(net) == [
            ("s1-eth2", "pfifo 2:", 20 - sent, "the queue was full: its limit of 3 packets")
        ]
        assert (drop.node, drop.remedy) == ("root", "a larger limit, or a lower rate of arrivals")
        assert 3 <= sent < 8  # the queue's three, and what the burst of the tbf let through
        assert drop.share == pytest.approx(drop.packets / 20, abs=0.1)  # ARP and IPv6, too


@pytest.mark.machine
@pytest.mark.parametrize(
    ("queue", "what", "limit"),
    [
        ("tbf rate 1mbit burst 2000 limit 9000", "tbf 1:", "9000 bytes"),
        ("sfq limit 2", "sfq 2:", "2 packets"),
        ("bfifo limit 3000", "bfifo 2:", "3000 bytes"),
    ],
)
def test_each_kind_of_queue_names_its_limit(
    net: Network, queue: str, what: str, limit: str
) -> None:
    with net:
        if not queue.startswith("tbf"):
            net.root.run(
                "tc qdisc replace dev s1-eth2 root handle 1: tbf rate 1mbit burst 2000 limit 9000"
            )
        place = "root handle 1:" if queue.startswith("tbf") else "parent 1:1 handle 2:"
        net.root.run(f"tc qdisc replace dev s1-eth2 {place} {queue}")
        send(net, 20)
        (drop,) = [drop for drop in wanlab.drops(net) if drop.place == "s1-eth2"]
        assert (drop.what, drop.cause) == (what, f"the queue was full: its limit of {limit}")


@pytest.mark.machine
def test_a_netem_names_its_loss_or_its_limit_and_what_the_limit_should_be(net: Network) -> None:
    with net:
        net["h1"].run("ping -c 1 h2")
        net.root.run(
            "tc qdisc replace dev s1-eth2 root handle 1: netem delay 100ms rate 100mbit limit 10"
        )
        send(net, 50)
        (overflow,) = [drop for drop in wanlab.drops(net) if drop.place == "s1-eth2"]
        assert (overflow.what, overflow.packets) == ("netem 1:", 40)
        assert overflow.cause == "netem: its limit of 10 packets was full"
        assert overflow.remedy.endswith(
            "(max_queue_size of a TCLink): 100Mbps times 100ms is 826 packets"
        )
        net.root.run("tc qdisc del dev s1-eth2 root")
        net.root.run("tc qdisc add dev s1-eth2 root handle 1: netem loss 50%")
        send(net, 100)
        (lost,) = [drop for drop in wanlab.drops(net) if drop.place == "s1-eth2"]
        assert (lost.cause, lost.remedy) == ("netem: its loss of 50 %", "")
        assert 30 <= lost.packets <= 70


@pytest.mark.machine
def test_what_a_node_refuses_is_named_as_well(net: Network) -> None:
    with net:
        send(net, 4)
        assert rows(net) == [("h2", "UDP", 4, "no program listened on the port")]
        net["h1"].run("ping -c 1 -W 1 192.0.2.1", check=False)
        assert ("h1", "IPv4", 1, "there was no route for them") in rows(net)


@pytest.mark.machine
def test_a_program_in_the_network_prints_the_same_table(net: Network) -> None:
    with net:
        assert net["h1"].run("wanlab drops").output == f"{NOTHING}\n"
        send(net, 4)
        expected = lines(wanlab.drops(net))
        assert net["h1"].run("wanlab drops").output.splitlines() == expected
        assert net.root.run("wanlab drops").output.splitlines() == expected
        assert expected[1].endswith(
            "no program listened on the port (try: start the receiver first)"
        )


def test_the_table_has_the_most_packets_first_and_their_share() -> None:
    drops = [Drop("root", "s1-eth2", "pfifo 2:", 9, 0.25, "the queue was full")]
    assert lines(drops) == [
        "PLACE    LOST  SHARE  BY        CAUSE",
        "s1-eth2     9   25 %  pfifo 2:  the queue was full",
    ]


def test_counters_have_the_names_of_nstat() -> None:
    snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nUdp: InDatagrams NoPorts\nUdp: 5 2\n"
    netstat = "TcpExt: ListenDrops\nTcpExt: 3\n"
    counters = protocol_counters(snmp, netstat, "Ip6InReceives\t7\nIp6InDiscards 0\n")
    assert counters["UdpNoPorts"] == 2
    assert counters["TcpExtListenDrops"] == 3
    assert (counters["Ip6InReceives"], counters["Ip6InDiscards"]) == (7, 0)
