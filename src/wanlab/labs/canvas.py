"""Performs the steps of a lab that a student does on the canvas of the GUI.

new                                            start with an empty canvas
open FILE, save FILE
draw {hosts: [h1], switches: [s1], links: [[h1, s1]]}
properties {h1: {ip: "10.0.0.1/8"}}            ip: "" selects the default address
properties {h1: {cpu: server-2019}}            the model of its processor
preferences {ip_base: "15.0.0.0/8", start_cli: true}

`change_topology` performs the last three on any topology; `Canvas` adds files and a state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path

from wanlab import Host, Switch, Topology, link, load
from wanlab.errors import WanlabError, did_you_mean
from wanlab.shared_folder import SharedFolder, file_error
from wanlab.topology.cpu import read_processor
from wanlab.topology.files import file_content, load_content

DEFAULT_BASE = "10.0.0.0/8"
START_CLI = "startCLI"
"""MiniEdit's name of the preference."""
SPACING = 170
LEFT, HOSTS_Y, SWITCHES_Y = 140, 260, 120


class Canvas:
    """The drawing of one unit.

    It begins with the unit's own topology, so that steps which only run it need not open it.
    """

    def __init__(
        self, topology: Path, check: Callable[[Topology], None] = lambda topology: None
    ) -> None:
        """Begin with the topology in a file. `check` raises WanlabError for one that is not allowed."""
        self._default = topology
        self._check = check
        self._drawn: Topology | None = None

    @property
    def topology(self) -> Topology:
        """The topology that Run starts."""
        return with_addresses(self._shown)

    @property
    def _shown(self) -> Topology:
        return load(self._default) if self._drawn is None else self._drawn

    def perform(self, word: str, argument: object, home: SharedFolder) -> None:
        """Perform one action of a step. A file that it names is in `home`."""
        if word == "save":
            self.save(home, str(argument))
            return
        if word == "new":
            drawn = Topology()
        elif word == "open":
            drawn = _opened(home, str(argument))
        elif word == "draw":
            drawn = change_topology(self._drawn or Topology(), word, argument)
        else:
            drawn = change_topology(self._shown, word, argument)
        self._check(drawn)
        self._drawn = drawn

    def save(self, home: SharedFolder, name: str) -> None:
        """Write the drawing to a file."""
        path = home.path / name
        try:
            home.write(name, file_content(self._shown, path))
        except OSError as error:
            raise file_error("write", path, error) from None


def _opened(home: SharedFolder, name: str) -> Topology:
    path = home.path / name
    try:
        return load_content(home.read(name), path)
    except OSError as error:
        raise file_error("read", path, error) from None


def change_topology(topology: Topology, word: str, argument: object) -> Topology:
    """Return the topology after `draw`, `properties` or `preferences`.

    Raises WanlabError if the word or a field is unknown, or a node is not in the topology.
    """
    if word not in _CHANGES:
        raise WanlabError(f"unknown action {word}", did_you_mean(word, _CHANGES))
    if not isinstance(argument, Mapping):
        raise WanlabError(f"{word} needs fields")
    return _CHANGES[word](topology, argument)


def with_addresses(topology: Topology) -> Topology:
    """Give hosts their addresses if the topology does not use the default base.

    A network that is already running would otherwise number new hosts by its own base.
    """
    if topology.ip_base == DEFAULT_BASE:
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


# -- changes --------------------------------------------------------------------------------------


def _draw(topology: Topology, fields: Mapping[str, object]) -> Topology:
    """Add nodes and links; existing ones stay as they are."""
    _check_known(fields, ("hosts", "switches", "links"))
    names = {node.name for node in topology.nodes}
    joined = {frozenset((drawn.a.node, drawn.b.node)) for drawn in topology.links}
    hosts = [
        Host(name, number=number, x=x, y=HOSTS_Y)
        for name, number, x in _row(_list(fields.get("hosts")), LEFT)
        if name not in names
    ]
    switches = [
        Switch(name, number=number, x=x, y=SWITCHES_Y)
        for name, number, x in _row(_list(fields.get("switches")), LEFT + SPACING / 2)
        if name not in names
    ]
    pairs = [[str(name) for name in _list(pair)] for pair in _list(fields.get("links"))]
    links = [link(a, b) for a, b in pairs if frozenset((a, b)) not in joined]
    return replace(
        topology,
        nodes=(*topology.nodes, *hosts, *switches),
        links=(*topology.links, *links),
    )


def _row(names: Sequence[object], left: float) -> Iterable[tuple[str, int, float]]:
    """Yield name, number and x of nodes in a row; switches stand between the hosts below them."""
    for index, name in enumerate(map(str, names)):
        match = re.search(r"\d+$", name)
        yield name, int(match[0]) if match else index + 1, left + index * SPACING


def _set_properties(topology: Topology, fields: Mapping[str, object]) -> Topology:
    for name, properties in fields.items():
        if not isinstance(properties, Mapping):
            raise WanlabError(f"the properties of {name} need fields")
        _check_known(properties, ("ip", "cpu"))
        node = topology.node(name)
        if not isinstance(node, Host):
            raise WanlabError(f"{name} is not a host, so it has no {' or '.join(properties)}")
        changed = node
        if "ip" in properties:
            changed = replace(changed, ip=properties["ip"] or None)
        if "cpu" in properties:
            changed = replace(changed, cpu=read_processor(properties["cpu"]))
        nodes = tuple(changed if other.name == name else other for other in topology.nodes)
        topology = replace(topology, nodes=nodes)
    return topology


def _set_preferences(topology: Topology, fields: Mapping[str, object]) -> Topology:
    _check_known(fields, ("ip_base", "start_cli"))
    saved = topology.extra.get("application")
    application = dict(saved) if isinstance(saved, Mapping) else {}
    if "start_cli" in fields:
        application[START_CLI] = str(int(bool(fields["start_cli"])))
    return replace(
        topology,
        ip_base=str(fields.get("ip_base", topology.ip_base)),
        extra={**topology.extra, "application": application},
    )


_CHANGES: dict[str, Callable[[Topology, Mapping[str, object]], Topology]] = {
    "draw": _draw,
    "properties": _set_properties,
    "preferences": _set_preferences,
}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _check_known(fields: Mapping[str, object], known: tuple[str, ...]) -> None:
    for field in fields:
        if field not in known:
            raise WanlabError(f"unknown field {field}", did_you_mean(field, known))
