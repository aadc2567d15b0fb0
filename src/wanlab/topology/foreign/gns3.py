"""Import a project of GNS3 (version 2 and newer).

    ethernet_switch, ethernet_hub    a bridge; access and trunk ports become VLANs
    vpcs, virtual machines, docker   a host; with the symbol of a router or a firewall a router, and
                                     with that of a switch a bridge
    dynamips, iou                    a router of Linux: images of Cisco cannot run here
    nat, cloud and others            left out: a wanlab network has no connection to the outside
    filters of links                 delay, jitter, loss and corruption, in both directions
    texts, rectangles and ellipses   labels and frames on the canvas

Addresses are those stored in the project: of VPCS (`startup.vpc`) and of Docker nodes
(`etc/network/interfaces`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import unescape

import msgspec

from wanlab.errors import Problem, WanlabError
from wanlab.json_text import decode_json
from wanlab.topology.check_nodes import MAX_NAME_LENGTH
from wanlab.topology.foreign.ip_commands import MAX_DIGITS, prefix_length
from wanlab.topology.foreign.names import FittingNames
from wanlab.topology.foreign.project_files import ReadFile, refuse_too_many
from wanlab.topology.model import Conditions, Host, Link, Node, Port, Router, Switch, Topology
from wanlab.topology.words import read_conditions

MIN_REVISION = 5
"""The revision of GNS3 2.0. Earlier projects have another format."""
GUESTS = {"docker", "qemu", "virtualbox", "vmware", "traceng", "vpcs"}
ROUTERS = {"dynamips", "iou"}
FILTERS = ("delay", "packet_loss", "corrupt")
TILE = 60
"""The approximate size of a symbol. (Positions in a project are those of upper left corners.)"""
DEFAULT_VLAN = 1
MAX_TRUNK_VLANS = 500_000
_ROUTER_SYMBOL = re.compile(
    r"router|firewall|fortinet|asa|pfsense|vyos|mikrotik|csr|juniper|gateway"
)
_SWITCH_SYMBOL = re.compile(r"switch")
_ATTRIBUTE = r'\b{}="([^"]*)"'


class _PortMapping(msgspec.Struct):
    """A port of a switch."""

    port_number: int = 0
    type: str | None = None
    vlan: int | None = None


class _Properties(msgspec.Struct):
    ports_mapping: list[_PortMapping] | None = None
    startup_script: str | None = None
    start_command: object = None
    environment: object = None
    extra_hosts: object = None
    extra_volumes: object = None


class _ProjectNode(msgspec.Struct):
    node_id: str
    node_type: str
    name: str = "node"
    symbol: str | None = None
    x: float = 0.0
    y: float = 0.0
    properties: _Properties | None = None


class _LinkEnd(msgspec.Struct):
    node_id: str
    adapter_number: int = 0
    port_number: int = 0


class _ProjectLink(msgspec.Struct):
    nodes: list[_LinkEnd]
    filters: dict[str, list[float | str]] | None = None
    suspend: bool | None = None


class _Drawing(msgspec.Struct):
    svg: str | None = None
    x: float = 0.0
    y: float = 0.0


class _ProjectTopology(msgspec.Struct):
    nodes: list[_ProjectNode] | None = None
    links: list[_ProjectLink] | None = None
    drawings: list[_Drawing] | None = None


class _Project(msgspec.Struct):
    topology: _ProjectTopology
    name: str | None = None


class _Revision(msgspec.Struct):
    """What tells a project from other files, and from the projects of GNS3 1."""

    topology: dict[str, object]
    revision: int = 0


_REVISION = msgspec.json.Decoder(_Revision)
_PROJECT = msgspec.json.Decoder(_Project)


@dataclass
class _Node:
    name: str
    kind: str
    node: Node
    properties: _Properties
    addresses: dict[int, str] = field(default_factory=dict)
    """The address of each adapter."""

    @cached_property
    def port_mappings(self) -> dict[int, _PortMapping]:
        """The ports of a switch, by number; the first of equal numbers counts."""
        mappings = self.properties.ports_mapping or ()
        return {mapping.port_number: mapping for mapping in reversed(mappings)}


def read(text: str, name: str, read_file: ReadFile) -> tuple[Topology, list[Problem]]:
    """Return the topology, and notes about everything that was not imported."""
    try:
        revision = decode_json(text, _REVISION).revision
    except WanlabError as error:
        raise WanlabError(f"{name} is not a project of GNS3: {error}") from None
    if revision < MIN_REVISION:
        raise WanlabError(f"{name} is a project of GNS3 1", "open it in GNS3 2 and save it")
    project = decode_json(text, _PROJECT, name)
    refuse_too_many(name, len(project.topology.nodes or ()), len(project.topology.links or ()))
    return _Reader(project, name, read_file).read()


class _Reader:
    def __init__(self, project: _Project, file: str, read_file: ReadFile) -> None:
        self._file = file
        self._topology = project.topology
        self._name = project.name or ""
        self._read_file = read_file
        self._notes: list[Problem] = []
        self._nodes: dict[str, _Node] = {}
        self._left_out: dict[str, str] = {}
        self._names = FittingNames()
        self._links: list[Link] = []
        self._trunks: set[int] = set()
        self._trunks_without: dict[int, tuple[int, ...]] = {}
        """The VLANs of a trunk, by its own VLAN."""
        self._left_trunks = MAX_TRUNK_VLANS

    def _note(self, place: str, what: str, hint: str = "") -> None:
        self._notes.append(Problem(place, what, hint))

    def read(self) -> tuple[Topology, list[Problem]]:
        for node in self._topology.nodes or ():
            self._add_node(node)
        self._trunks = self._vlans()
        for link in self._topology.links or ():
            self._add_link(link)
        linked = {(port.node, port.ip) for link in self._links for port in link.ports}
        for made in self._nodes.values():
            for address in made.addresses.values():
                if (made.node.name, address) not in linked:
                    self._note(made.name, f"the address {address} has no link")
        labels, frames = self._drawings()
        extra: dict[str, object] = {"labels": labels} if labels else {}
        extra |= {"frames": frames} if frames else {}
        topology = Topology(
            name=self._name,
            nodes=tuple(node.node for node in self._nodes.values()),
            links=tuple(self._links),
            extra=extra,
        )
        return topology, self._notes

    # -- nodes ------------------------------------------------------------------------------------

    def _add_node(self, each: _ProjectNode) -> None:
        name, kind, id_ = each.name or "node", each.node_type, each.node_id
        if id_ in self._nodes or id_ in self._left_out:
            id_ = f"{id_} {name}"
        made = self._made(name, kind, each)
        if made is None:
            self._left_out[id_] = name
            self._note(name, f"a node of type {kind} is left out", _WHY_NOT.get(kind, ""))
            return
        node = _Node(name, kind, made, each.properties or _Properties())
        self._nodes[id_] = node
        if made.name != name:
            hint = f"Linux allows {MAX_NAME_LENGTH} characters without spaces"
            self._note(name, f"is called {made.name} here", hint)
        if kind == "vpcs":
            self._read_vpcs(node, id_)
        elif kind == "docker":
            self._read_interfaces(node, id_)
        self._note_properties(node)

    def _made(self, name: str, kind: str, each: _ProjectNode) -> Node | None:
        symbol = (each.symbol or "").lower()
        x, y = each.x + TILE / 2, each.y + TILE / 2
        if kind not in GUESTS | ROUTERS and kind not in ("ethernet_switch", "ethernet_hub"):
            return None
        fitting = self._names.fit(name)
        if kind == "ethernet_switch":
            return Switch(fitting, x=x, y=y)
        if kind == "ethernet_hub":
            self._note(name, "a hub becomes a bridge", "which learns addresses")
            return Switch(fitting, x=x, y=y)
        if _SWITCH_SYMBOL.search(symbol):
            self._note(name, f"a {kind} node with the symbol of a switch becomes a bridge")
            return Switch(fitting, x=x, y=y)
        looks_like_router = _ROUTER_SYMBOL.search(symbol) or _ROUTER_SYMBOL.search(name.lower())
        if kind in ROUTERS or (looks_like_router and kind != "vpcs"):
            what = f"a {kind} node becomes a Linux router"
            self._note(name, what, "its image and configuration are not imported")
            return Router(fitting, x=x, y=y)
        if kind not in ("vpcs", "traceng"):
            what = f"a {kind} node becomes a host with this computer's programs"
            self._note(name, what, "its image is not imported")
        return Host(fitting, x=x, y=y)

    def _note_properties(self, node: _Node) -> None:
        if node.kind == "docker":
            ignored = [
                key
                for key in ("start_command", "environment", "extra_hosts", "extra_volumes")
                if getattr(node.properties, key)
            ]
            if ignored:
                self._note(node.name, f"not imported: {', '.join(ignored)}")

    def _read_vpcs(self, node: _Node, id_: str) -> None:
        """Import the stored address of a VPCS: `ip ADDRESS[/BITS] [GATEWAY] [BITS]`."""
        text = self._read_file(f"project-files/vpcs/{id_}/startup.vpc")
        text = text or node.properties.startup_script or ""
        for line in text.splitlines():
            match line.split():
                case ["ip", address, *rest] if address[:1].isdigit() and ":" not in address:
                    self._set_address(node, line, address, rest)
                case [] | ["set", "pcname", *_]:
                    pass
                case [first, *_] if not first.startswith("#"):
                    self._note(node.name, f'"{line.strip()}" is not imported')

    def _set_address(self, node: _Node, line: str, address: str, rest: list[str]) -> None:
        address, _, bits = address.partition("/")
        gateway = ""
        for word in rest:
            if "." in word and not word.startswith("255."):
                gateway = word
            else:
                bits = word.removeprefix("/")
        try:
            node.addresses[0] = f"{address}/{prefix_length(bits or '24')}"
        except WanlabError:
            self._note(node.name, f'cannot read "{line.strip()}"')
            return
        if gateway and isinstance(node.node, Host):
            node.node = replace(node.node, default_route=gateway)

    def _read_interfaces(self, node: _Node, id_: str) -> None:
        """Import the addresses of a Docker node from its /etc/network/interfaces (Debian's format)."""
        text = self._read_file(f"project-files/docker/{id_}/etc/network/interfaces") or ""
        adapter, options = 0, dict[str, str]()
        for line in [*text.splitlines(), "iface"]:
            words = line.split("#")[0].split()
            if words[:1] == ["iface"]:
                self._end_interface(node, adapter, options)
                options = {}
                if len(words) > 1:
                    adapter = int(re.sub(r"[^0-9]", "", words[1])[:MAX_DIGITS] or 0)
                if words[3:4] == ["dhcp"]:
                    self._note(node.name, f"{words[1]} asks DHCP for its address", "give it one")
            elif len(words) > 1 and words[0] not in ("auto", "allow-hotplug"):
                options[words[0]] = " ".join(words[1:])

    def _end_interface(self, node: _Node, adapter: int, options: dict[str, str]) -> None:
        address, _, bits = options.pop("address", "").partition("/")
        bits = options.pop("netmask", "") or bits or "24"
        gateway = options.pop("gateway", "")
        if address and ":" not in address:
            try:
                node.addresses[adapter] = f"{address}/{prefix_length(bits)}"
            except WanlabError as error:
                self._note(node.name, error.what)
        if gateway and isinstance(node.node, Host):
            node.node = replace(node.node, default_route=gateway)
        for key, value in options.items():
            self._note(node.name, f'"{key} {value}" is not imported')

    # -- links ------------------------------------------------------------------------------------

    def _vlans(self) -> set[int]:
        """Return the VLANs of all access ports; empty if they are one network."""
        vlans = {
            port.vlan or 0
            for node in self._nodes.values()
            for port in node.properties.ports_mapping or ()
            if node.kind == "ethernet_switch" and port.type == "access"
        }
        return vlans if vlans - {DEFAULT_VLAN} else set()

    def _add_link(self, each: _ProjectLink) -> None:
        ids = [end.node_id for end in each.nodes]
        names = [
            self._nodes[id_].name if id_ in self._nodes else self._left_out.get(id_, "?")
            for id_ in ids
        ]
        place = " - ".join(names)
        if len(ids) != 2 or not all(id_ in self._nodes for id_ in ids):
            self._note(place, "this link is left out", "it does not join two nodes")
            return
        conditions = self._conditions(place, each)
        if each.suspend:
            self._note(place, "the link is suspended in GNS3 but up here")
        ports = [
            self._port(self._nodes[id_], end, conditions)
            for id_, end in zip(ids, each.nodes, strict=True)
        ]
        self._links.append(Link(ports[0], ports[1]))

    def _port(self, node: _Node, end: _LinkEnd, conditions: Conditions) -> Port:
        port = Port(node.node.name, conditions=conditions)
        if not isinstance(node.node, Switch):
            return replace(port, ip=node.addresses.get(end.adapter_number))
        mapped = node.port_mappings.get(end.port_number)
        if mapped is None or not self._trunks:
            return port
        vlan = mapped.vlan or DEFAULT_VLAN
        if mapped.type == "dot1q":
            return replace(port, vlan=vlan, trunks=self._trunks_of(vlan))
        if mapped.type == "qinq":
            self._note(f"{node.name} port {end.port_number}", "QinQ is not imported")
        return replace(port, vlan=vlan)

    def _trunks_of(self, vlan: int) -> tuple[int, ...]:
        """Return the VLANs of a trunk: all but its own."""
        if vlan not in self._trunks_without:
            self._trunks_without[vlan] = tuple(sorted(self._trunks - {vlan}))
        trunks = self._trunks_without[vlan]
        self._left_trunks -= len(trunks)
        if self._left_trunks < 0:
            raise WanlabError(
                f"the trunk ports of {self._file} carry more than {MAX_TRUNK_VLANS} VLANs altogether",
                "import a part of the project",
            )
        return trunks

    def _conditions(self, place: str, each: _ProjectLink) -> Conditions:
        words: dict[str, object] = {}
        for kind, value in (each.filters or {}).items():
            values = [_number(part) for part in value]
            if kind == "delay" and values:
                words["delay"] = f"{values[0]:g}ms"
                if len(values) > 1 and values[1]:
                    words["jitter"] = f"{values[1]:g}ms"
            elif kind in FILTERS and values:
                words["loss" if kind == "packet_loss" else kind] = f"{values[0]:g}%"
            elif value and value not in ([0], [0, 0]):
                self._note(place, f"the filter {kind} is not imported")
        return read_conditions(
            words, Conditions(), lambda word, error: self._note(place, error.what, error.hint)
        )

    # -- drawings ---------------------------------------------------------------------------------

    def _drawings(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return texts as labels, and rectangles and ellipses as frames."""
        labels: list[dict[str, object]] = []
        frames: list[dict[str, object]] = []
        others = 0
        for each in self._topology.drawings or ():
            svg, x, y = each.svg or "", each.x, each.y
            width, height = (_number(_attribute(svg, word)) for word in ("width", "height"))
            if words := _text(svg):
                labels.append({"text": words, "x": x + width / 2, "y": y + height / 2})
            elif ("<rect" in svg or "<ellipse" in svg) and width and height:
                frames.append({"text": "", "x": x, "y": y, "width": width, "height": height})
            else:
                others += 1
        if others:
            self._note("", f"pictures and lines of the drawing ({others}) are not imported")
        return labels, frames


_WHY_NOT = {
    **dict.fromkeys(("nat", "cloud"), "a wanlab network has no connection to the outside"),
    **dict.fromkeys(("atm_switch", "frame_relay_switch"), "links here are Ethernet"),
}


def _text(svg: str) -> str:
    """Return the first text of a drawing. (A regular expression would take quadratic time.)"""
    start = svg.find(">", svg.find("<text")) + 1
    end = svg.find("</text>", start)
    return unescape(svg[start:end]).strip() if "<text" in svg and end > 0 else ""


def _attribute(svg: str, word: str) -> str:
    match = re.search(_ATTRIBUTE.format(word), svg)
    return match[1] if match else ""


def _number(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
