"""Convert a topology to and from mappings, lists, texts and numbers: the data of the YAML format, and
of the key "wanlab" in a `.mn` file.

    {"name": ..., "ip_base": ..., "ipv6_base": ..., "kernel": ..., "nodes": [...], "links": [...]}
    a node   {"host": "h1", "ip": "10.0.0.1/8"}        its kind, then the model's own field names
             {"switch": "s1", "kind": "ovs", "netflow": {"target": "127.0.0.1:9996"}}
             {"router": "r1", "frr_file": "r1.conf"}    or "frr" with the text itself
    a link   {"link": ["h1", "s1"], "rate": "10Mbps", "a_to_b": {"loss": "1%"}, "a_port": {"mtu": 9000}}

Only values that differ from the default are written. Conditions that both directions share belong to
the link itself; "a_to_b" and "b_to_a" add to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from wanlab.errors import WanlabError
from wanlab.fields import Fields
from wanlab.topology.cpu import Processor, processor_words, read_processor
from wanlab.topology.link_trace import is_numbers
from wanlab.topology.model import (
    Conditions,
    Controller,
    Host,
    Link,
    NetFlow,
    Node,
    Port,
    Router,
    SFlow,
    Switch,
    Topology,
)
from wanlab.topology.nic import Nic, nic_words, read_nic
from wanlab.topology.words import CONDITION_WORDS, SYNONYMS, read_conditions, words_of
from wanlab.units import format_rate, parse_rate

Collector = TypeVar("Collector", NetFlow, SFlow)

NODE_KINDS: Mapping[str, type[Node]] = {
    kind.kind_of_node: kind for kind in (Host, Switch, Router, Controller)
}


NODE_SYNONYMS = {
    **dict.fromkeys(("gateway", "gw", "default_gateway", "defaultRoute"), "default_route"),
    **dict.fromkeys(("address", "addresses", "ip_address"), "ip"),
    **dict.fromkeys(("mac_address", "hwaddr"), "mac"),
}
"""Words of other programs for our fields, which an error suggests."""
_WITH_UNITS = ("rate", "delay", "jitter", "speed", "limit", "at", "schedule_repeat")


# Writing


def topology_to_plain(topology: Topology) -> dict[str, object]:
    """Return the data of a topology, for YAML."""
    plain = {"name": topology.name} if topology.name else {}
    return {
        **plain,
        "ip_base": topology.ip_base,
        **({"ipv6_base": topology.ipv6_base} if topology.ipv6_base else {}),
        **({"kernel": topology.kernel} if topology.kernel else {}),
        **({"cpu": processor_words(topology.cpu)} if topology.cpu else {}),
        "nodes": [node_to_plain(node) for node in topology.nodes],
        "links": [link_to_plain(link) for link in topology.links],
        **_extra_to_plain(topology.extra),
    }


def node_to_plain(node: Node) -> dict[str, object]:
    plain: dict[str, object] = {node.kind_of_node: node.name}
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name == "ip":
            value = ip_word(value)
        if field.name not in ("name", "extra") and value != field.default:
            plain[field.name] = _listed(value)
    return {**plain, **_extra_to_plain(node.extra)}


def link_to_plain(link: Link) -> dict[str, object]:
    a, b = words_of(link.a.conditions), words_of(link.b.conditions)
    both = {word: value for word, value in a.items() if b.get(word) == value}
    parts = {
        "a_to_b": {word: value for word, value in a.items() if word not in both},
        "b_to_a": {word: value for word, value in b.items() if word not in both},
        "a_port": _port_to_plain(link.a),
        "b_port": _port_to_plain(link.b),
    }
    plain = {"link": [link.a.node, link.b.node], **both}
    plain |= {name: part for name, part in parts.items() if part}
    return {**plain, **_extra_to_plain(link.extra)}


def _port_to_plain(port: Port) -> dict[str, object]:
    speed = None if port.speed_bps is None else format_rate(port.speed_bps)
    plain: dict[str, object] = {"number": port.number, "name": port.name}
    plain |= {"ip": port.ip, "mac": port.mac}
    plain |= {"speed": speed, "mtu": port.mtu}
    plain |= {"vlan": port.vlan, "trunks": list(port.trunks) or None}
    plain |= {"nic": nic_words(port.nic) or None}
    return {word: value for word, value in plain.items() if value is not None}


def mapping_in(plain: Mapping[str, object], key: str) -> dict[str, object]:
    """Return the mapping under a key; empty if there is no mapping."""
    value = plain.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def _extra_to_plain(extra: Mapping[str, object]) -> dict[str, object]:
    return {"extra": dict(extra)} if extra else {}


def _listed(value: object) -> object:
    if isinstance(value, Processor):
        return processor_words(value)
    if isinstance(value, NetFlow | SFlow):
        return {
            field.name: member
            for field in fields(value)
            if (member := getattr(value, field.name)) != field.default
        }
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


# Reading

NO_ADDRESS = "none"
"""The word of files for a host without an address: an empty text counts as missing."""


def read_topology(file: Fields) -> Topology:
    """Return the topology as far as it can be read; mistakes are in the file's problems."""
    problems = file.problems
    topology = Topology(
        name=file.text("name") or "",
        ip_base=file.text("ip_base") or "10.0.0.0/8",
        kernel=file.word("kernel") or "",
        cpu=read_network_cpu(file, "cpu"),
        ipv6_base=file.text("ipv6_base") or "",
        nodes=tuple(read_node(Fields(item, path, problems)) for path, item in file.items("nodes")),
        links=tuple(read_link(Fields(item, path, problems)) for path, item in file.items("links")),
        extra=_extra(file),
    )
    file.refuse_rest()
    return topology


