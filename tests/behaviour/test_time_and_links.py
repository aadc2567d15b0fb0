"""Test delays, rates, queues and wires. On virtual time every figure is exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import counts_every_byte

from wanlab import Host, Network, Port, Router, Switch, Topology, link, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
MSS_BYTES = 1448
ON_THE_WIRE_BYTES = 1538  # with preamble, headers, checksum and gap


def times(output: str) -> list[str]:
    return [line.split("time=")[1] for line in output.splitlines() if "time=" in line]


def iperf3(net: Network, client: str, server: str, arguments: str) -> dict[str, Any]:
    serving = net[server].start("iperf3 -s -1")
    net.run_for("10ms" if net.clock == "virtual" else "200ms")
    done = net[client].run(f"iperf3 -c {server} -J {arguments}")
    serving.wait()
    return dict(json.loads(done.output)["end"])


def milliseconds(output: str) -> list[float]:
    return [float(time.removesuffix(" ms")) for time in times(output)]


def test_a_delay_of_20_ms_each_way_is_a_round_trip_of_40_ms(start: Start) -> None:
    net = start(shapes.minimal(delay="10ms"))
    output = net["h1"].run("ping -c 4 10.0.0.2").output
    assert times(output)[1:] == ["40.0 ms", "40.0 ms", "40.0 ms"]
    assert output.splitlines()[-1].startswith("rtt min/avg/max/mdev = 40.0")


def test_the_first_ping_waits_for_arp(start: Start) -> None:
    net = start(
        Topology(
            nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2", a_to_b={"delay": "20ms"}),)
        )
    )
    assert times(net["h1"].run("ping -c 2 10.0.0.2").output) == ["40.0 ms", "20.0 ms"]


def test_changing_a_running_link_changes_the_round_trip(start: Start) -> None:
    net = start(shapes.minimal())
    net["h1"].run("ping -c 1 10.0.0.2")
    for delay, expected in (("5ms", "10.0 ms"), ("12.5ms", "25.0 ms"), (0, "0.000 ms")):
        net.set_link("h1", "s1", delay=delay)
        assert times(net["h1"].run("ping -c 1 10.0.0.2").output) == [expected]


def test_time_passes_only_when_asked(start: Start) -> None:
    net = start(shapes.minimal())
    assert net.now_ns == 0
    net.root.start("sleep 3; echo woken > woken")
    assert net.now_ns < 100_000  # starting the command took this time
    net.run_until("2999ms")
    assert (net.now_ns, (net.folder / "woken").exists()) == (2_999_000_000, False)
    net.run_until("3009ms")
    assert (net.now_ns, (net.folder / "woken").exists()) == (3_009_000_000, True)


def test_a_sleep_takes_exactly_its_time(start: Start) -> None:
    done = start(shapes.minimal()).root.run("sleep 100")
    assert f"{done.seconds:.3f}" == "100.000"


def test_packets_are_delayed(start: Start) -> None:
    net = start(shapes.minimal(delay="10ms"))
    found = milliseconds(net["h1"].run("ping -c 3 -i 0.2 10.0.0.2").output)[1:]
    assert len(found) == 2
    assert all(39.9 < time_ms < 80 for time_ms in found)


def test_hosts_find_each_other_by_name(start: Start) -> None:
    net = start(shapes.tree(2, 2))
    for node in ("h1", "h2", "h3"):
        assert "0% packet loss" in net[node].run("ping -c 1 -W 2 h4").output


@pytest.mark.parametrize("wire", ["mtu", "gso"])
def test_a_rate_is_kept(start: Start, wire: str) -> None:
    net = start(shapes.minimal(rate="20Mbps"), wire=wire)
    expected = pytest.approx(20e6 * MSS_BYTES / 1514, rel=0.1)
    rates = []
    # On the real clock, a busy computer can be slower than the link, but never faster.
    for _ in range(1 if net.clock == "virtual" else 5):
        rates.append(iperf3(net, "h1", "h2", "-t 2 -O 1")["sum_received"]["bits_per_second"])
        if rates[-1] == expected:
            break
    assert max(rates) == expected


def test_offloads_follow_the_wire(start: Start) -> None:
    # Only our own kernel's ports cut what a host sends.
    for wire, state in (("mtu", "on"), ("gso", "on")):
        net = start(shapes.minimal(), wire=wire)
        shown = net["h1"].run("ethtool -k h1-eth0 | grep tcp-segmentation-offload").output
        assert shown.split()[-1] == state
        net.stop()


def test_a_link_that_is_down_carries_nothing_and_keeps_its_addresses_and_routes(
    start: Start,
) -> None:
    topology = Topology(
        nodes=(Host("h1", default_route="10.0.0.2"), Host("h2")), links=(link("h1", "h2"),)
    )
    net = start(topology)
    net["h1"].run(
        "ip -6 addr add fd00::1/64 dev h1-eth0 nodad; ip route add 10.9.0.0/16 via 10.0.0.7"
    )
    settle(net)
    before = net["h1"].run("ip -br addr; ip route").output
    net.set_link_up("h1", "h2", False)
    assert net["h1"].run("ping -c 1 -W 1 10.0.0.2", check=False).status != 0
    net.set_link_up("h1", "h2", True)
    found = times(net["h1"].run("ping -c 2 10.0.0.2").output)[1:]
    assert len(found) == 1
    if net.clock == "virtual":  # at once, except for ping's own readings of the clock
        assert found[0] in ("0.000 ms", "0.001 ms")
    assert net["h1"].run("ip -br addr; ip route").output == before


def settle(net: Network) -> None:
    """Wait until no address is tentative any more."""
    if net.clock == "virtual":
        net.run_for("5s")
        return
    for _ in range(50):
        net.run_for("100ms")
        if "tentative" not in net["h1"].run("ip addr").output:
            return


def test_a_router_forwards_between_its_networks(start: Start) -> None:
    topology = Topology(
        nodes=(
            Host("h1", ip="10.0.1.2/24", default_route="10.0.1.1"),
            Host("h2", ip="10.0.2.2/24", default_route="10.0.2.1"),
            Router("r1"),
        ),
        links=(
            link("h1", Port("r1", ip="10.0.1.1/24"), delay="3ms"),
            link(Port("r1", ip="10.0.2.1/24"), "h2"),
        ),
    )
    output = start(topology)["h1"].run("ping -c 2 h2").output
    assert "ttl=63" in output
    assert times(output)[-1] == "6.00 ms"


@pytest.mark.parametrize("wire", ["mtu", "gso"])
def test_a_port_with_a_speed_carries_what_a_nic_of_that_speed_does(start: Start, wire: str) -> None:
    fast = Port("h1", speed_bps=100_000_000)
    net = start(Topology(nodes=(Host("h1"), Host("h2")), links=(link(fast, "h2"),)), wire=wire)
    assert "Speed: 100Mb/s" in net["h1"].run("ethtool h1-eth0").output
    goodput = iperf3(net, "h1", "h2", "-t 2")["sum_received"]["bits_per_second"]
    assert goodput == pytest.approx(100e6 * MSS_BYTES / ON_THE_WIRE_BYTES, rel=0.005)


@counts_every_byte
def test_a_speed_is_changed_by_ethtool_and_0_is_no_limit(start: Start) -> None:
    net = start(shapes.minimal(), wire="gso")
    net["h1"].run("ethtool -s h1-eth0 speed 1000 autoneg off duplex full")
    goodput = iperf3(net, "h1", "h2", "-t 1")["sum_received"]["bits_per_second"]
    assert goodput == pytest.approx(1e9 * MSS_BYTES / ON_THE_WIRE_BYTES, rel=0.005)
    net["h1"].run("ethtool -s h1-eth0 speed 0 autoneg off duplex full")
    net["h1"].run("ethtool -s h1-eth0 speed 10 autoneg off duplex full")
    goodput = iperf3(net, "h1", "h2", "-t 2")["sum_received"]["bits_per_second"]
    assert goodput == pytest.approx(10e6 * MSS_BYTES / ON_THE_WIRE_BYTES, rel=0.02)


def test_without_a_limit_packets_take_no_time(start: Start) -> None:
    unlimited = Topology(
        nodes=(Host("h1"), Host("h2")),
        links=(link(Port("h1", speed_bps=0), Port("h2", speed_bps=0)),),
    )
    net = start(unlimited)
    assert times(net["h1"].run("ping -c 2 -s 1400 10.0.0.2").output)[1:] == ["0.000 ms"]


def test_a_slow_wire_takes_the_time_of_its_bits(start: Start) -> None:
    slow = Topology(
        nodes=(Host("h1"), Host("h2")),
        links=(link(Port("h1", speed_bps=1_000_000), Port("h2", speed_bps=1_000_000)),),
    )
    net = start(slow)
    # 56 bytes, ICMP 8, IP 20, Ethernet 14, and 24 of preamble, checksum and gap: 122 bytes each way.
    assert times(net["h1"].run("ping -c 2 10.0.0.2").output)[1:] == ["1.95 ms"]


def peak_of_queue(net: Network, port: str, duration_s: int) -> int:
    """Sample a port's queue every 10 ms; return its largest backlog in bytes."""
    most = 0
    for _ in range(duration_s * 100):
        net.run_for("10ms")
        shown = json.loads(net.root.run(f"tc -s -j qdisc show dev {port}").output)
        most = max(most, *(queue["backlog"] for queue in shown))
    return most


