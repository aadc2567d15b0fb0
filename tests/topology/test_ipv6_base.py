"""Hosts get IPv6 addresses beside their IPv4 ones from one word, in every format."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab import Host, Network, Port, Router, Topology, iperf3, link, load, ping, save, shapes
from wanlab.operations import AddAddress, WriteFile
from wanlab.plan import plan
from wanlab.plan.build import hosts_file
from wanlab.topology import check, draw, read_drawing, resolve

TOPOLOGY = replace(shapes.single(2), ipv6_base="fd00::/64")


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".mn"])
def test_a_file_keeps_the_ipv6_base(tmp_path: Path, suffix: str) -> None:
    save(TOPOLOGY, tmp_path / f"a{suffix}")
    assert load(tmp_path / f"a{suffix}").ipv6_base == "fd00::/64"


def test_a_drawing_keeps_the_ipv6_base() -> None:
    assert read_drawing(draw(TOPOLOGY))[0].ipv6_base == "fd00::/64"


def test_each_host_gets_an_address_of_each_family_and_both_names() -> None:
    operations = plan(resolve(TOPOLOGY))
    addresses = [o.address for o in operations if isinstance(o, AddAddress)]
    assert addresses == ["10.0.0.1/8", "fd00::1/64", "10.0.0.2/8", "fd00::2/64"]
    files = {o.path: o.content for o in operations if isinstance(o, WriteFile)}
    assert files["/etc/hosts"].splitlines()[2:] == [
        "10.0.0.1 h1",
        "fd00::1 h1",
        "10.0.0.2 h2",
        "fd00::2 h2",
    ]
    assert "::ffff:0:0/96" in files["/etc/gai.conf"]


def test_without_the_word_nothing_changes() -> None:
    operations = plan(resolve(shapes.single(2)))
    assert [o.address for o in operations if isinstance(o, AddAddress)] == [
        "10.0.0.1/8",
        "10.0.0.2/8",
    ]
    assert "/etc/gai.conf" not in {o.path for o in operations if isinstance(o, WriteFile)}


def test_explicit_addresses_of_both_families_have_the_nodes_name() -> None:
    """The first of each family, in the order of the ports."""
    topology = Topology(
        nodes=(Host("h1", ip="2001:db8::1/64"), Router("r1"), Host("h2", ip="")),
        links=(
            link("h1", Port("r1", ip="2001:db8::2/64")),
            link(Port("r1", ip="192.0.2.1/24"), "h2"),
        ),
    )
    assert hosts_file(resolve(topology)).splitlines()[2:] == [
        "2001:db8::1 h1",
        "2001:db8::2 r1",
        "192.0.2.1 r1",
    ]


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("10.0.0.0/8", '"10.0.0.0/8" is not an IPv6 network'),
        ("fd00::/127", "fd00::/127 has no address for host number 2"),
    ],
)
def test_a_wrong_ipv6_base_is_a_problem(base: str, problem: str) -> None:
    assert problem in [found.what for found in check(replace(TOPOLOGY, ipv6_base=base))]


@pytest.mark.machine
def test_names_reach_both_families_and_prefer_ipv4() -> None:
    with Network(replace(shapes.minimal(delay="5ms"), ipv6_base="fd00::/64")) as net:
        for options, address in (("", "10.0.0.2"), ("-4", "10.0.0.2"), ("-6", "fd00::2")):
            done = net["h1"].run(f"ping {options} -c 2 h2")
            assert address in done.output.splitlines()[0]
            assert ping.parse(done.output).received == 2
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        for options, address in (("", "10.0.0.2"), ("-6", "fd00::2")):
            done = net["h1"].run(f"iperf3 -c h2 {options} -t 1 -J")
            (stream,) = iperf3.parse(done.output).streams
            assert stream.remote_host == address
            net.run_for("10ms")
        output = net["h2"].run("wanlab-traffic serve -D; wanlab-traffic bulk fd00::2 --bytes 1KB")
        assert "1000 bytes" in output.output


@pytest.mark.machine
def test_one_option_gives_ipv6_addresses_to_a_shape(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wanlab.cli", "exec", "--topo", "single,2", "--ipv6"]
    done = subprocess.run(
        [*command, "--node", "h1", "--", "ping", "-6", "-c", "1", "h2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "fd00::2" in done.stdout
