"""Test what hosts have besides ports: private directories, VLAN interfaces, shares of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab import Host, Network, Switch, Topology, link, shapes
from wanlab.errors import TopologyError

pytestmark = pytest.mark.machine

Start = Callable[..., Network]


def with_hosts(*hosts: Host, **switch: object) -> Topology:
    return Topology(
        nodes=(*hosts, replace(Switch("s1"), **switch)),  # type: ignore[arg-type]
        links=tuple(link(host.name, "s1") for host in hosts),
    )


def test_each_host_has_its_own_private_directory(start: Start, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    one = Host("h1", private_directories=(("/var/own", None), ("/srv/own", str(kept))))
    other = Host("h2", private_directories=(("/var/own", None),))
    net = start(with_hosts(one, other))
    for host in ("h1", "h2"):
        net[host].run(f"echo {host} > /var/own/name")
    assert [net[host].run("cat /var/own/name").output for host in ("h1", "h2")] == ["h1\n", "h2\n"]
    assert net.root.run("ls /var/own").output == ""
    net["h1"].run("echo kept > /srv/own/word")
    assert net["h2"].run("ls /srv/own").output == ""
    assert (kept / "word").read_text() == "kept\n"


def test_hosts_reach_each_other_in_a_vlan(start: Start) -> None:
    net = start(
        with_hosts(
            Host("h1", vlan_interfaces=(("10.1.0.1/24", 100), ("10.2.0.1/24", 200))),
            Host("h2", vlan_interfaces=(("10.1.0.2/24", 100),)),
        )
    )
    shown = net["h1"].run("ip -br -4 addr").output.split()
    assert shown[shown.index("h1-eth0.200@h1-eth0") + 2] == "10.2.0.1/24"
    assert " 2 received" in net["h1"].run("ping -c 2 -i 0.2 10.1.0.2").output
    tagged = net["h2"].start("tcpdump -c 1 -nei h2-eth0 vlan 100 and icmp")
    net.run_for("100ms")
    net["h1"].run("ping -c 1 10.1.0.2")
    tagged.wait()
    assert "vlan 100" in tagged.output


def test_an_interface_of_the_computer_is_refused_with_the_reason() -> None:
    host = Host("h1", external_interfaces=("eth9",))
    with pytest.raises(TopologyError) as caught:
        Network(with_hosts(host), machine="embedded")
    assert str(caught.value) == (
        "host h1: the computer's interface eth9 cannot join a network on wanlab's own kernel "
        "(leave it out, or connect your NICs with Mininet itself (wanlab docs limitations))"
    )


def test_a_cpu_share_on_virtual_time_is_ignored_with_a_warning(start: Start) -> None:
    shared = Host("h1", cpu=0.1, scheduler="rt")
    net = start(with_hosts(shared, Host("h2")))
    assert net.warnings == [
        "h1: processor limits (cpu, cores, scheduler) have no effect on virtual time, "
        "where computing takes no time"
    ]
    assert start(shapes.minimal()).warnings == []


def test_a_cpu_share_holds_on_the_real_clock(start: Start) -> None:
    net = start(with_hosts(Host("h1", cpu=0.2), Host("h2")), clock="real")
    assert net.warnings == []
    limit = net["h1"].run("cat /proc/self/cgroup").output.strip().removeprefix("0::")
    assert net.root.run(f"cat /sys/fs/cgroup{limit}/cpu.max").output == "20000 100000\n"
    assert net["h2"].run("cat /proc/self/cgroup").output == "0::/\n"
    burn = "python3 -c 'import time\nwhile time.process_time() < 0.2: pass'"
    assert net["h1"].run(burn).seconds > 0.6


def test_real_time_scheduling_is_refused_on_the_real_clock() -> None:
    with pytest.raises(TopologyError, match='the scheduler "rt" needs a kernel'):
        Network(with_hosts(Host("h1", cpu=0.1, scheduler="rt")), clock="real")