LARGE_BUFFERS = {
    "net.ipv4.tcp_rmem": "10240 87380 50000000",
    "net.ipv4.tcp_wmem": "10240 87380 50000000",
}


@pytest.mark.long
def test_a_wire_exerts_no_backpressure(start: Start) -> None:
    """Ten bandwidth-delay products of buffer fill, although no netem stands before the queue."""
    limit = 10 * 125_000  # 50 Mbit/s, 20 ms
    net = start(
        shapes.single(2),
        wire="gso",
        sysctls=LARGE_BUFFERS,
    )
    net.root.run(f"tc qdisc add dev s1-eth2 root tbf rate 50mbit burst 25000 limit {limit}")
    net.root.run("tc qdisc add dev s1-eth1 root netem limit 100000 delay 20ms")  # the way back
    net["h2"].start("iperf3 -s")
    net.run_for("10ms")
    net["h1"].start("iperf3 -c 10.0.0.2 -t 6")
    assert peak_of_queue(net, "s1-eth2", 5) > 0.97 * limit


def test_a_rate_is_exact(start: Start) -> None:
    net = start(
        Topology(
            nodes=(Host("h1"), Host("h2")),
            links=(link("h1", "h2", a_to_b={"rate": "10Mbps", "delay": "10ms"}),),
        )
    )
    interval = iperf3(net, "h1", "h2", "-t 10 -O 2")["sum_received"]
    assert interval["bits_per_second"] == pytest.approx(10e6 * MSS_BYTES / 1514, rel=0.001)


