"""Nodes of one network have different processors, or none: each takes its own time for a packet."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from wanlab import Network
from wanlab.errors import TopologyError, WanlabError
from wanlab.measure import Processors, sample
from wanlab.measure.ping import parse
from wanlab.topology import loads, read_processor
from wanlab.topology.cpu import COSTS

pytestmark = pytest.mark.machine

Start = Callable[..., Network]


def takes(us: int) -> dict[str, object]:
    """Return a processor that needs this time for each received packet, and none for anything else."""
    costs = {**dict.fromkeys(COSTS, 0), "rx_stack_ns": us * 1000}
    return {"model": f"takes-{us}", "cores": 1, "speed": 1.0, "costs": costs}


NETWORK = f"""
nodes:
- {{host: h1, cpu: {json.dumps(takes(7))}}}
- {{host: h2, cpu: {json.dumps(takes(20))}}}
- {{host: h3, cpu: free}}
- {{host: h4, cpu: 0.5}}
- {{host: h5}}
- {{switch: s1}}
- {{router: r1, cpu: {json.dumps(takes(9))}}}
- {{host: h6, ip: 192.168.0.1/24, default_route: 192.168.0.2, cpu: free}}
links:
- link: [h1, s1]
- link: [h2, s1]
- link: [h3, s1]
- link: [h4, s1]
- link: [h5, s1]
- {{link: [r1, s1], a_port: {{ip: 10.0.0.254/8}}}}
- {{link: [r1, h6], a_port: {{ip: 192.168.0.2/24}}}}
"""

ROUTED = """
nodes:
- {host: h1, ip: 10.0.1.1/24, default_route: 10.0.1.2}
- {router: r1, cpu: PROCESSOR}
- {host: h2, ip: 10.0.2.1/24, default_route: 10.0.2.2}
links:
- {link: [h1, r1], b_port: {ip: 10.0.1.2/24}}
- {link: [r1, h2], a_port: {ip: 10.0.2.2/24}}
"""
FLOOD = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"", ("10.0.2.1", 9))  # which asks for the MAC addresses
time.sleep(0.01)
for _ in range(6000):
    sender.sendto(bytes(22), ("10.0.2.1", 9))
"""


def rtt_us(net: Network, host: str, *, to: str) -> float:
    net[host].run(f"ping -c 1 {to}")  # which asks for the MAC address
    output = net[host].run(f"ping -c 2 -i 0.2 {to}").output
    return round(1000 * (parse(output).min_ms or 0), 3)


@pytest.mark.parametrize(
    ("default", "h4_us", "h5_us"), [("free", 0, 0), (takes(100), 200, 100)], ids=["free", "100us"]
)
def test_each_node_takes_its_own_time(
    start: Start, default: object, h4_us: float, h5_us: float
) -> None:
    net = start(loads(NETWORK, "net.yaml"), cpu=default)
    for name, us in (("h1", 7), ("h2", 20), ("h4", h4_us), ("h5", h5_us)):
        assert rtt_us(net, "h3", to=name) == us
    assert rtt_us(net, "h1", to="h3") == 0
    net["h3"].run("ip route add 192.168.0.0/24 via 10.0.0.254")
    assert rtt_us(net, "h3", to="h6") == 18  # the router receives the request, and the answer
    net.set_cpu_share("h1", 0.5)
    assert rtt_us(net, "h3", to="h1") == 14


def test_the_work_of_each_node_is_counted_by_its_own_model(start: Start) -> None:
    net = start(loads(NETWORK, "net.yaml"))
    rtt_us(net, "h3", to="h1")
    work = sample(net, Processors(), until="1ms")["processor"]
    assert set(work["node"]) == {"h1", "h2", "r1"}
    took_ns = dict(zip(work["node"], work["rx_stack_ns"], strict=True))
    assert took_ns["h1"] % 7000 == 0
    assert took_ns["h1"] >= 4 * 7000


def test_a_node_without_a_processor_is_named(start: Start) -> None:
    net = start(loads(NETWORK, "net.yaml"))
    with pytest.raises(WanlabError, match="h3 has no processor"):
        net.set_cpu_share("h3", 0.5)
    with pytest.raises(WanlabError, match="no processor: h3, s1"):
        sample(net, Processors("h1", "h3", "s1"), until="1ms")
    assert [warning for warning in net.warnings if "h4: processor limits" in warning]
    with pytest.raises(TopologyError, match="router r1: the processor takes-9 needs virtual time"):
        Network(loads(NETWORK, "net.yaml"), clock="real")


def test_a_record_has_the_costs_of_each_node(start: Start) -> None:
    text = "nodes: [{host: h1, cpu: server-2019}, {host: h2}]\nlinks: [{link: [h1, h2]}]"
    net = start(loads(text, "net.yaml"))
    recorded = json.loads(net.provenance().topology)["hosts"][0]["opts"]["wanlab"]["cpu"]
    assert recorded["model"] == "server-2019"
    assert set(recorded["costs"]) == set(COSTS)


@pytest.mark.parametrize("packet_us", [1, 2, 4, 9])
def test_a_flooded_router_forwards_what_its_processor_allows(start: Start, packet_us: int) -> None:
    """The line carries 1.488 million packets of 64 bytes per second, more than the router forwards.

    NAPI counts: with up to 64 packets in a poll, a few more or less can fall into the 2 ms.
    """
    net = start(
        loads(ROUTED.replace("PROCESSOR", json.dumps(takes(packet_us))), "net.yaml"),
        line_rate="1Gbps",
    )
    assert forwarded_in_2_ms(net) == pytest.approx(2000 / packet_us, abs=12)


def test_a_router_of_a_server_forwards_what_its_processor_allows(start: Start) -> None:
    text = ROUTED.replace("PROCESSOR", "{model: server-2019, cores: 1}")
    net = start(loads(text, "net.yaml"), line_rate="1Gbps")
    costs = read_processor("server-2019").costs
    packet_ns = sum(costs[f"{it}_ns"] for it in ("rx_packet", "rx_stack", "tx_stack", "tx_packet"))
    assert forwarded_in_2_ms(net) == pytest.approx(2e6 / packet_ns, rel=0.01)


def forwarded_in_2_ms(net: Network) -> int:
    def forwarded() -> int:
        return int(net["h2"].run("cat /sys/class/net/h2-eth0/statistics/rx_packets").output)

    net["h1"].start(["python3", "-c", FLOOD])
    net.run_for("11ms")
    before = forwarded()
    net.run_for("2ms")
    return forwarded() - before
