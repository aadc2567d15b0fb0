"""Test routers that run FRRouting, if it is installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import PATIENCE_S

from wanlab import Host, Network, Port, Process, Router, Topology, link

FRR = Path("/usr/lib/frr/zebra").exists()
pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(not FRR, reason="FRRouting (package frr) is not installed"),
]

Start = Callable[..., Network]

OSPF = """
interface lo
 ip address 10.9.9.{number}/32
interface r{number}-eth0
 ip ospf hello-interval 1
 ip ospf dead-interval 4
interface r{number}-eth1
 ip ospf hello-interval 1
 ip ospf dead-interval 4
interface r{number}-eth2
 ip ospf hello-interval 1
 ip ospf dead-interval 4
router ospf
 ospf router-id 10.9.9.{number}
 network 10.0.0.0/8 area 0
"""


def ring() -> Topology:
    """Return h1 - r1 - r2 - h2 with a longer way from r1 to r2 through r3."""
    return Topology(
        nodes=(
            Host("h1", ip="10.0.1.2/24", default_route="10.0.1.1"),
            Host("h2", ip="10.0.2.2/24", default_route="10.0.2.1"),
            *(Router(f"r{n}", frr=OSPF.format(number=n)) for n in (1, 2, 3)),
        ),
        links=(
            link("h1", Port("r1", ip="10.0.1.1/24")),
            link("h2", Port("r2", ip="10.0.2.1/24")),
            link(Port("r1", ip="10.0.12.1/24"), Port("r2", ip="10.0.12.2/24"), delay="1ms"),
            link(Port("r2", ip="10.0.23.2/24"), Port("r3", ip="10.0.23.3/24"), delay="1ms"),
            link(Port("r1", ip="10.0.13.1/24"), Port("r3", ip="10.0.13.3/24"), delay="1ms"),
        ),
    )


def instant_of(watcher: Process, route: str) -> str:
    """Return when the kernel last got this route, as `ip -ts monitor` printed it."""
    *_, said = (line for line in watcher.output.splitlines() if route in line)
    return said.split("]")[0].lstrip("[")


def story(start: Start) -> dict[str, str]:
    """Record what happens in a ring whose short side goes down."""
    net = start(ring())
    watcher = net["r1"].start("ip -ts -o monitor route")
    net.run_for("20s")
    found = {"found": instant_of(watcher, "10.0.2.0/24 nhid")}
    found["short way"] = net["h1"].run("ping -c 2 h2").output
    found["down"] = net.root.run("date +%FT%T.%6N").output.strip()
    net.set_link_up("r1", "r2", False)
    net.run_for("5s")
    found["rerouted"] = instant_of(watcher, "10.0.2.0/24 nhid")
    found["long way"] = net["h1"].run("ping -c 2 h2").output
    net.set_link_up("r1", "r2", True)
    net.run_for("20s")
    found["short again"] = net["h1"].run("ping -c 2 h2").output
    found["shown"] = net.root.run(
        "vtysh -N r1 -c 'show ip ospf neighbor' -c 'show ip route'"
    ).output
    found["text"] = net["r2"].run("vtysh -N r2 -c 'show running-config'").output
    found["all"] = watcher.output
    return found


@pytest.mark.long
def test_ospf_converges_and_reroutes_at_the_same_instants_each_time(start: Start) -> None:
    first = story(start)
    # A router waits for the dead interval, 4 s, before the election; then the databases are exchanged.
    assert "2026-01-01T00:00:13" < first["found"] < "2026-01-01T00:00:25"
    assert first["down"][:19] == first["rerouted"][:19]
    assert [first[way].count("ttl=62") for way in ("short way", "long way", "short again")] == [
        2,
        0,
        2,
    ]
    assert first["long way"].count("ttl=61") == 2
    assert first["shown"].count("Full/") == 2
    assert "10.9.9.2/32 [110/" in first["shown"]
    assert " network 10.0.0.0/8 area 0" in first["text"]
    assert story(start) == first


def test_static_routes_and_interfaces_can_be_configured_in_frr(start: Start) -> None:
    static = "ip route 10.7.0.0/16 10.0.1.2\ninterface r1-eth0\n description to the host\n"
    topology = Topology(
        nodes=(Host("h1", ip="10.0.1.2/24"), Router("r1", frr=static)),
        links=(link("h1", Port("r1", ip="10.0.1.1/24")),),
    )
    net = start(topology)
    net.run_for("1s")
    assert "via 10.0.1.2" in net["r1"].run("ip route show 10.7.0.0/16").output
    for place in (net.root, net["r1"]):
        shown = place.run("vtysh -N r1 -c 'show interface r1-eth0'")
        assert "Description: to the host" in shown.output
        assert shown.stderr == ""


def test_lines_that_frr_does_not_know_are_left_out_with_a_warning(start: Start) -> None:
    frr = "hostname edge\nlog stderr\nip route 10.7.0.0/16 10.0.1.2\n netwrk 10.0.0.0/8 area 0\n"
    topology = Topology(
        nodes=(Host("h1", ip="10.0.1.2/24"), Router("r1.dc1", frr=frr)),
        links=(link("h1", Port("r1.dc1", ip="10.0.1.1/24")),),
    )
    net = start(topology)
    (warning,) = net.warnings
    assert warning.startswith("frr.conf of r1.dc1: left out line 2: ")
    assert "log stderr; line 4: " in warning
    assert "netwrk 10.0.0.0/8 area 0" in warning
    net.run_for("1s")
    assert "via 10.0.1.2" in net["r1.dc1"].run("ip route show 10.7.0.0/16").output
    # FRRouting allows no dots in this name.
    assert "ip route 10.7" in net.root.run("vtysh -N r1+dc1 -c 'show running-config'").output


def test_a_network_with_routing_programs_stops_at_once(start: Start) -> None:
    net = start(ring())
    net.run_for("10s")
    began = time.monotonic()
    net.stop()
    assert time.monotonic() - began < PATIENCE_S
