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

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeVar

import msgspec

from wanlab.errors import InputError, Problem, WanlabError
from wanlab.json_text import decode_json, problem_of
from wanlab.topology.check_nodes import MAX_NAME_LENGTH, is_name
from wanlab.topology.foreign.ip_commands import NodeSetup
from wanlab.topology.foreign.names import FittingNames, fitted
from wanlab.topology.foreign.project_files import ReadFile, refuse_too_many
from wanlab.topology.model import Host, Link, Node, Port, Router, Switch, Topology
from wanlab.yaml_text import parse_yaml

SWITCHES = {"bridge": "bridge", "ovs-bridge": "ovs"}
HOSTS = {
    "linux",
    "ext-container",
    "generic_vm",
    "freebsd",
    "openbsd",
    "k8s-kind",
    "border0",
    "keysight_ixia-c-one",
    "spirent_stc",
    "ostinato",
    "windows",
}
COMPUTER = "host"
OUTSIDE = {"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}
"""Ends of a link in the short form that are not nodes."""
PAIRS = ("veth", "veth-stitch")
_ROUTING_IMAGE = re.compile(r"frr|bird|gobgp|quagga|openbgpd|holo|vyos|freertr", re.IGNORECASE)
_FORWARDS = re.compile(r"net[./]ipv4[./](ip_forward|conf[./]all[./]forwarding)\s*=\s*1")
_VARIABLE = re.compile(r"\$\{(\w+)(?::?[=-]([^}]{0,200}))?\}")
_POSITION = ("graph-posX", "graph-posY")
SILENT = {"kind", "group", "labels", "image"}
"""Fields that have their own notes, or nothing to import."""

MAX_FIELDS = 500_000
"""Of all nodes: a short list of defaults is a long one for each of many nodes."""
MAX_FRR_CHARACTERS = 16 << 20

Struct = TypeVar("Struct", bound=msgspec.Struct)
Scalar = str | int | float | bool | None
Fields = dict[str, object]
"""Fields of which only some are imported; the others are named in notes."""


class _Network(msgspec.Struct):
    nodes: dict[str, Fields | None] | None = None
    links: list[Fields] | None = None
    groups: dict[str, Fields | None] | None = None
    kinds: dict[str, Fields | None] | None = None
    defaults: Fields | None = None


class _Lab(msgspec.Struct):
    topology: _Network
    name: Scalar = None


class _NodeFields(msgspec.Struct):
    """The fields of a node that are imported."""

    kind: str | None = None
    group: str | None = None
    image: str | None = None
    type: Scalar = None
    exec: list[Scalar] = []
    binds: list[Scalar] = []
    labels: dict[str, Scalar] | None = None
    sysctls: dict[str, Scalar] | None = None


class _LinkFields(msgspec.Struct):
    """The fields of a link that are imported."""

    type: str | None = None
    endpoints: list[str | dict[str, Scalar]] | None = None
    mtu: int | None = None
    ipv4: list[str] | str | None = None
    ipv6: list[str] | str | None = None


class _Position(msgspec.Struct):
    x: float = 0.0
    y: float = 0.0


class _Annotation(msgspec.Struct):
    position: _Position
    id: str = ""
    text: str = ""


class _Annotations(msgspec.Struct, rename="camel"):
    """Positions and texts that the extension for VS Code has stored in a second file."""

    node_annotations: list[_Annotation] = []
    free_text_annotations: list[_Annotation] = []


_ANNOTATIONS = msgspec.json.Decoder(_Annotations)


@dataclass
class _Node:
    """A node of the file, and the node that it becomes."""

    name: str
    given: Fields
    fields: _NodeFields
    node: Node
    setup: NodeSetup


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
        if not isinstance(data, Mapping) or not data.get("topology"):
            raise WanlabError(f"{name} is not a topology of containerlab", 'it lacks "topology"')
        self._unread = [key for key in data if key not in ("name", "topology")]
        self._lab = self._converted(data, _Lab, "")
        self._topology = self._lab.topology
        refuse_too_many(name, len(self._topology.nodes or ()), len(self._topology.links or ()))
        self._names = FittingNames()
        self._left = MAX_FIELDS
        self._frr_texts: dict[str, str | None] = {}
        self._left_frr_characters = MAX_FRR_CHARACTERS
        self._nodes: dict[str, _Node] = {}
        self._links: list[Link] = []
        self._numbers: dict[tuple[str, str], int] = {}
        """The last number that was added to a port's name, by node and name."""

    def _note(self, place: str, what: str, hint: str = "") -> None:
        self._notes.append(Problem(place, what, hint))

    def _converted(self, data: object, kind: type[Struct], path: str) -> Struct:
        """Return fields of the file in their types. InputError if one has another type."""
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            problem = problem_of(error)
            place = ".".join(filter(None, (path, problem.place)))
            raise InputError([replace(problem, place=place)], self._file) from None

    def _with_defaults(self, text: str) -> str:
        """Replace environment variables by the defaults that the file gives them."""

        def value(match: re.Match[str]) -> str:
            if match[2] is None:
                self._note("", f"the variable {match[1]} has no default", "its name stands for it")
                return match[1]
            return match[2]

        return _VARIABLE.sub(value, text)

    def read(self) -> tuple[Topology, list[Problem]]:
        for key in self._unread:
            what = "the management network (eth0) does not exist here"
            self._note("", what if key == "mgmt" else f"{key} is not imported")
        for name, fields in (self._topology.nodes or {}).items():
            self._add_node(name, fields or {})
        for number, link in enumerate(self._topology.links or (), start=1):
            self._add_link(number, link)
        for node in self._nodes.values():
            self._set_up(node)
        self._note_images()
        extra = self._annotated()
        node_of = {node.node.name: node for node in self._nodes.values()}

        def set_up(port: Port) -> Port:
            """Return a port as the node's commands have set it up."""
            return node_of[port.node].setup.ports.get(port.name or "", port)

        topology = Topology(
            name=str(self._lab.name or ""),
            nodes=tuple(node.node for node in self._nodes.values()),
            links=tuple(replace(link, a=set_up(link.a), b=set_up(link.b)) for link in self._links),
            extra=extra,
        )
        return topology, self._notes

    # -- nodes ------------------------------------------------------------------------------------

    def _add_node(self, name: str, own: Fields) -> None:
        topology = self._topology
        defaults = topology.defaults or {}
        group = (topology.groups or {}).get(str(own.get("group", ""))) or {}
        kind = str(own.get("kind") or group.get("kind") or defaults.get("kind") or "")
        of_kind = (topology.kinds or {}).get(kind) or {}
        parts = (defaults, of_kind, group, own)
        self._left -= sum(map(_field_count, parts))
        if self._left < 0:
            raise WanlabError(
                f"the nodes of {self._file} have more than {MAX_FIELDS} fields",
                "those of defaults, kinds and groups count for each node",
            )
        given = {key: value for part in parts for key, value in part.items()}
        for key in ("exec", "binds"):  # lists are joined, all others replaced
            given[key] = [item for part in parts for item in _listed(part.get(key))]
        given["kind"] = kind
        fields = self._converted(given, _NodeFields, f"topology.nodes.{name}")
        if kind == COMPUTER:
            self._note(name, "this is the computer itself, which a network here does not contain")
            return
        fitting = self._names.fit(name)
        if fitting != name:
            hint = f"Linux allows {MAX_NAME_LENGTH} characters without spaces"
            self._note(name, f"is called {fitting} here", hint)
        self._nodes[name] = _Node(name, given, fields, self._made(fitting, fields), NodeSetup({}))

    def _made(self, name: str, fields: _NodeFields) -> Node:
        kind = fields.kind or ""
        x, y = (_number((fields.labels or {}).get(key)) for key in _POSITION)
        if kind in SWITCHES:
            return Switch(name, kind=SWITCHES[kind], x=x, y=y)
        if kind == "cisco_iol" and str(fields.type).upper() == "L2":
            self._note(name, "a cisco_iol of type L2 becomes a bridge")
            return Switch(name, x=x, y=y)
        if kind in HOSTS or not kind:
            commands = " ".join(map(str, fields.exec))
            sysctls = " ".join(f"{key}={value}" for key, value in (fields.sysctls or {}).items())
            does_route = _ROUTING_IMAGE.search(fields.image or "")
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
        missing = [key for key in node.given if key not in SILENT | {"exec", "binds", "sysctls"}]
        if any(key not in _POSITION for key in node.fields.labels or ()):
            missing.append("labels")
        frr, binds = self._frr(node)
        missing += [f"bind {bind}" for bind in binds]
        for key, value in (node.fields.sysctls or {}).items():
            if not (isinstance(node.node, Router) and _FORWARDS.search(f"{key}={value}")):
                node.setup.commands.append(f"sysctl -w {key}={value}")
        for command in map(str, node.fields.exec):
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
        for bind in map(str, node.fields.binds):
            source, _, target = bind.partition(":")
            target = target.partition(":")[0].rstrip("/")
            file = {"/etc/frr/frr.conf": source, "/etc/frr": f"{source}/frr.conf"}.get(target)
            if file is not None and text is None and isinstance(node.node, Router):
                text = self._frr_text(file)
                if text is not None:
                    continue
                self._note(
                    node.name,
                    f"cannot read {file}",
                    "put it where the topology refers to it, and import again",
                )
            others.append(bind)
        return text, others

    def _frr_text(self, file: str) -> str | None:
        """Return the text of a frr.conf, which many routers may name; None if there is none."""
        if file not in self._frr_texts:
            text = (self._read_file(file) or "").strip()
            self._frr_texts[file] = f"{text}\n" if text else None
        found = self._frr_texts[file]
        self._left_frr_characters -= len(found or "")
        if self._left_frr_characters < 0:
            raise WanlabError(
                f"the routers of {self._file} have too long files frr.conf",
                f"at most {MAX_FRR_CHARACTERS >> 20} Mi characters altogether",
            )
        return found

    def _note_images(self) -> None:
        images = {node.fields.image for node in self._nodes.values() if node.fields.image}
        if images:
            what = f"images are not used: {', '.join(sorted(images))}"
            self._note("", what, "nodes run this computer's own programs")

    # -- links ------------------------------------------------------------------------------------

    def _add_link(self, number: int, given: Fields) -> None:
        link = self._converted(given, _LinkFields, f"topology.links[{number - 1}]")
        ends = [_endpoint(end) for end in link.endpoints or () if end]
        kind = link.type or "veth"
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
        for key in given:
            if key not in ("type", "endpoints", "mtu", "ipv4", "ipv6", "labels"):
                self._note(place, f"{key} of the link is not imported")
        if ends[0]["node"] == ends[1]["node"]:
            self._note(place, "a link of a node to itself is left out", "links here join two nodes")
            return
        ports = []
        for index, end in enumerate(ends):
            # Addresses may be those of the link, in the order of its ends.
            for family, value in (("ipv4", link.ipv4), ("ipv6", link.ipv6)):
                of_link = _listed(value)
                if family not in end and index < len(of_link):
                    end[family] = str(of_link[index])
            ports.append(self._port(end, link.mtu))
        self._links.append(Link(ports[0], ports[1]))

    def _port(self, end: dict[str, str], mtu: int | None) -> Port:
        node = self._nodes[end["node"]]
        name = end["interface"]
        if isinstance(node.node, Switch):
            return Port(node.node.name, mtu=mtu)
        fitting = name if is_name(name) else fitted(name)
        key = (node.node.name, fitting)
        while fitting in node.setup.ports:
            self._numbers[key] = self._numbers.get(key, 1) + 1
            suffix = f"-{self._numbers[key]}"
            fitting = fitted(name)[: min(12, MAX_NAME_LENGTH - len(suffix))] + suffix
        if fitting != name:
            self._note(f"{node.name}:{name}", f"is called {fitting} here")
        port = Port(
            node.node.name, name=fitting, ip=end.get("ipv4") or None, mac=end.get("mac"), mtu=mtu
        )
        node.setup.ports[fitting] = port
        if end.get("ipv6"):
            node.setup.commands.append(f"ip -6 address add {end['ipv6']} dev {fitting}")
        return port

    # -- positions --------------------------------------------------------------------------------

    def _annotated(self) -> dict[str, object]:
        name = f"{self._file.rpartition('/')[2]}.annotations.json"
        text = self._read_file(name)
        if not text:
            return {}
        try:
            stored = decode_json(text, _ANNOTATIONS)
        except InputError as error:
            self._note("", f"the positions in {name} are not imported", str(error))
            return {}
        for each in stored.node_annotations:
            if (node := self._nodes.get(each.id)) is not None:
                node.node = replace(node.node, x=each.position.x, y=each.position.y)
        labels = [
            {"text": each.text, "x": each.position.x, "y": each.position.y}
            for each in stored.free_text_annotations
            if each.text
        ]
        return {"labels": labels} if labels else {}


def _field_count(fields: Fields) -> int:
    """Return how many values a node gets from these fields."""
    return sum(
        1 + (len(value) if isinstance(value, list | dict) else 0) for value in fields.values()
    )


def _listed(value: object) -> list[object]:
    """Return a list, or the list with a single value; containerlab accepts both."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _endpoint(end: str | dict[str, Scalar]) -> dict[str, str]:
    """Return the fields of an endpoint: "srl:e1-1", or a mapping."""
    if isinstance(end, dict):
        fields = {key: str(value) for key, value in end.items() if value is not None}
        return {"node": "", "interface": "", **fields}
    node, _, interface = end.partition(":")
    return {"node": node, "interface": interface}


def _number(value: Scalar) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return 0.0
    return number if isfinite(number) else 0.0
