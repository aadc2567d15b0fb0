"""Test NICs and the two wires: what the host sees, what the wire carries, and what is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from machines import counts_every_byte

from wanlab import Host, Network, Port, Switch, Topology, link, shapes
from wanlab.topology import Nic

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
BUFFERS = "10240 87380 33554432"
SYSCTLS = {"net.ipv4.tcp_rmem": BUFFERS, "net.ipv4.tcp_wmem": BUFFERS}
MSS_BYTES = 1448

# Counts how often each length of TCP payload passes a port, and prints the counts once nothing has
# passed for a while.
LENGTHS = """
import collections, json, socket, sys
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
port.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
port.bind((sys.argv[1], 0))
port.settimeout(0.5)
found = collections.Counter()
print("ready", flush=True)
try:
    while True:
        data, address = port.recvfrom(1 << 17)
        if len(data) > 66 and data[23] == 6 and (address[2] == 4) == (sys.argv[2] == "out"):
            found[len(data) - 66] += 1
except TimeoutError:
    print(json.dumps(sorted(found.items())))
"""


def transfer(net: Network, arguments: str = "-n 4M") -> dict[str, Any]:
    serving = net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    done = net["h1"].run(f"iperf3 -c h2 -J {arguments}")
    serving.wait()
    return dict(json.loads(done.output)["end"])


def lengths(
    net: Network, *places: tuple[str, str, str], during: Callable[[], Any]
) -> list[dict[int, int]]:
    """Count how often each length passed each (node, port, "in" or "out") during an action."""
    (net.folder / "lengths.py").write_text(LENGTHS)
    looking = [
        (net[node] if node else net.root).start(f"python3 lengths.py {port} {direction}")
        for node, port, direction in places
    ]
    net.run_for("100ms")
    assert [one.output for one in looking] == ["ready\n"] * len(looking)
    during()
    assert [one.wait() for one in looking] == [0] * len(looking)
    return [dict(json.loads(one.output.splitlines()[-1])) for one in looking]


def total(found: dict[int, int]) -> int:
    return sum(size * count for size, count in found.items())


def test_the_host_sends_super_packets_and_the_wire_carries_packets_of_one_mtu(
    start: Start,
) -> None:
    net = start(shapes.single(2), sysctls=SYSCTLS)
    net.root.run("tc qdisc add dev s1-eth2 root netem delay 5ms limit 100000")
    at_host, on_wire, at_queue = lengths(
        net,
        ("h1", "h1-eth0", "out"),
        ("", "s1-eth1", "in"),
        ("", "s1-eth2", "out"),
        during=lambda: transfer(net),
    )
    assert max(at_host) > 10 * MSS_BYTES
    assert max(on_wire) == max(at_queue) == MSS_BYTES
    assert total(at_host) == total(on_wire) > 1_000_000


@pytest.mark.long
def test_offloads_switched_by_hand_change_the_hosts_and_not_the_wire(start: Start) -> None:
    net = start(shapes.single(2), sysctls=SYSCTLS)

    def seen() -> tuple[int, int, int]:
        at_host, on_wire, received = lengths(
            net,
            ("h1", "h1-eth0", "out"),
            ("", "s1-eth1", "in"),
            ("h2", "h2-eth0", "in"),
            during=lambda: transfer(net),
        )
        return max(at_host), max(on_wire), max(received)

    net["h1"].run("ethtool -K h1-eth0 tso off gso off")
    net["h2"].run("ethtool -K h2-eth0 gro off")
    assert seen() == (MSS_BYTES, MSS_BYTES, MSS_BYTES)
    net["h1"].run("ethtool -K h1-eth0 tso on gso on")
    net["h2"].run("ethtool -K h2-eth0 gro on")
    at_host, on_wire, received = seen()
    assert at_host > 10 * MSS_BYTES
    assert on_wire == MSS_BYTES
    assert received > 2 * MSS_BYTES


def test_on_the_gso_wire_super_packets_cross_the_network(start: Start) -> None:
    net = start(shapes.single(2), wire="gso", sysctls=SYSCTLS)
    (at_queue,) = lengths(net, ("", "s1-eth2", "out"), during=lambda: transfer(net))
    assert max(at_queue) > 10 * MSS_BYTES


@pytest.mark.parametrize(("node", "port"), [("", "s1-eth2"), ("h1", "h1-eth0")])
def test_losses_are_those_of_single_packets_in_a_switch_and_at_a_host(
    start: Start, node: str, port: str
) -> None:
    net = start(shapes.single(2), sysctls=SYSCTLS)
    place = net[node] if node else net.root
    place.run(f"tc qdisc add dev {port} root netem loss 1% limit 100000")
    transfer(net, "-n 20M")
    (qdisc,) = json.loads(place.run(f"tc -s -j qdisc show dev {port}").output)
    assert qdisc["packets"] > 15e6 / MSS_BYTES  # every packet on the wire was counted
    assert 0.005 < qdisc["drops"] / (qdisc["drops"] + qdisc["packets"]) < 0.015


@counts_every_byte
def test_nics_with_and_without_tso_reach_the_same_goodput(start: Start) -> None:
    goodput_bps = {}
    for tso in (True, False):
        net = start(shapes.single(2), nic=Nic(tso=tso), sysctls=SYSCTLS)
        net.root.run("tc qdisc add dev s1-eth2 root handle 1: netem delay 5ms limit 100000")
        net.root.run("tc qdisc add dev s1-eth2 parent 1: tbf rate 100mbit burst 20000 limit 500000")
        goodput_bps[tso] = transfer(net, "-t 1.2 -O 1")["sum_received"]["bits_per_second"]
    assert goodput_bps[True] == pytest.approx(goodput_bps[False], rel=1e-3)
    assert goodput_bps[True] == pytest.approx(100e6 * MSS_BYTES / 1514, rel=1e-3)


def test_a_run_with_segmented_packets_repeats_to_the_byte(start: Start) -> None:
    def run() -> str:
        net = start(shapes.single(2), seed=3, sysctls=SYSCTLS)
        net.root.run("tc qdisc add dev s1-eth2 root netem delay 5ms loss 0.1% limit 100000")
        net["h2"].start("iperf3 -s -1")
        net.run_for("10ms")
        sent = net["h1"].run("iperf3 -c h2 -n 5M -i 0.1").output
        seen = net.root.run("tc -s qdisc show; ip -s link; cat /proc/uptime").output
        net.stop()
        return sent + seen

    first, second = run(), run()
    assert "iperf Done" in first
    assert first == second


def pings_ms(net: Network, arguments: str) -> list[float]:
    lines = net["h1"].run(f"ping {arguments} h2").output.splitlines()
    return [float(line.split("time=")[1].split()[0]) for line in lines if "time=" in line]


def test_coalescing_does_not_delay_a_single_ping_and_batches_bulk_traffic(start: Start) -> None:
    net = start(shapes.single(2), sysctls=SYSCTLS)
    assert [time_ms < 0.002 for time_ms in pings_ms(net, "-c 3")] == [True] * 3
    net["h2"].run("ethtool -C h2-eth0 adaptive-rx off rx-usecs 1000")
    assert [0.9 < time_ms <= 1 for time_ms in pings_ms(net, "-c 3 -i 0.0005")[1:]] == [True] * 2
    net["h2"].run("ethtool -C h2-eth0 adaptive-rx on rx-usecs 125")
    net.root.run("tc qdisc add dev s1-eth2 root tbf rate 1gbit burst 3000 limit 500000")
    (received,) = lengths(net, ("h2", "h2-eth0", "in"), during=lambda: transfer(net, "-n 20M"))
    # In 125 us, 1 Gbit/s carries ten and a third packets.
    assert received.get(10 * MSS_BYTES, 0) + received.get(11 * MSS_BYTES, 0) > 500
    assert max(received) == 11 * MSS_BYTES


def test_coalescing_can_be_switched_off(start: Start) -> None:
    net = start(shapes.single(2), nic={"coalescing": 0}, sysctls=SYSCTLS)
    net.root.run("tc qdisc add dev s1-eth2 root tbf rate 200mbit burst 3000 limit 500000")
    (received,) = lengths(net, ("h2", "h2-eth0", "in"), during=lambda: transfer(net, "-n 1M"))
    assert max(received) == MSS_BYTES


@pytest.mark.parametrize(("coalescing", "lost"), [("250us", 0.549), ("50us", 0)])
def test_a_udp_stream_overflows_a_buffer_that_is_smaller_than_a_batch(
    start: Start, coalescing: str, lost: float
) -> None:
    """206 datagrams arrive within 250 us, and the default buffer holds 93."""
    net = start(shapes.single(2), nic={"coalescing": coalescing}, line_rate="10Gbps")
    net["h2"].start("iperf3 -s -1")
    net.run_for("100ms")
    done = net["h1"].run("iperf3 -u -b 10G -n 12M -c 10.0.0.2 -J")
    end = json.loads(done.output)["end"]["sum"]
    assert end["lost_packets"] / end["packets"] == pytest.approx(lost, abs=0.03)


@pytest.mark.parametrize(("coalescing", "pause"), [("250us", "sleep 0.001"), (0, ":")])
def test_a_client_of_iperf3_succeeds_soon_after_another_one(
    start: Start, coalescing: str | int, pause: str
) -> None:
    """The server reopens its socket after each test, so the next SYN must come in another batch."""
    net = start(shapes.single(2), nic={"coalescing": coalescing})
    net["h2"].start("iperf3 -s")
    net.run_for("10ms")
    script = f"for client in 1 2 3 4; do iperf3 -c 10.0.0.2 -n 1M || exit; {pause}; done"
    assert net["h1"].run(f"bash -c '{script}'").output.count("iperf Done") == 4


def test_a_nic_with_several_queues_shares_its_line(start: Start) -> None:
    """Flows leave by the queues that their hashes choose, and the port serves these in turn."""
    ports = [Port(host, speed_bps=1_000_000_000, nic=Nic(queues=4)) for host in ("h1", "h2")]
    topology = Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1")),
        links=tuple(link(port, "s1") for port in ports),
    )
    net = start(topology, sysctls=SYSCTLS)
    assert "TX:\t\t4" in net["h1"].run("ethtool -l h1-eth0").output
    assert "TX:\t\t1" in net.root.run("ethtool -l s1-eth1").output
    received = transfer(net, "-P 8 -t 2")["sum_received"]
    assert 0.93e9 < received["bits_per_second"] < 0.95e9
    shown = json.loads(net["h1"].run("tc -s -j qdisc show dev h1-eth0").output)
    assert shown[0]["kind"] == "mq"
    sent = [one["bytes"] for one in shown[1:]]
    used = [one for one in sent if one > received["bytes"] / 100]
    assert len(used) > 1
    assert max(used) < 1.1 * min(used)


GATED = """
import socket, sys, time
port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "receive":
    port.bind(("", 5000))
    for _ in range(40):
        sent_us = int(port.recv(100))
        print(sent_us, time.time_ns() // 1000, flush=True)
else:
    for number in range(40):
        time.sleep(0.00337)
        port.sendto(str(time.time_ns() // 1000).encode(), ("10.0.0.2", 5000))
"""


def test_taprio_opens_the_gates_of_the_queues_on_virtual_time(start: Start) -> None:
    """Class 0 may send in the first 300 of each 1000 us only."""
    net = start(shapes.single(2), nic={"queues": 2, "coalescing": "0us"})
    (net.folder / "gated.py").write_text(GATED)
    net["h1"].run(
        "tc qdisc replace dev h1-eth0 parent root handle 100 taprio num_tc 2 map 0 1 queues 1@0 1@1 "
        "base-time 0 sched-entry S 01 300000 sched-entry S 02 700000 clockid CLOCK_TAI"
    )
    receiving = net["h2"].start("python3 gated.py receive")
    net.run_for("100ms")
    net["h1"].run("ping -c 1 h2")
    net["h1"].run("python3 gated.py send")
    receiving.wait()
    times_us = [(int(a), int(b)) for a, b in map(str.split, receiving.output.splitlines())]
    kept = [(sent_us, received_us) for sent_us, received_us in times_us if sent_us % 1000 >= 300]
    assert len(times_us) == 40
    assert len(kept) > 20
    for sent_us, received_us in times_us:
        opens_us = sent_us if sent_us % 1000 < 300 else sent_us // 1000 * 1000 + 1000
        assert received_us - opens_us in (0, 1)