def read_node(item: Fields) -> Node:
    kinds = [kind for kind in NODE_KINDS if kind in item]
    if len(kinds) != 1:
        hint = f'begin it with one of {", ".join(NODE_KINDS)}, as in "host: h1"'
        item.problems.add(item.path, "a node must have exactly one kind", hint)
        return Host("")
    kind = NODE_KINDS[kinds[0]]
    name = item.text(kinds[0])
    if name is None:
        item.problems.add(item.path, f"the {kinds[0]} has no name")
    values: dict[str, Any] = {
        field.name: value
        for field in fields(kind)
        if field.name not in ("name", "extra")
        and (value := NODE_READERS[field.name](item, field.name)) not in (None, ())
    }
    if kind is Router and (text := item.text_of_file("frr_file")) is not None:
        values["frr"] = text
    node = kind(name or "", **values, extra=_extra(item))
    item.refuse_rest(NODE_SYNONYMS)
    return node


def read_link(item: Fields) -> Link:
    ends = item.texts("link")
    if len(ends) != 2:
        item.problems.add(item.path, "a link must name its two nodes", 'as in "link: [h1, s1]"')
        ends = ("", "")
    both = read_words(item, Conditions())
    a = _read_port(item, "a_port", ends[0], _read_one_way(item, "a_to_b", both))
    b = _read_port(item, "b_port", ends[1], _read_one_way(item, "b_to_a", both))
    link = Link(a, b, extra=_extra(item))
    item.refuse_rest(SYNONYMS)
    return link


def _read_one_way(link: Fields, key: str, both: Conditions) -> Conditions:
    item = link.mapping(key)
    conditions = read_words(item, both)
    item.refuse_rest(SYNONYMS)
    return conditions


def read_words(item: Fields, base: Conditions) -> Conditions:
    """Return `base` changed by the condition words among a link's fields."""
    words = {
        word: _absolute_name(word, _require_unit(word, value), item.problems.folder)
        for word in CONDITION_WORDS
        if (value := item.value(word)) is not None
    }

    def report(word: str, error: WanlabError) -> None:
        item.problem(word, error.what, error.hint)

    return read_conditions(words, base, report)


def _require_unit(word: str, value: object) -> object:
    """Turn a number into a text, so that "rate: 10" is refused: only Python may pass plain bit/s."""
    if isinstance(value, Mapping):
        return {key: _require_unit(key, member) for key, member in value.items()}
    if word == "schedule" and isinstance(value, list):
        return [_require_unit("", change) for change in value]
    return str(value) if word in _WITH_UNITS else value


def _absolute_name(word: str, value: object, folder: Path | None) -> object:
    """Make the name of a trace or a schedule file, relative to the topology's file, absolute."""
    if word not in ("trace", "schedule") or not isinstance(value, str) or folder is None:
        return value
    return value if is_numbers(value) else str(folder.absolute() / value)


def _read_port(link: Fields, key: str, node: str, conditions: Conditions) -> Port:
    item = link.mapping(key)
    values: dict[str, Any] = {
        field: value
        for word, (field, read) in PORT_READERS.items()
        if (value := read(item, word)) is not None
    }
    item.refuse_rest({**NODE_SYNONYMS, "bandwidth": "speed", "rate": "speed"})
    return Port(node, **values, conditions=conditions)


def _extra(item: Fields) -> dict[str, object]:
    extra = item.value("extra")
    if extra is not None and not isinstance(extra, dict):
        item.problem("extra", "extra is not a mapping")
    return extra if isinstance(extra, dict) else {}


def read_ip(item: Fields, key: str) -> str | None:
    """Return the address of a node; "" if it is to have none. None, or no field: by rule."""
    text = item.text(key)
    return "" if text == NO_ADDRESS else text


def ip_word(ip: str | None) -> str | None:
    """Return what `read_ip` reads as this address."""
    return NO_ADDRESS if ip == "" else ip


