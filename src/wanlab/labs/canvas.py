"""What is drawn in the GUI: the topology that Run will start, by the words of a lab's steps.

new                                            an empty one
open FILE, save FILE
draw {hosts: [h1], switches: [s1], links: [[h1, s1]]}
properties {h1: {ip: "10.0.0.1/8"}}            ip: "" is none: the address goes by rule
preferences {ip_base: "15.0.0.0/8", start_cli: true}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from wanlab import Host, Switch, Topology, link, load, save
from wanlab.errors import WanlabError, did_you_mean

USUAL_BASE = "10.0.0.0/8"
PREFERENCES = {"start_cli": "startCLI"}


class Canvas:
    """Begins with the unit's own topology, so that steps which only run it need not open it."""

    def __init__(self, topology: Path) -> None:
        self._given = topology
        self._drawn: Topology | None = None

    @property
    def topology(self) -> Topology:
        """To be run."""
        return with_addresses(self._shown)

    @property
    def _shown(self) -> Topology:
        return load(self._given) if self._drawn is None else self._drawn

    def new(self) -> None:
        """Nothing is on it."""
        self._drawn = Topology()

    def open(self, file: Path) -> None:
        self._drawn = load(file)

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        save(self._shown, file)

    def draw(self, words: Mapping[str, Any]) -> None:
        _check(words, ("hosts", "switches", "links"))
        drawn = self._drawn or Topology()
        hosts = [Host(str(name)) for name in words.get("hosts", ())]
        switches = [Switch(str(name)) for name in words.get("switches", ())]
        links = [link(str(a), str(b)) for a, b in words.get("links", ())]
        self._drawn = replace(
            drawn,
            nodes=(*drawn.nodes, *hosts, *switches),
            links=(*drawn.links, *links),
        )

    def set_properties(self, words: Mapping[str, Mapping[str, Any]]) -> None:
        drawn = self._shown
        for name, own in words.items():
            _check(own, ("ip",))
            node = replace(drawn.node(name), ip=own.get("ip") or None)  # type: ignore[call-arg]
            nodes = tuple(node if one.name == name else one for one in drawn.nodes)
            drawn = replace(drawn, nodes=nodes)
        self._drawn = drawn

    def set_preferences(self, words: Mapping[str, Any]) -> None:
        _check(words, ("ip_base", *PREFERENCES))
        drawn = self._shown
        application = dict(drawn.extra.get("application", {}))
        for word, key in PREFERENCES.items():
            if word in words:
                application[key] = str(int(bool(words[word])))
        base = str(words.get("ip_base", drawn.ip_base))
        self._drawn = replace(
            drawn, ip_base=base, extra={**drawn.extra, "application": application}
        )


def with_addresses(topology: Topology) -> Topology:
    """A network that runs already has a base of its own; hosts that go by another one are told."""
    if topology.ip_base == USUAL_BASE:
        return topology
    base = IPv4Interface(topology.ip_base)
    count = 0
    nodes = []
    for node in topology.nodes:
        if isinstance(node, Host):
            count += 1
            if node.ip is None:
                address = base.network.network_address + (node.number or count)
                node = replace(node, ip=f"{address}/{base.network.prefixlen}")
        nodes.append(node)
    return replace(topology, nodes=tuple(nodes))


def _check(words: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for word in words:
        if word not in known:
            raise WanlabError(f"{word} is unknown here", did_you_mean(word, known))
