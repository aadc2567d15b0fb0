"""Test what hosts have besides ports: private directories, VLAN interfaces, shares of the CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from machines import why_no_native

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
        '(leave it out, or run on the computer\'s kernel, as root: --machine native (machine="native"))'
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


OUTSIDE = """
import subprocess, sys
from wanlab import Host, Network, Switch, Topology, link

def ip(*words):
    subprocess.run(["ip", *words], check=True)

ip("link", "add", "eth8", "type", "veth", "peer", "name", "eth9")
ip("addr", "add", "10.0.0.9/8", "dev", "eth9")
ip("link", "set", "eth9", "up")
topology = Topology(
    nodes=(Host("h1"), Switch("s1", external_interfaces=("eth8",))), links=(link("h1", "s1"),)
)
with Network(topology, machine="native", wire="gso", folder=sys.argv[1]) as net:
    subprocess.run(["ping", "-c", "1", "-W", "5", "10.0.0.1"], check=True)
    print(net.root.run("ls /sys/class/net/s1/brif").output.split())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root moves interfaces")
def test_an_interface_of_the_computer_joins_a_switch_of_the_native_machine(tmp_path: Path) -> None:
    """A network namespace that the test makes takes the place of the computer."""
    if reason := why_no_native():
        pytest.skip(reason)
    if shutil.which("unshare") is None:
        pytest.skip("there is no program unshare")
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", OUTSIDE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['eth8', 's1-eth1']"
