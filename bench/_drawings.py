"""Networks that are drawn in the page to measure it."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from wanlab import Host, Switch, Topology, link, save
from wanlab.topology.model import Link

HOSTS, SWITCHES, TERMINALS = 50, 10, 20
MIDDLE, LARGE = (3, 4), (5, 8)
"""Rows and columns of switches; each has hosts around it."""
HOSTS_PER_SWITCH = 24
LARGE_COUNT = 5 * 8 * (1 + HOSTS_PER_SWITCH)


def save_networks(folder: Path) -> None:
    """Write the files of all networks that are measured."""
    save(many_hosts(), folder / "many.yaml")
    save(stars(*MIDDLE), folder / "middle.yaml")
    save(stars(*LARGE), folder / "thousand.yaml")
    save(star(), folder / "star.yaml")
    save(two_hosts(), folder / "two.yaml")


def many_hosts() -> Topology:
    """Return switches in a row, each with hosts around it and with labels at every link."""
    each = HOSTS // SWITCHES
    switches = [
        Switch(f"s{s}", x=200.0 * s, y=500.0 - 200 * (s % 2)) for s in range(1, SWITCHES + 1)
    ]
    hosts, links = [], []
    for number in range(HOSTS):
        switch = switches[number // each]
        up = -1 if switch.y < 400 else 1
        x, y = switch.x - 80 + 40 * (number % each), switch.y + up * (150 + 60 * (number % 2))
        hosts.append(Host(f"h{number + 1}", x=x, y=y))
        links.append(link(hosts[-1].name, switch.name, rate="10Mbps", delay="5ms"))
    links += [link(a.name, b.name, rate="100Mbps") for a, b in pairwise(switches)]
    return Topology(nodes=(*switches, *hosts), links=tuple(links))


def stars(rows: int, columns: int) -> Topology:
    """Return a grid of switches, each with hosts around it."""
    switches: list[Switch] = []
    hosts: list[Host] = []
    links: list[Link] = []
    for number in range(rows * columns):
        x, y = 700.0 * (number % columns), 600.0 * (number // columns)
        switches.append(Switch(f"s{number + 1}", x=x, y=y, stp=True))
        for index in range(HOSTS_PER_SWITCH):
            angle = 2 * math.pi * index / HOSTS_PER_SWITCH
            name = f"h{len(hosts) + 1}"
            hosts.append(Host(name, x=x + 270 * math.cos(angle), y=y + 220 * math.sin(angle)))
            links.append(link(name, switches[-1].name, rate="10Mbps"))
    links += [link(a.name, b.name) for a, b in pairwise(switches)]
    return Topology(nodes=(*switches, *hosts), links=tuple(links))


def star() -> Topology:
    """Return a star with as many hosts as terminals are opened."""
    hosts = [
        Host(f"h{n}", x=100.0 * (n % 10), y=100.0 + 200 * (n // 10))
        for n in range(1, TERMINALS + 1)
    ]
    links = [link(host.name, "s1", rate="10Mbps") for host in hosts]
    nodes = (Switch("s1", x=450, y=200), *hosts)
    # On the real clock, so that a flood of 1 MB/s is one.
    return Topology(nodes=nodes, links=tuple(links), extra={"run": {"clock": "real"}})


def two_hosts() -> Topology:
    """Return a slow path, so that an hour of its time is soon computed."""
    nodes = (Host("h1", x=100, y=100), Switch("s1", x=300, y=100), Host("h2", x=500, y=100))
    links = (link("h1", "s1"), link("s1", "h2", rate="1Mbps", delay="20ms"))
    return Topology(nodes=nodes, links=links)
