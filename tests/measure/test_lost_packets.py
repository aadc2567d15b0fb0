"""Every lost packet has a place, a cause and a remedy."""

from __future__ import annotations

import pytest

import wanlab
from wanlab import Host, Network, Sampling, Switch, Topology, link, shapes
from wanlab.cli.drops import NOTHING, lines
from wanlab.measure import Drops, lost_packets
from wanlab.measure.lost_packets import Drop, percentage, protocol_counters, summary, summary_of

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
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ("state 10% 30%", "25"),  # p13 / (p13 + p31)
        ("state 10% 30% 20% 40% 5%", "24.73"),  # as long as 60 of 1, 20 of 3, 10 of 2 and 3 of 4
        ("gemodel 10% 40% 70% 5%", "18"),  # 1/5 of the time 70 %, else 5 %
    ],
)
def test_a_netem_names_the_mean_of_its_loss_model(net: Network, model: str, loss: str) -> None:
    with net:
        net["h1"].run("ping -c 1 h2")
        net.root.run(f"tc qdisc add dev s1-eth2 root handle 1: netem loss {model}")
        send(net, 400)
        (lost,) = [drop for drop in wanlab.drops(net) if drop.place == "s1-eth2"]
        assert (lost.cause, lost.remedy) == (f"netem: its loss of {loss} %", "")
        assert lost.share == pytest.approx(float(loss) / 100, abs=0.1)


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


@pytest.mark.machine
def test_losses_are_those_since_the_last_call(net: Network) -> None:
    queue = "tc qdisc replace dev s1-eth2 root handle {}: netem delay 50ms limit 3"
    with net:
        net["h1"].run("ping -c 1 h2")
        net.root.run(queue.format(1))
        losses = lost_packets.Losses()
        assert losses.since_last(net) == []
        send(net, 20)
        (first,) = losses.since_last(net)
        assert (first.place, first.packets, first.share) == ("s1-eth2", 17, 17 / 20)
        assert losses.since_last(net) == []
        send(net, 10)
        (second,) = losses.since_last(net)
        assert (second.place, second.packets) == ("s1-eth2", 7)
        assert 0.5 < second.share <= 0.7  # ARP has passed, too
        net.root.run("tc qdisc del dev s1-eth2 root")
        net.root.run(queue.format(1))  # its counters begin at 0
        send(net, 5)
        (third,) = losses.since_last(net)
        assert (third.place, third.packets) == ("s1-eth2", 2)


def test_the_table_has_the_most_packets_first_and_their_share() -> None:
    drops = [Drop("root", "s1-eth2", "pfifo 2:", 9, 0.25, "the queue was full")]
    assert lines(drops) == [
        "PLACE    LOST  SHARE  BY        CAUSE",
        "s1-eth2     9   25 %  pfifo 2:  the queue was full",
    ]


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100 %"), (0.996, "100 %"), (0.104, "10 %"), (0.0123, "1.2 %")]
)
def test_shares_are_numbers_without_exponents(share: float, text: str) -> None:
    assert percentage(Drop("root", "s1-eth2", "netem 1:", 9, share, "")) == text


def test_counters_have_the_names_of_nstat() -> None:
    snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nUdp: InDatagrams NoPorts\nUdp: 5 2\n"
    netstat = "TcpExt: ListenDrops\nTcpExt: 3\n"
    counters = protocol_counters(snmp, netstat, "Ip6InReceives\t7\nIp6InDiscards 0\n")
    assert counters["UdpNoPorts"] == 2
    assert counters["TcpExtListenDrops"] == 3
    assert (counters["Ip6InReceives"], counters["Ip6InDiscards"]) == (7, 0)


def drop(place: str, packets: int, remedy: str = "") -> Drop:
    return Drop("root", place, "pfifo 2:", packets, 0.25, "the queue was full", remedy)


def test_a_summary_has_three_lines_at_most() -> None:
    assert summary_of([]) == []
    assert summary_of([drop("s1-eth2", 1, "a larger limit")]) == [
        "s1-eth2 (pfifo 2:) lost 1 packet (25 %): the queue was full (try: a larger limit)"
    ]
    assert len(summary_of([drop(f"s1-eth{n}", 9) for n in range(3)])) == 3
    lines = summary_of([drop(f"s1-eth{n}", 9 - n) for n in range(4)])
    assert [line.partition(" lost")[0] for line in lines[:2]] == [
        "s1-eth0 (pfifo 2:)",
        "s1-eth1 (pfifo 2:)",
    ]
    assert lines[2:] == ["2 other places lost 13 packets; wanlab drops shows them"]


@pytest.mark.machine
def test_a_summary_leaves_out_what_the_sender_is_told(net: Network) -> None:
    with net:
        send(net, 4)
        assert [drop.is_reported for drop in wanlab.drops(net)] == [True]
        assert summary(net) == []


@pytest.mark.machine
def test_a_summary_of_a_large_network_looks_at_the_switches(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    with net:
        net["h1"].run("ping -c 1 h2")
        net["h1"].run("tc qdisc replace dev h1-eth0 root handle 1: netem delay 50ms limit 3")
        send(net, 20)
        assert [line.partition(":")[0] for line in summary(net)] == ["h1-eth0 (netem 1"]
        monkeypatch.setattr(lost_packets, "MAX_SUMMARY_NODES", 1)
        assert summary(net) == []


@pytest.mark.machine
def test_a_summary_leaves_out_what_switches_send_before_they_forward() -> None:
    """With STP, ports begin to forward after 30 s; a bridge drops its own packets until then."""
    switches = (Switch("s1", stp=True), Switch("s2", stp=True))
    links = (link("h1", "s1"), link("h2", "s2"), link("s1", "s2"), link("s1", "s2"))
    with Network(Topology(nodes=(*switches, Host("h1"), Host("h2")), links=links), seed=1) as net:
        net.run_for("40s")
        assert net["h1"].run("ping -c 1 h2").output.count("1 received") == 1
        assert [drop.place for drop in wanlab.drops(net)] == ["s1", "s2"]
        assert summary(net) == []


@pytest.mark.machine
def test_what_a_firewall_or_a_vlan_filter_drops_is_in_the_trace_of_drops(net: Network) -> None:
    """The kernel counts neither of them for a port or a node."""
    with net:
        net["h1"].run("ping -c 1 h2")
        net["h2"].start("wanlab-traffic serve --port 9")
        net.run_for("1s")
        assert (
            reasons_of(net, "ip netns exec h2 iptables -A INPUT -p udp -j DROP")
            == ["NETFILTER_DROP"] * 4
        )
        filtering = "ip link set s1 type bridge vlan_filtering 1; bridge vlan del dev s1-eth1 vid 1"
        assert reasons_of(net, filtering) == ["NOT_SPECIFIED"] * 4
        assert wanlab.drops(net) == []


def reasons_of(net: Network, command: str) -> list[str]:
    """Return why the kernel drops IPv4 packets that h1 sends to h2 after a command."""
    net.root.run(command)
    with Sampling(net, [Drops()]) as sampling:
        send(net, 4)
    table = sampling.tables()["drop"]
    return [str(reason) for reason in table.where(protocol="0x0800")["reason"]]
