"""Import a topology of containerlab (https://containerlab.dev/manual/topo-def-file/).

    linux, and other kinds of hosts    a host; a router if it has a routing program or forwards
    bridge, ovs-bridge                 a switch: a bridge, or Open vSwitch
    any other kind                     a router of Linux: images of vendors cannot run here
    exec                               addresses, routes and MTUs; other commands become start
                                       commands
    binds of a frr.conf                the configuration of a router
    links of two nodes                 links, with the names of their ports

The value of a node's field is the first of: its own, that of its group, that of its kind, the default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wanlab.errors import InputError, Problem, WanlabError
from wanlab.topology.check_nodes import MAX_NAME_LENGTH, is_name
from wanlab.topology.foreign.ip_commands import NodeSetup
from wanlab.topology.foreign.names import FittingNames, fitted
from wanlab.topology.foreign.project_files import ReadFile
from wanlab.topology.model import Host, Link, Node, Port, Router, Switch, Topology
from wanlab.yaml_text import parse_yaml

SWITCHES = {"bridge": "bridge", "ovs-bridge": "ovs"}
HOSTS = {
    *("linux", "ext-container", "generic_vm", "freebsd", "openbsd", "k8s-kind", "border0"),
    *("keysight_ixia-c-one", "spirent_stc", "ostinato", "windows"),
}
COMPUTER = "host"
OUTSIDE = {"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}
"""Ends of a link in the short form that are not nodes."""
PAIRS = ("veth", "veth-stitch")
_ROUTING_IMAGE = re.compile(r"frr|bird|gobgp|quagga|openbgpd|holo|vyos|freertr", re.IGNORECASE)
_FORWARDS = re.compile(r"net[./]ipv4[./](ip_forward|conf[./]all[./]forwarding)\s*=\s*1")
_VARIABLE = re.compile(r"\$\{(\w+)(?::?[=-]([^}]*))?\}")
_POSITION = ("graph-posX", "graph-posY")
SILENT = {"kind", "group", "labels", "image"}
"""Fields that have their own notes, or nothing to import."""

Data = Mapping[str, Any]


@dataclass
class _Node:
    """A node of the file, and the node that it becomes."""

    name: str
    fields: Data
    kind: str
    node: Node
    setup: NodeSetup
    notes: list[str] = field(default_factory=list)


def read(text: str, name: str, read_file: ReadFile) -> tuple[Topology, list[Problem]]:
    """Return the topology, and notes about everything that was not imported."""
    return _Reader(text, name, read_file).read()


class _Reader:
    def __init__(self, text: str, name: str, read_file: ReadFile) -> None:
        self._file = name
        self._read_file = read_file
        self._notes: list[Problem] = []
        if "{{" in text:
            raise WanlabError(
                f"{name} is a Go template", "import the file that containerlab generates"
            )
        try:
            data = parse_yaml(self._with_defaults(text), name, allow_references=True).data
        except InputError as error:
            raise WanlabError(str(error)) from None
        topology = data.get("topology") if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(topology, Mapping):
            raise WanlabError(f"{name} is not a topology of containerlab", 'it lacks "topology"')
        self._data, self._topology = data, topology
        self._names = FittingNames()
        self._nodes: dict[str, _Node] = {}
        self._links: list[Link] = []
        self._ports: dict[tuple[str, str], str] = {}

    def _note(self, place: str, what: str, hint: str = "") -> None:
        self._notes.append(Problem(place, what, hint))

    def _with_defaults(self, text: str) -> str:
        """Replace environment variables by the defaults that the file gives them."""

        def value(match: re.Match[str]) -> str:
            if match[2] is None:
                self._note("", f"the variable {match[1]} has no default", "its name stands for it")
                return match[1]
            return match[2]

        return _VARIABLE.sub(value, text)

    def read(self) -> tuple[Topology, list[Problem]]:
        for key in self._data:
            if key == "mgmt":
                self._note("", "the management network (eth0) does not exist here")
            elif key not in ("name", "topology"):
                self._note("", f"{key} is not imported")
        for name, fields in _mapping(self._topology, "nodes").items():
            self._add_node(str(name), fields if isinstance(fields, Mapping) else {})
        links = self._topology.get("links")
        for number, link in enumerate(links if isinstance(links, list) else [], start=1):
            self._add_link(number, link if isinstance(link, Mapping) else {})
        for node in self._nodes.values():
            self._set_up(node)
        self._note_images()
        extra = self._annotated()
        topology = Topology(
            name=str(self._data.get("name") or ""),
            nodes=tuple(node.node for node in self._nodes.values()),
            links=tuple(
                replace(link, a=self._port_of(link.a), b=self._port_of(link.b))
                for link in self._links
            ),
            extra=extra,
        )
        return topology, self._notes

    # -- nodes ------------------------------------------------------------------------------------

    def _add_node(self, name: str, own: Data) -> None:
        groups, defaults = _mapping(self._topology, "groups"), _mapping(self._topology, "defaults")
        group = _mapping(groups, str(own.get("group", "")))
        kind = str(own.get("kind") or group.get("kind") or defaults.get("kind") or "")
        of_kind = _mapping(_mapping(self._topology, "kinds"), kind)
        fields = {**defaults, **of_kind, **group, **own}
        for key in ("exec", "binds"):  # lists are joined, all others replaced
            fields[key] = [
                text for part in (defaults, of_kind, group, own) for text in _texts(part.get(key))
            ]
        if kind == COMPUTER:
            self._note(name, "this is the computer itself, which a network here does not contain")
            return
        fitting = self._names.fit(name)
        if fitting != name:
            hint = f"Linux allows {MAX_NAME_LENGTH} characters without spaces"
            self._note(name, f"is called {fitting} here", hint)
        self._nodes[name] = _Node(
            name, fields, kind, self._made(fitting, kind, fields), NodeSetup({})
        )

    def _made(self, name: str, kind: str, fields: Data) -> Node:
        labels = fields.get("labels")
        x, y = (_number(labels.get(key)) if isinstance(labels, Mapping) else 0 for key in _POSITION)
        if kind in SWITCHES:
            return Switch(name, kind=SWITCHES[kind], x=x, y=y)
        if kind == "cisco_iol" and str(fields.get("type", "")).upper() == "L2":
            self._note(name, "a cisco_iol of type L2 becomes a bridge")
            return Switch(name, x=x, y=y)
        if kind in HOSTS or not kind:
            commands = " ".join(_texts(fields.get("exec")))
            sysctls = " ".join(
                f"{key}={value}" for key, value in _mapping(fields, "sysctls").items()
            )
            does_route = _ROUTING_IMAGE.search(str(fields.get("image", "")))
            if not does_route and not _FORWARDS.search(f"{commands} {sysctls}"):
                if kind != "linux":
                    self._note(name, f'a node of kind "{kind}" becomes a host')
                return Host(name, x=x, y=y)
            return Router(name, x=x, y=y)
        self._note(
            name,
            f"a node of the kind {kind} becomes a Linux router",
            "images of vendors cannot run here; set its addresses and routes, or a frr.conf",
        )
        return Router(name, x=x, y=y)

    def _set_up(self, node: _Node) -> None:
        """Apply the fields of a node, and note those that cannot be applied."""
        missing = [key for key in node.fields if key not in SILENT | {"exec", "binds", "sysctls"}]
        labels = node.fields.get("labels")
        if isinstance(labels, Mapping) and any(key not in _POSITION for key in labels):
            missing.append("labels")
        frr, binds = self._frr(node)
        missing += [f"bind {bind}" for bind in binds]
        for key, value in _mapping(node.fields, "sysctls").items():
            if not (isinstance(node.node, Router) and _FORWARDS.search(f"{key}={value}")):
                node.setup.commands.append(f"sysctl -w {key}={value}")
        for command in _texts(node.fields.get("exec")):
            is_router = isinstance(node.node, Router)
            if not (is_router and _FORWARDS.search(command)):
                node.setup.read(command, is_router=is_router)
        setup = node.setup
        for command in setup.needless:
            self._note(node.name, f'"{command}" is left out', "there is no other default route")
        if isinstance(node.node, Switch) and setup.commands:
            missing.append("exec")
            setup.commands.clear()
        if setup.commands:
            what = "runs on start, with this computer's programs: " + "; ".join(setup.commands)
            self._note(node.name, what)
        if missing:
            self._note(node.name, f"not imported: {', '.join(dict.fromkeys(missing))}")
        start = "\n".join(setup.commands) or None
        if isinstance(node.node, Host):
            node.node = replace(node.node, start_command=start, default_route=setup.default_route)
        elif isinstance(node.node, Router):
            routes = tuple(setup.routes)
            node.node = replace(node.node, start_command=start, routes=routes, frr=frr)

    def _frr(self, node: _Node) -> tuple[str | None, list[str]]:
        """Return the text of a router's frr.conf, if it can be read, and the other binds."""
        text, others = None, []
        for bind in _texts(node.fields.get("binds")):
            source, _, target = bind.partition(":")
            target = target.partition(":")[0].rstrip("/")
            file = {"/etc/frr/frr.conf": source, "/etc/frr": f"{source}/frr.conf"}.get(target)
            if file is not None and text is None and isinstance(node.node, Router):
                text = (self._read_file(file) or "").strip() or None
                if text is not None:
                    text += "\n"
                    continue
                self._note(
                    node.name,
                    f"cannot read {file}",
                    "put it where the topology refers to it, and import again",
                )
            others.append(bind)
        return text, others

    def _note_images(self) -> None:
        images = {str(node.fields.get("image", "")) for node in self._nodes.values()} - {""}
        if images:
            what = f"images are not used: {', '.join(sorted(images))}"
            self._note("", what, "nodes run this computer's own programs")

    # -- links ------------------------------------------------------------------------------------

    def _add_link(self, number: int, link: Data) -> None:
        ends = [_endpoint(end) for end in link.get("endpoints") or () if end]
        kind = str(link.get("type") or "veth")
        place = f"link {number}"
        if len(ends) == 2:
            place = " - ".join(f"{end['node']}:{end['interface']}" for end in ends)
        known = [end["node"] in self._nodes for end in ends]
        if kind not in PAIRS or len(ends) != 2 or not all(known):
            outside = [end["node"] for end in ends if end["node"] in OUTSIDE | {COMPUTER}]
            what = kind if kind not in PAIRS else outside[0] if outside else ""
            reason = f"a link of type {what}" if what else "a link without two nodes of the file"
            self._note(place, f"{reason} is left out", "links here join two nodes")
            return
        for key in link:
            if key not in ("type", "endpoints", "mtu", "ipv4", "ipv6", "labels"):
                self._note(place, f"{key} of the link is not imported")
        if ends[0]["node"] == ends[1]["node"]:
            self._note(place, "a link of a node to itself is left out", "links here join two nodes")
            return
        mtu = link.get("mtu")
        mtu = mtu if isinstance(mtu, int) and not isinstance(mtu, bool) else None
        ports = []
        for index, end in enumerate(ends):
            for family in ("ipv4", "ipv6"):  # may be those of the link, in the order of its ends
                of_link = _texts(link.get(family))
                if family not in end and index < len(of_link):
                    end[family] = of_link[index]
            ports.append(self._port(end, mtu))
        self._links.append(Link(ports[0], ports[1]))

    def _port(self, end: dict[str, str], mtu: int | None) -> Port:
        node = self._nodes[end["node"]]
        name = end["interface"]
        if isinstance(node.node, Switch):
            return Port(node.node.name, mtu=mtu)
        fitting = name if is_name(name) else fitted(name)
        taken = {port.name for port in node.setup.ports.values()}
        number = 2
        while fitting in taken:
            fitting, number = f"{fitted(name)[:12]}-{number}", number + 1
        if fitting != name:
            self._note(f"{node.name}:{name}", f"is called {fitting} here")
        port = Port(
            node.node.name, name=fitting, ip=end.get("ipv4") or None, mac=end.get("mac"), mtu=mtu
        )
        node.setup.ports[fitting] = port
        if end.get("ipv6"):
            node.setup.commands.append(f"ip -6 address add {end['ipv6']} dev {fitting}")
        return port

    def _port_of(self, port: Port) -> Port:
        """Return a port as the node's commands have set it up."""
        node = next(node for node in self._nodes.values() if node.node.name == port.node)
        return node.setup.ports.get(port.name or "", port)

    # -- positions --------------------------------------------------------------------------------

    def _annotated(self) -> dict[str, object]:
        """Import positions and texts that the extension for VS Code has stored in a second file."""
        text = self._read_file(f"{self._file.rpartition('/')[2]}.annotations.json")
        try:
            data = json.loads(text) if text else {}
        except ValueError:
            data = {}
        if not isinstance(data, Mapping):
            return {}
        for each in _items(data, "nodeAnnotations"):
            node = self._nodes.get(str(each.get("id")))
            place = each.get("position")
            if node is not None and isinstance(place, Mapping):
                x, y = _number(place.get("x")), _number(place.get("y"))
                node.node = replace(node.node, x=x, y=y)
        labels = [
            {"text": str(each["text"]), "x": _number(place.get("x")), "y": _number(place.get("y"))}
            for each in _items(data, "freeTextAnnotations")
            if isinstance(place := each.get("position"), Mapping) and each.get("text")
        ]
        return {"labels": labels} if labels else {}


def _items(data: Data, key: str) -> Iterator[Data]:
    values = data.get(key)
    yield from (
        (each for each in values if isinstance(each, Mapping)) if isinstance(values, list) else ()
    )


def _mapping(data: Data, key: str) -> Data:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [str(each) for each in values if isinstance(each, str | int | float)]


def _endpoint(end: object) -> dict[str, str]:
    """Return the fields of an endpoint: "srl:e1-1", or a mapping."""
    if isinstance(end, Mapping):
        fields = {str(key): str(value) for key, value in end.items() if value is not None}
        return {"node": "", "interface": "", **fields}
    node, _, interface = str(end).partition(":")
    return {"node": node, "interface": interface}


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0
