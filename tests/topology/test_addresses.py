"""Names and addresses follow Mininet's rules."""

from dataclasses import replace

import pytest

from wanlab.errors import WanlabError
from wanlab.topology import Host, Port, Router, Switch, Topology, link, resolve, shapes
from wanlab.topology.addresses import automatic_ip


def ends(topology: Topology) -> list[tuple[object, ...]]:
    return [
        (port.name, port.number, port.ip, port.mac) for one in topology.links for port in one.ports
    ]


def test_hosts_count_ports_from_0_and_switches_from_1() -> None:
    assert ends(resolve(shapes.minimal())) == [
        ("h1-eth0", 0, "10.0.0.1/8", "00:00:00:00:00:01"),
        ("s1-eth1", 1, None, "02:00:00:03:00:01"),
        ("h2-eth0", 0, "10.0.0.2/8", "00:00:00:00:00:02"),
        ("s1-eth2", 2, None, "02:00:00:03:00:02"),
    ]


def test_a_requested_port_number_is_not_given_to_another_port() -> None:
    topology = Topology(
        nodes=(Host("h1"), Host("h2"), Host("h3"), Switch("s1")),
        links=(link("h1", "s1"), link("h2", Port("s1", number=1)), link("h3", "s1")),
    )
    assert [one.b.name for one in resolve(topology).links] == ["s1-eth2", "s1-eth1", "s1-eth3"]


def test_explicit_names_and_addresses_are_kept() -> None:
    topology = Topology(
        nodes=(Host("h1", ip="10.0.0.77", mac="00:00:00:00:00:aa"), Router("r1"), Host("h2")),
        links=(
            link("h1", Port("r1", name="lan", ip="10.0.0.254/8", mac="00:00:00:00:00:bb")),
            link("r1", Port("h2", ip="10.9.0.1/16")),
        ),
    )
    resolved = resolve(topology)
    assert ends(resolved) == [
        ("h1-eth0", 0, "10.0.0.77/8", "00:00:00:00:00:aa"),
        ("lan", 0, "10.0.0.254/8", "00:00:00:00:00:bb"),
        ("r1-eth1", 1, None, "02:00:00:02:00:01"),
        ("h2-eth0", 0, "10.9.0.1/16", "00:00:00:00:00:02"),
    ]
    assert [host.ip for host in resolved.hosts] == ["10.0.0.77/8", "10.9.0.1/16"]


def test_only_the_first_port_of_a_host_has_an_automatic_address() -> None:
    topology = Topology(
        nodes=(Host("h1"), Switch("s1"), Switch("s2")), links=(link("s1", "h1"), link("h1", "s2"))
    )
    assert [port.ip for port in resolve(topology).ports("h1")] == ["10.0.0.1/8", None]


def test_a_host_without_links_has_an_address_too() -> None:
    (host,) = resolve(Topology(nodes=(Host("h1"),))).hosts
    assert (host.ip, host.mac) == ("10.0.0.1/8", "00:00:00:00:00:01")


def test_a_number_from_a_file_has_the_same_meaning_as_in_miniedit() -> None:
    resolved = resolve(Topology(nodes=(Host("h7", number=7), Host("h1", number=1))))
    assert [host.ip for host in resolved.hosts] == ["10.0.0.7/8", "10.0.0.1/8"]


@pytest.mark.parametrize(
    ("ip_base", "number", "ip"),
    [
        ("10.0.0.0/8", 1, "10.0.0.1/8"),
        ("10.0.0.0/8", 256, "10.0.1.0/8"),
        ("10.0.0.5/8", 1, "10.0.0.5/8"),
        ("10.0.0.5/8", 2, "10.0.0.6/8"),
        ("192.168.1.0/30", 2, "192.168.1.2/30"),
    ],
)
def test_addresses_count_from_the_base(ip_base: str, number: int, ip: str) -> None:
    assert automatic_ip(ip_base, number) == ip


@pytest.mark.parametrize(
    ("ip_base", "number", "network"),
    [
        ("192.168.1.0/30", 3, "192.168.1.0/30"),
        ("255.255.255.255/8", 2, "255.0.0.0/8"),  # the next address would have 33 bits
        ("10.0.0.0/8", 2**70, "10.0.0.0/8"),
    ],
)
def test_a_full_network_is_an_error(ip_base: str, number: int, network: str) -> None:
    with pytest.raises(WanlabError) as caught:
        automatic_ip(ip_base, number)
    assert caught.value.what == f"{network} has no address for host number {number}"


def test_macs_are_unique_in_a_large_network() -> None:
    resolved = resolve(shapes.tree(2, 16))
    macs = [port.mac for one in resolved.links for port in one.ports]
    assert len(set(macs)) == len(macs) == 544


def test_resolving_twice_changes_nothing() -> None:
    resolved = resolve(shapes.torus(3, 3))
    assert resolve(resolved) == resolved
    assert resolve(replace(resolved, name="again")) == replace(resolved, name="again")