def read_private_directories(item: Fields, key: str) -> tuple[tuple[str, str | None], ...]:
    """Read a list of "/var/run" or ["/var/log", "/home/me/log"]."""
    directories: list[tuple[str, str | None]] = []
    for path, value in item.items(key):
        match value:
            case str(mount) | [str(mount)] | [str(mount), None | ""]:
                directories.append((mount, None))
            case [str(mount), str(folder)]:
                directories.append((mount, folder))
            case _:
                hint = 'a path, or two: ["/var/log", "/home/me/log"]'
                item.problems.add(path, "this is not a private directory", hint)
    return tuple(directories)


def read_vlan_interfaces(item: Fields, key: str) -> tuple[tuple[str, int], ...]:
    """Read a list of ["10.1.0.1/24", 100]: an address and a VLAN number."""
    interfaces: list[tuple[str, int]] = []
    for path, value in item.items(key):
        match value:
            case [str(ip), int(vlan)] if not isinstance(vlan, bool):
                interfaces.append((ip, vlan))
            case [str(ip), str(vlan)] if vlan.isascii() and vlan.isdigit() and len(vlan) < 10:
                interfaces.append((ip, int(vlan)))
            case _:
                hint = 'an address and a number: ["10.1.0.1/24", 100]'
                item.problems.add(path, "this is not a VLAN interface", hint)
    return tuple(interfaces)


def read_integers(item: Fields, key: str) -> tuple[int, ...]:
    """Read a list of whole numbers, as in [10, 20]."""
    numbers: list[int] = []
    for path, value in item.items(key):
        if isinstance(value, int) and not isinstance(value, bool):
            numbers.append(value)
        else:
            item.problems.add(path, f"{value!r} is not a whole number")
    return tuple(numbers)


def read_netflow(item: Fields, key: str) -> NetFlow | None:
    """Read {"target": "127.0.0.1:9996", "timeout_s": 600, "add_id": true}."""
    members = item.mapping(key)
    values = {"timeout_s": members.integer("timeout_s"), "add_id": members.flag("add_id")}
    return _collector(NetFlow, item, key, members, values)


def read_sflow(item: Fields, key: str) -> SFlow | None:
    """Read {"target": "127.0.0.1:6343", "header_bytes": 128, "sampling": 400, "polling_s": 30}."""
    members = item.mapping(key)
    values = {name: members.integer(name) for name in ("header_bytes", "sampling", "polling_s")}
    return _collector(SFlow, item, key, members, values)


def read_network_cpu(item: Fields, key: str) -> Processor | None:
    """Read the name of a processor's model or of its file, or a mapping with its words."""
    return item.parsed(key, lambda words: read_processor(words, item.problems.folder))


def read_node_cpu(item: Fields, key: str) -> float | Processor | None:
    """Read a share, the name of a processor's model or of its file, or a mapping with its words."""
    value = item.value(key)
    if isinstance(value, Mapping) or (isinstance(value, str) and not _is_number(value)):
        return read_network_cpu(item, key)
    return item.number(key)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _collector(
    kind: type[Collector], item: Fields, key: str, members: Fields, values: Mapping[str, Any]
) -> Collector | None:
    target = members.text("target")
    members.refuse_rest()
    if target is not None:
        return kind(target, **{name: value for name, value in values.items() if value is not None})
    if key in item:
        item.problem(key, "a collector needs a target", 'as in "target: 127.0.0.1:9996"')
    return None


def _read_speed(item: Fields, key: str) -> int | None:
    return item.parsed(key, lambda speed: parse_rate(str(speed)))


def _read_nic(item: Fields, key: str) -> Nic | None:
    return item.parsed(key, read_nic)


NODE_READERS: Mapping[str, Callable[[Fields, str], object]] = {
    **dict.fromkeys(("number", "port", "priority", "listen_port"), Fields.integer),
    **dict.fromkeys(("x", "y"), Fields.number),
    "cpu": read_node_cpu,
    **dict.fromkeys(("cores", "dpid"), Fields.word),
    "ip": read_ip,
    **dict.fromkeys(("start_command", "stop_command", "mac", "default_route"), Fields.text),
    **dict.fromkeys(("scheduler", "kind", "protocol", "address"), Fields.text),
    **dict.fromkeys(("fail_mode", "datapath", "frr"), Fields.text),
    **dict.fromkeys(("external_interfaces", "controllers", "protocols", "routes"), Fields.texts),
    **dict.fromkeys(("in_root", "stp", "vlan_filtering"), Fields.flag),
    "netflow": read_netflow,
    "sflow": read_sflow,
    "private_directories": read_private_directories,
    "vlan_interfaces": read_vlan_interfaces,
}

PORT_READERS: Mapping[str, tuple[str, Callable[[Fields, str], object]]] = {
    "number": ("number", Fields.integer),
    "name": ("name", Fields.text),
    "ip": ("ip", Fields.text),
    "mac": ("mac", Fields.text),
    "speed": ("speed_bps", _read_speed),
    "mtu": ("mtu", Fields.integer),
    "vlan": ("vlan", Fields.integer),
    "trunks": ("trunks", read_integers),
    "nic": ("nic", _read_nic),
}
"""The words of a port: the field of `Port`, and its reader."""