def test_a_queue_holds_exactly_its_limit(start: Start) -> None:
    """100 packets of 1514 bytes at once: 2 leave in the burst, 10 wait, the others are lost."""
    net = start(
        Topology(
            nodes=(Host("h1"), Host("h2"), Switch("s1")),
            links=(
                link("h1", "s1"),
                link("s1", "h2", a_to_b={"rate": "1Mbps", "queue": {"limit": "15140B"}}),
            ),
        )
    )
    net["h1"].run("ping -c 1 10.0.0.2")
    net.run_for("1s")
    net["h1"].run(["python3", "-c", SEND_100])
    net.run_for("100us")  # the last packets are still on the 40 Gbit/s wire
    (shaper,) = json.loads(net.root.run("tc -s -j qdisc show dev s1-eth2").output)
    assert (shaper["drops"], shaper["qlen"]) == (88, 10)


SEND_100 = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    for _ in range(100):
        end.sendto(bytes(1472), ("10.0.0.2", 9))
"""


def test_stop_commands_are_run_when_the_network_ends(tmp_path: Path) -> None:
    topology = shapes.minimal()
    host = replace(topology.node("h1"), stop_command="echo bye > said")
    others = tuple(node for node in topology.nodes if node.name != "h1")
    with Network(replace(topology, nodes=(host, *others)), folder=tmp_path):
        pass
    assert (tmp_path / "said").read_text() == "bye\n"
