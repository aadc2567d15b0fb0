"""Test adding to a running network and removing from it."""

from pathlib import Path

import pytest

from wanlab import Host, Network, Router, Switch, link, shapes
from wanlab.errors import TopologyError

pytestmark = pytest.mark.machine


def reaches(net: Network, source: str, address: str) -> bool:
    return net[source].run(f"ping -c 1 -W 1 {address}", check=False).status == 0


def test_a_new_host_is_reached_through_an_existing_switch(tmp_path: Path) -> None:
    with Network(shapes.single(2), folder=tmp_path) as net:
        net.add(Host("h3"), link("h3", "s1", delay="5ms"))
        assert net.port("h3-eth0").ip == "10.0.0.3/8"
        assert net.port("s1-eth3").node == "s1"
        assert net["h1"].run("ping -c 2 h3").output.splitlines()[2].endswith("time=10.0 ms")


def test_a_new_part_of_the_network_is_set_up_as_at_the_start(tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path) as net:
        net.add(
            Switch("s2"),
            Host("h3"),
            Host("h4", start_command=f"echo here > {tmp_path}/started.txt"),
            link("s1", "s2"),
            link("h3", "s2"),
            link("h4", "s2"),
        )
        assert reaches(net, "h1", "10.0.0.4")
        assert reaches(net, "h4", "10.0.0.3")
    assert (tmp_path / "started.txt").read_text() == "here\n"


def test_an_addition_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path) as net:
        before = net.topology
        with pytest.raises(TopologyError, match="h1"):
            net.add(Host("h1"))
        assert net.topology == before
        assert reaches(net, "h1", "10.0.0.2")


def test_a_removed_link_can_be_added_again(tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path) as net:
        net.remove_link("s1-eth2")
        assert not reaches(net, "h1", "10.0.0.2")
        assert "s1-eth2" not in net.root.run("ip -br link").output
        net.add(link("s1", "h2"))
        assert reaches(net, "h1", "10.0.0.2")


def test_removing_a_node_removes_its_links_and_processes(tmp_path: Path) -> None:
    with Network(shapes.single(3), folder=tmp_path) as net:
        sleeper = net["h3"].start("sleep 1000")
        net.remove_node("h3")
        assert sleeper.wait("1s") == -9
        assert net.root.run("ls /run/netns").output.split() == ["h1", "h2"]
        assert "s1-eth3" not in net.root.run("ip -br link").output
        with pytest.raises(TopologyError, match="h3"):
            net["h3"]


def test_a_switch_can_be_removed(tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path) as net:
        net.remove_node("s1")
        assert net.root.run("ip -br link").output.count("s1") == 0
        net.add(Router("r1"), link("h1", "r1"))
        assert "h1-eth0" in net["h1"].run("ip -br link").output
