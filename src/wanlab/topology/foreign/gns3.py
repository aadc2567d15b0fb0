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

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any

from wanlab.errors import Problem, WanlabError
from wanlab.topology.check_nodes import MAX_NAME_LENGTH
from wanlab.topology.foreign.ip_commands import prefix_length
from wanlab.topology.foreign.names import FittingNames
from wanlab.topology.foreign.project_files import ReadFile
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
_ROUTER_SYMBOL = re.compile(
    r"router|firewall|fortinet|asa|pfsense|vyos|mikrotik|csr|juniper|gateway"
)
_SWITCH_SYMBOL = re.compile(r"switch")
_ATTRIBUTE = r'\b{}="([^"]*)"'
_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)

Data = Mapping[str, Any]


@dataclass
class _Node:
    name: str
    kind: str
    node: Node
    properties: Data
    addresses: dict[int, str] = field(default_factory=dict)
    """The address of each adapter."""


def read(text: str, name: str, read_file: ReadFile) -> tuple[Topology, list[Problem]]:
    """Return the topology, and notes about everything that was not imported."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise WanlabError(f"{name} is not a project of GNS3: {error}") from None
    topology = data.get("topology") if isinstance(data, Mapping) else None
    if not isinstance(topology, Mapping):
        raise WanlabError(f"{name} is not a project of GNS3", 'it lacks "topology"')
    revision = data.get("revision")
    if not isinstance(revision, int) or revision < MIN_REVISION:
        raise WanlabError(f"{name} is a project of GNS3 1", "open it in GNS3 2 and save it")
    return _Reader(topology, str(data.get("name") or ""), read_file).read()


class _Reader:
    def __init__(self, topology: Data, name: str, read_file: ReadFile) -> None:
        self._topology = topology
        self._name = name
        self._read_file = read_file
        self._notes: list[Problem] = []
        self._nodes: dict[str, _Node] = {}
        self._left_out: dict[str, str] = {}
        self._names = FittingNames()
        self._links: list[Link] = []
        self._trunks: set[int] = set()

    def _note(self, place: str, what: str, hint: str = "") -> None:
        self._notes.append(Problem(place, what, hint))

    def read(self) -> tuple[Topology, list[Problem]]:
        for each in _items(self._topology, "nodes"):
            self._add_node(each)
        self._trunks = self._vlans()
        for each in _items(self._topology, "links"):
            self._add_link(each)
        for node in self._nodes.values():
            unused = [adapter for adapter in node.addresses if not self._is_linked(node, adapter)]
            for adapter in unused:
                self._note(node.name, f"the address {node.addresses[adapter]} has no link")
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

    def _add_node(self, each: Data) -> None:
        name, kind = str(each.get("name") or "node"), str(each.get("node_type") or "")
        id_ = str(each.get("node_id"))
        if id_ in self._nodes or id_ in self._left_out:
            id_ = f"{id_} {name}"
        made = self._made(name, kind, str(each.get("symbol") or "").lower(), each)
        if made is None:
            self._left_out[id_] = name
            self._note(name, f"a node of type {kind} is left out", _WHY_NOT.get(kind, ""))
            return
        properties = each.get("properties")
        node = _Node(name, kind, made, properties if isinstance(properties, Mapping) else {})
        self._nodes[id_] = node
        if made.name != name:
            hint = f"Linux allows {MAX_NAME_LENGTH} characters without spaces"
            self._note(name, f"is called {made.name} here", hint)
        if kind == "vpcs":
            self._read_vpcs(node, id_)
        elif kind == "docker":
            self._read_interfaces(node, id_)
        self._note_properties(node)

    def _made(self, name: str, kind: str, symbol: str, each: Data) -> Node | None:
        x, y = _number(each.get("x")) + TILE / 2, _number(each.get("y")) + TILE / 2
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
                if node.properties.get(key)
            ]
            if ignored:
                self._note(node.name, f"not imported: {', '.join(ignored)}")

    def _read_vpcs(self, node: _Node, id_: str) -> None:
        """Import the stored address of a VPCS: `ip ADDRESS[/BITS] [GATEWAY] [BITS]`."""
        text = self._read_file(f"project-files/vpcs/{id_}/startup.vpc")
        text = text or str(node.properties.get("startup_script") or "")
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
                    adapter = int(re.sub(r"\D", "", words[1]) or 0)
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
            int(_number(port.get("vlan")))
            for node in self._nodes.values()
            for port in _items(node.properties, "ports_mapping")
            if node.kind == "ethernet_switch" and port.get("type") == "access"
        }
        return vlans if vlans - {DEFAULT_VLAN} else set()

    def _is_linked(self, node: _Node, adapter: int) -> bool:
        return any(
            port.node == node.node.name and port.ip == node.addresses[adapter]
            for link in self._links
            for port in link.ports
        )

    def _add_link(self, each: Data) -> None:
        ends = list(_items(each, "nodes"))
        ids = [str(end.get("node_id")) for end in ends]
        names = [
            self._nodes[id_].name if id_ in self._nodes else self._left_out.get(id_, "?")
            for id_ in ids
        ]
        place = " - ".join(names)
        if len(ids) != 2 or not all(id_ in self._nodes for id_ in ids):
            self._note(place, "this link is left out", "it does not join two nodes")
            return
        conditions = self._conditions(place, each)
        if each.get("suspend"):
            self._note(place, "the link is suspended in GNS3 but up here")
        ports = [
            self._port(self._nodes[id_], end, conditions)
            for id_, end in zip(ids, ends, strict=True)
        ]
        self._links.append(Link(ports[0], ports[1]))

    def _port(self, node: _Node, end: Data, conditions: Conditions) -> Port:
        adapter, number = (
            int(_number(end.get("adapter_number"))),
            int(_number(end.get("port_number"))),
        )
        port = Port(node.node.name, conditions=conditions)
        if not isinstance(node.node, Switch):
            return replace(port, ip=node.addresses.get(adapter))
        for mapped in _items(node.properties, "ports_mapping"):
            if mapped.get("port_number") == number and self._trunks:
                vlan, kind = int(_number(mapped.get("vlan")) or DEFAULT_VLAN), mapped.get("type")
                if kind == "dot1q":
                    trunks = tuple(sorted(self._trunks - {vlan}))
                    return replace(port, vlan=vlan, trunks=trunks)
                if kind == "qinq":
                    self._note(f"{node.name} port {number}", "QinQ is not imported")
                return replace(port, vlan=vlan)
        return port

    def _conditions(self, place: str, each: Data) -> Conditions:
        filters = each.get("filters")
        filters = filters if isinstance(filters, Mapping) else {}
        words: dict[str, object] = {}
        for kind, value in filters.items():
            values = [_number(part) for part in value] if isinstance(value, list) else []
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
        for each in _items(self._topology, "drawings"):
            svg = str(each.get("svg") or "")
            x, y = _number(each.get("x")), _number(each.get("y"))
            width, height = (_number(_attribute(svg, word)) for word in ("width", "height"))
            if text := _TEXT.search(svg):
                words = unescape(text[1]).strip()
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


def _items(data: Data, key: str) -> Iterator[Data]:
    values = data.get(key)
    if isinstance(values, list):
        yield from (each for each in values if isinstance(each, Mapping))


def _attribute(svg: str, word: str) -> str:
    match = re.search(_ATTRIBUTE.format(word), svg)
    return match[1] if match else ""


def _number(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
