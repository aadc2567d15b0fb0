"""Tables of every key of a topology file, from the tables and classes with which wanlab reads it."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from wanlab.fields import Fields
from wanlab.topology import model
from wanlab.topology.files.plain import NODE_KINDS, NODE_READERS, PORT_READERS, read_ip
from wanlab.topology.model import NetFlow, Port, SFlow
from wanlab.topology.nic import WORDS as NIC_WORDS
from wanlab.topology.schedule import WORDS as SCHEDULE_WORDS
from wanlab.topology.settings import QUEUE_KINDS
from wanlab.topology.words import QUEUE_WORDS, WORDS

READER_TYPES = {
    Fields.integer: "whole number",
    Fields.number: "number",
    Fields.word: "text",
    Fields.text: "text",
    read_ip: "text",
    Fields.texts: "list of texts",
    Fields.flag: "true or false",
}
OTHER_DEFAULTS = {("host", "ip"): "by rule"}
OTHER_TYPES = {
    "netflow": "mapping",
    "sflow": "mapping",
    "private_directories": "list",
    "vlan_interfaces": "list",
    "cpu": "number, text or mapping",
    "speed": "rate",
    "trunks": "list of whole numbers",
    "nic": "mapping (see NICs)",
}
EXAMPLES: Mapping[str, object] = {
    "number": 1,
    "x": 100,
    "y": 50,
    "start_command": "sysctl -w net.ipv4.tcp_ecn=1",
    "stop_command": "ss -ti > sockets.txt",
    "ip": "10.0.0.1/24",
    "mac": "02:00:00:00:00:01",
    "in_root": True,
    "default_route": "10.0.0.254",
    "private_directories": ["/var/run", ["/var/log", "/tmp/h1-log"]],
    "vlan_interfaces": [["10.1.0.1/24", 100]],
    "external_interfaces": ["eth1"],
    "cpu": {"model": "server-2019", "cores": 1, "speed": 0.5},
    "cores": "0,1",
    "scheduler": "cfs",
    "kind": "ovs",
    "dpid": "1f",
    "stp": True,
    "priority": 4096,
    "vlan_filtering": True,
    "controllers": ["c0"],
    "protocols": ["OpenFlow13"],
    "fail_mode": "standalone",
    "datapath": "user",
    "listen_port": 6654,
    "netflow": {"target": "127.0.0.1:9996", "timeout_s": 60, "add_id": True},
    "sflow": {"target": "127.0.0.1:6343", "header_bytes": 64, "sampling": 10, "polling_s": 5},
    "routes": ["10.0.2.0/24 via 10.0.1.2"],
    "frr": "router ospf\n network 10.0.0.0/8 area 0\n",
    "protocol": "tcp",
    "address": "127.0.0.1",
    "port": 6653,
    "name": "h1-eth5",
    "speed": "100Mbps",
    "mtu": 9000,
    "vlan": 10,
    "trunks": [10, 20],
    "nic": {"tso": "off", "coalescing": "50us"},
}
"""A value for each key of nodes and ports."""
OWN_EXAMPLES: Mapping[tuple[str, str], object] = {
    ("controller", "kind"): "outside",
    ("switch", "ip"): "10.0.0.100/8",
}
QUEUE_EXAMPLES = {"kind": "red", "limit": "64KB", "packets": 100, "options": ["min 20000", "ecn"]}
NIC_MEANINGS = {
    "tso": "the host sends packets of up to 64 KB, and the NIC cuts them",
    "gro": "received packets are merged before the host handles them",
    "coalescing": "minimum time between two interrupts",
    "queues": "how many queues it sends and receives with, for `mq`, `mqprio`, `multiq`, `taprio`",
}
NIC_VALUES = {"coalescing": "time", "queues": "count"}
NIC_EXAMPLES = {"tso": "off", "gro": "on", "coalescing": "50us", "queues": 4}
SCHEDULE_EXAMPLES = {
    "at": "15s",
    "rate": "10Mbps",
    "delay": "45ms",
    "jitter": "1ms",
    "loss": "0.1%",
}
SCHEDULE_MEANINGS = {
    "at": "time of the change since the start of the network",
    "rate": "new rate",
    "delay": "new delay",
    "jitter": "new jitter",
    "loss": "new share of lost packets",
}
FILE_KEYS: tuple[tuple[str, str, str, str, object], ...] = (
    ("name", "text", "", "name of the network", "two sites"),
    ("ip_base", "prefix", "10.0.0.0/8", "addresses of hosts are taken from it", "10.1.0.0/16"),
    ("ipv6_base", "prefix", "none", "hosts get an IPv6 address from it, too", "fd00::/64"),
    ("kernel", "text", "any", "the kernel to run on", "7.3"),
    ("nodes", "list", "none", "the nodes, below", [{"host": "h1"}]),
    ("links", "list", "none", "the links, below", []),
    ("extra", "mapping", "none", "fields of other formats, kept as they are", {}),
)
LINK_KEYS: tuple[tuple[str, str, str, str, object], ...] = (
    ("link", "two names", "required", "the two nodes: a, then b", ["h1", "s1"]),
    ("a_to_b", "mapping", "none", "conditions from a to b only", {"loss": "1%"}),
    ("b_to_a", "mapping", "none", "conditions from b to a only", {"delay": "5ms"}),
    ("a_port", "mapping", "by rule", "the port at a", {"mtu": 9000}),
    ("b_port", "mapping", "by rule", "the port at b", {"ip": "10.0.0.9/24"}),
    ("extra", "mapping", "none", "fields of other formats, kept as they are", {}),
)


def file_table() -> str:
    """Return the table of the keys of the file."""
    return _table(FILE_KEYS)


def link_table() -> str:
    """Return the table of a link's keys besides its conditions."""
    return _table(LINK_KEYS)


def condition_table() -> str:
    """Return the table of the words for conditions."""
    return _table(
        (word, setting.kind.name, "none", setting.meaning, setting.example)
        for word, setting in WORDS.items()
    )


def port_table() -> str:
    """Return the table of a port's keys."""
    meanings = _meanings(Port)
    return _table(
        (word, _type_of(word, read), "by rule", meanings.get(field, ""), EXAMPLES[word])
        for word, (field, read) in PORT_READERS.items()
    )


def node_tables() -> str:
    """Return a section for each kind of node."""
    return "\n\n".join(_node_section(kind) for kind in NODE_KINDS)


def queue_table() -> str:
    """Return the kinds of queues, and the table of a queue's keys."""
    rows = [
        (word, "", "none", meaning, QUEUE_EXAMPLES[word]) for word, meaning in QUEUE_WORDS.items()
    ]
    return f"Kinds: {', '.join(f'`{kind}`' for kind in QUEUE_KINDS)}.\n\n{_table(rows)}"


def nic_table() -> str:
    """Return the table of a NIC's keys."""
    return _table(
        (
            word,
            NIC_VALUES.get(word, "on or off"),
            "by rule",
            NIC_MEANINGS[word],
            value,
        )
        for word, value in NIC_EXAMPLES.items()
        if word in NIC_WORDS
    )


def schedule_table() -> str:
    """Return the table of the keys of a change."""
    return _table(
        (
            word,
            {"at": "time", "rate": "rate", "loss": "fraction"}.get(word, "time"),
            "required" if word == "at" else "unchanged",
            SCHEDULE_MEANINGS[word],
            SCHEDULE_EXAMPLES[word],
        )
        for word in SCHEDULE_WORDS
    )


def collector_tables() -> str:
    """Return the tables of the keys of `netflow` and `sflow`."""
    return "\n\n".join(_collector_section(kind) for kind in (NetFlow, SFlow))


def node_keys(kind: str) -> list[str]:
    """Return the keys of a kind of node, without its kind itself."""
    names = [field.name for field in fields(NODE_KINDS[kind]) if field.name in NODE_READERS]
    return [*names, *(["frr_file"] if kind == "router" else []), "extra"]


def example(kind: str, key: str) -> object:
    """Return a value for a key of a kind of node."""
    return OWN_EXAMPLES.get((kind, key), EXAMPLES[key])


def _node_section(kind: str) -> str:
    node = NODE_KINDS[kind]
    meanings, defaults = _meanings(node), {field.name: field.default for field in fields(node)}
    rows = [(kind, "text", "required", "its name, and its kind", f"{kind[0]}1")]
    for key in node_keys(kind):
        if key == "extra":
            rows.append((key, "mapping", "none", meanings[key], "{}"))
        elif key == "frr_file":
            rows.append((key, "file", "none", "file with that text", "r1.conf"))
        else:
            default = OTHER_DEFAULTS.get((kind, key)) or _default(defaults[key])
            kept = (key, _type_of(key, NODE_READERS[key]), default)
            rows.append((*kept, meanings.get(key, ""), example(kind, key)))  # type: ignore[arg-type]
    about = (inspect.getdoc(node) or "").strip()
    return f"### {kind.capitalize()}\n\n{about}\n\n{_table(rows)}"


def _collector_section(kind: type[Any]) -> str:
    name = kind.__name__.lower()
    meanings = _meanings(kind)
    rows = [
        (
            field.name,
            str(field.type),
            "required" if field.default is MISSING else _default(field.default),
            meanings.get(field.name, ""),
            EXAMPLES[name][field.name],  # type: ignore[index]
        )
        for field in fields(kind)
        if field.name != "_"
    ]
    return f"`{name}`:\n\n{_table(rows)}"


def _type_of(key: str, reader: object) -> str:
    return OTHER_TYPES.get(key) or READER_TYPES[reader]  # type: ignore[index]


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    return json.dumps(value).strip('"') or '""'


def _meanings(kind: type[Any]) -> dict[str, str]:
    """Return the text below each field of a class and of the classes that it extends."""
    found = {"number": "number among the nodes of its kind; a host's address follows from it"}
    for each in reversed(kind.__mro__):
        if each.__module__ == model.__name__:
            found.update(_texts_below_fields(each))
    return found


def _texts_below_fields(kind: type[Any]) -> Iterator[tuple[str, str]]:
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            assert isinstance(following.value, ast.Constant)
            yield statement.target.id, " ".join(str(following.value.value).split())


def _table(rows: Any) -> str:
    lines = ["| key | value | default | meaning | example |", "|---|---|---|---|---|"]
    for key, kind, default, meaning, shown in rows:
        text = shown if isinstance(shown, str) else json.dumps(shown)
        cells: Sequence[str] = (
            f"`{key}`",
            kind,
            default,
            meaning,
            f"`{text}`".replace("\n", " "),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
