"""Read and write MiniEdit's `.mn` files, versions "1" and "2", without loss.

    {"application": {...preferences...}, "version": "2",
     "hosts":    [{"number": "1", "x": "150.0", "y": "300.0", "opts": {"hostname": "h1", ...}}],
     "switches": [... switches, and routers ("switchType": "legacyRouter") ...],
     "controllers": [...], "links": [{"src": "h1", "dest": "s1", "opts": {"bw": 10, ...}}]}

Version "1" has one controller, which controls every switch, and may leave out names. Files are always
written as version "2". A link's values apply to both directions, as in Mininet: a delay counts twice
in the round trip. `bw` is in Mbit/s, `loss` in percent, `max_queue_size` in packets, and a delay
without a unit in microseconds (as in `tc`); `speedup` is the rate of the ends at switches.

To lose nothing, each node and link is written as MiniEdit would write it, and then corrected twice:

1.  Keys without a field in the model, and values in another spelling ("x": "150", "loss": 0), are
    restored from `extra`, as long as they still agree with the model.
2.  Values that MiniEdit cannot express (two directions that differ, a router's addresses) are stored
    under the key "wanlab" of the options, in the words of our YAML format. MiniEdit preserves that key.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from wanlab.errors import Problem, TopologyError, did_you_mean
from wanlab.fields import Fields, FillPlaceholders, Problems
from wanlab.topology import addresses
from wanlab.topology.check import accept, ensure
from wanlab.topology.cpu import processor_words
from wanlab.topology.files import plain
from wanlab.topology.files.mn_preferences import (
    APPLICATION,
    Preferences,
    preferences_of,
    read_preferences,
)
from wanlab.topology.files.mn_values import (
    NetemDelay,
    read_delay,
    read_percentage,
    read_rate,
    read_time,
)
from wanlab.topology.model import (
    Conditions,
    Controller,
    Host,
    Link,
    Node,
    Port,
    Queue,
    Router,
    Source,
    Switch,
    Topology,
    cpu_share,
)
from wanlab.topology.words import words_of

OURS = "wanlab"

Element = TypeVar("Element", Node, Link)
Entry = dict[str, Any]
_NodeSection = tuple[Callable[[Fields], Node], Callable[[Node], Entry], Mapping[str, str]]

_SECTION_OF: Mapping[type[Node], str] = {
    Host: "hosts",
    Switch: "switches",
    Router: "switches",
    Controller: "controllers",
}
_ROUTER = "legacyRouter"
_OPEN_VSWITCH = re.compile(r"\bovs-(?:ofctl|vsctl|appctl|dpctl)\b")
"""Programs of Open vSwitch. In MiniEdit, every default switch has a bridge for them."""
_CONTROLLER_KINDS = {"ref": "learning", "ovsc": "learning"}
_SWITCH_TYPES = ("default", "ovs", "ivs", "user", "userns", "legacySwitch", _ROUTER)

# Keys of the file by the fields of the model, for the positions that errors name.
_NODE_KEYS = {
    "name": "opts.hostname",
    "number": "number",
    "start_command": "opts.startCommand",
    "stop_command": "opts.stopCommand",
    "external_interfaces": "opts.externalInterfaces",
}
_HOST_KEYS = {
    **_NODE_KEYS,
    "ip": "opts.ip",
    "default_route": "opts.defaultRoute",
    "private_directories": "opts.privateDirectory",
    "vlan_interfaces": "opts.vlanInterfaces",
    "cpu": "opts.cpu",
    "cores": "opts.cores",
    "scheduler": "opts.sched",
}
_SWITCH_KEYS = {
    **_NODE_KEYS,
    "kind": "opts.switchType",
    "dpid": "opts.dpid",
    "ip": "opts.switchIP",
    "controllers": "opts.controllers",
    "listen_port": "opts.dpctl",
    "netflow": "opts.netflow",
    "sflow": "opts.sflow",
}
_CONTROLLER_KEYS = {
    **_NODE_KEYS,
    "kind": "opts.controllerType",
    "protocol": "opts.controllerProtocol",
    "address": "opts.remoteIP",
    "port": "opts.remotePort",
}
_LINK_KEYS = {
    "a": "src",
    "b": "dest",
    "rate": "opts.bw",
    "delay": "opts.delay",
    "jitter": "opts.jitter",
    "loss": "opts.loss",
    "queue": "opts.max_queue_size",
}


def load(
    text: str,
    file: str = "",
    *,
    folder: Path | None = None,
    fill_placeholders: FillPlaceholders | None = None,
) -> Topology:
    """Return the topology of a `.mn` text; the arguments are those of `yaml.load`."""
    problems = Problems(folder=folder or (Path(file).parent if file else None))
    data = _parse(text, problems, file)
    data = _upgrade(fill_placeholders(data) if fill_placeholders else data, problems)
    return accept(_read_file(Fields(data, "", problems), file), problems, file)


def dump(topology: Topology) -> str:
    """Return the text of the topology as MiniEdit would save it."""
    entry = _write_file(addresses.number_nodes(ensure(topology)))
    return json.dumps(entry, sort_keys=True, indent=4, separators=(",", ": "))


def _parse(text: str, problems: Problems, file: str) -> object:
    def unique_keys(pairs: list[tuple[str, object]]) -> Entry:
        counts = Counter(key for key, _ in pairs)
        for key in sorted(key for key, count in counts.items() if count > 1):
            problems.add("", f'"{key}" occurs twice in one object', "keep one")
        return dict(pairs)

    def refuse_constant(name: str) -> None:
        problems.add("", f"{name} is not a JSON number")

    if not text.strip():
        raise TopologyError([Problem("", "the file is empty", "save the drawing again")], file)
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        what = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise TopologyError([Problem(position, what)], file) from None
    except (RecursionError, ValueError) as error:
        raise TopologyError(
            [Problem("", f"this is not the JSON of a topology: {error}")], file
        ) from None


# The file


def _read_file(file: Fields, file_name: str) -> Topology:
    for key in ("hosts", "switches", "links"):
        file.require(key)
    application = file.mapping("application")
    ip_base = application.text("ipBase") or str(APPLICATION["ipBase"])
    parsed_preferences = read_preferences(application)
    ours = file.mapping(OURS)
    name, kernel = ours.text("name") or "", ours.word("kernel") or ""
    ipv6_base, cpu = ours.text("ipv6_base") or "", plain.read_network_cpu(ours, "cpu")
    ours.refuse_rest()
    nodes: list[Node] = []
    links: list[Link] = []
    positions = {"ip_base": "application.ipBase"}
    for section, (read, write, keys) in _node_sections(parsed_preferences).items():
        for path, item in file.items(section):
            positions |= _positions(f"nodes[{len(nodes)}]", path, keys)
            nodes.append(_read(Fields(item, path, file.problems), read, write))
    for path, item in file.items("links"):
        positions |= _positions(f"links[{len(links)}]", path, _LINK_KEYS)
        links.append(_read(Fields(item, path, file.problems), _read_link, _write_link))
    file.value("version")
    preferences = {
        key: value for key, value in application.rest_unlike(APPLICATION).items() if key != "ipBase"
    }
    return Topology(
        name=name,
        ip_base=ip_base,
        kernel=kernel,
        cpu=cpu,
        ipv6_base=ipv6_base,
        nodes=tuple(nodes),
        links=tuple(links),
        extra=file.rest() | ({"application": preferences} if preferences else {}),
        source=Source(file=file_name, places=positions),
    )


def _write_file(topology: Topology) -> Entry:
    preferences = {**APPLICATION, **plain.mapping_in(topology.extra, "application")}
    ours: Entry = {
        key: value for key in ("name", "kernel", "ipv6_base") if (value := getattr(topology, key))
    }
    if topology.cpu is not None:
        ours["cpu"] = processor_words(topology.cpu)
    node_sections = _node_sections(preferences_of(preferences))
    sections: dict[str, list[Entry]] = {section: [] for section in node_sections}
    for node in topology.nodes:
        section = _SECTION_OF[type(node)]
        read, write, _ = node_sections[section]
        sections[section].append(_write(node, read, write))
    return {
        **topology.extra,
        **({OURS: ours} if ours else {}),
        "application": {**preferences, "ipBase": topology.ip_base},
        "version": "2",
        **sections,
        "links": [_write(link, _read_link, _write_link) for link in topology.links],
    }


def _node_sections(preferences: Preferences) -> Mapping[str, _NodeSection]:
    """Return a reader, a writer and the keys of the fields for each list of nodes in a file."""
    return {
        "hosts": (_read_host, _write_host, _HOST_KEYS),
        "switches": (
            partial(_read_switch, preferences),
            partial(_write_switch, preferences),
            _SWITCH_KEYS,
        ),
        "controllers": (_read_controller, _write_controller, _CONTROLLER_KEYS),
    }


def _upgrade(data: object, problems: Problems) -> object:
    """Convert the data of a version "1" file to version "2"."""
    if not isinstance(data, dict):
        return data
    version = data.get("version")
    if version is None and (data.get("controllers") or data.get("switches")):
        problems.add("version", '"version" is missing', 'it is "2", or "1" for very old files')
    elif version is not None and str(version) not in ("1", "2"):
        problems.add("version", f'unknown version "{version}"', 'it must be "1" or "2"')
    if str(version) != "1" or not isinstance(data.get("controllers", {}), dict):
        return data
    controllers = data.get("controllers", {})
    upgraded = [
        {
            "x": "30.0",
            "y": "30.0",
            "opts": {"hostname": name, **opts} if isinstance(opts, dict) else opts,
        }
        for name, opts in controllers.items()
    ]
    switches = data.get("switches")
    for switch in switches if isinstance(switches, list) else []:
        opts = switch.get("opts") if isinstance(switch, dict) else None
        if isinstance(opts, dict) and opts.get("switchType") not in ("legacySwitch", _ROUTER):
            opts.setdefault("controllers", list(controllers))
    return {**data, "controllers": upgraded}


def _positions(path: str, position: str, keys: Mapping[str, str]) -> dict[str, str]:
    """Map the paths of an element and its fields in the model to their positions in the file."""
    inside = {f"{path}.{field}": f"{position}.{key}" for field, key in keys.items()}
    return {path: position, **inside}


# One node or link, without loss


def _read(
    item: Fields, read: Callable[[Fields], Element], write: Callable[[Element], Entry]
) -> Element:
    """Read a node or link, and keep in `extra` what `write` would not reproduce.

    These are the fields that `write` leaves out or spells differently. What is under "wanlab" in the
    options is not kept, because `read` has already put it into the model.
    """
    element = read(item)
    canonical = write(element)
    extra = item.rest_unlike(canonical)
    opts = item.mapping("opts").rest_unlike(canonical["opts"])
    opts.pop(OURS, None)
    extra.pop("opts", None)
    return replace(element, extra={**extra, "opts": opts} if opts else extra)


def _write(
    element: Element, read: Callable[[Fields], Element], write: Callable[[Element], Entry]
) -> Entry:
    """Return an entry that `read` turns into the same element again.

    Start from MiniEdit's spelling, then make the two corrections described at the top of this file.
    Whether a field of `extra` still agrees with the model is found out by reading the entry with it
    and without it.
    """
    bare = replace(element, extra={})

    def read_back(entry: Entry) -> Element:
        """Return the element that the next `load` would make of an entry, without `extra`."""
        return read(Fields(entry, "", Problems()))

    entry = write(bare)
    for piece in _pieces(element.extra):
        trial = {**entry, **piece, "opts": {**entry["opts"], **piece.get("opts", {})}}
        # A piece may complete the element or change nothing. Any other contradicts the model, which
        # was changed after the file was read.
        if read_back(trial) in (bare, read_back(entry)):
            entry = trial
    if remainder := _remainder(_to_plain(bare), _to_plain(read_back(entry))):
        entry["opts"][OURS] = remainder
    return entry


def _pieces(extra: Mapping[str, object]) -> list[Entry]:
    """Return all extra fields together (they may depend on each other), and then one by one."""
    if not extra:
        return []
    opts = plain.mapping_in(extra, "opts")
    others = {key: value for key, value in extra.items() if key != "opts"}
    pieces = [{"opts": {key: value}} for key, value in opts.items()]
    return [{**others, "opts": opts}, *pieces, *({key: value} for key, value in others.items())]


def _remainder(complete: Entry, incomplete: Entry) -> Entry:
    """Return the fields that turn `incomplete` into `complete`; a value of None removes its key."""
    added = {key: value for key, value in complete.items() if incomplete.get(key) != value}
    return {**added, **dict.fromkeys(incomplete.keys() - complete.keys())}


def _with_ours(element: Element, opts: Fields, read: Callable[[Fields], Element]) -> Element:
    """Return the element, changed by the fields under the key "wanlab" of its options."""
    ours = opts.mapping(OURS)
    if not (words := ours.rest()):
        return element
    merged = {**_to_plain(element), **words}
    present = {key: value for key, value in merged.items() if value is not None}
    changed = read(Fields(present, ours.path, ours.problems))
    if type(changed) is not type(element):
        ours.problems.add(ours.path, f"this changes the kind of {element}", "leave the kind out")
        return element
    return changed


def _to_plain(element: Node | Link) -> Entry:
    if isinstance(element, Link):
        return plain.link_to_plain(element)
    return plain.node_to_plain(element)


# Nodes


def _read_host(item: Fields) -> Node:
    number, common, opts = _read_common(item)
    scheduler = opts.text("sched")
    host = Host(
        opts.text("hostname") or f"h{number}",
        number=number,
        **common,
        ip=plain.read_ip(opts, "ip"),
        default_route=opts.text("defaultRoute"),
        private_directories=plain.read_private_directories(opts, "privateDirectory"),
        vlan_interfaces=plain.read_vlan_interfaces(opts, "vlanInterfaces"),
        external_interfaces=opts.texts("externalInterfaces"),
        cpu=opts.number("cpu"),
        cores=opts.word("cores"),
        scheduler=None if scheduler == "host" else scheduler,
    )
    return _with_ours(host, opts, plain.read_node)


def _write_host(host: Node) -> Entry:
    assert isinstance(host, Host), f"{host} is not a host"
    opts = {
        "hostname": host.name,
        "nodeNum": host.number,
        "sched": host.scheduler or "host",
    }
    optional = {
        "ip": plain.ip_word(host.ip),
        "defaultRoute": host.default_route,
        "privateDirectory": [
            mount if folder is None else [mount, folder]
            for mount, folder in host.private_directories
        ],
        "vlanInterfaces": [[ip, str(vlan)] for ip, vlan in host.vlan_interfaces],
        "externalInterfaces": list(host.external_interfaces),
        "cpu": cpu_share(host),
        "cores": host.cores,
    }
    return _entry(host, {**opts, **optional})


def _read_switch(preferences: Preferences, item: Fields) -> Node:
    """Read a switch or a router: MiniEdit keeps both in one list."""
    number, common, opts = _read_common(item)
    name = opts.text("hostname") or f"s{number}"
    kind = opts.text("switchType") or "default"
    if kind not in _SWITCH_TYPES:
        opts.problem("switchType", f'unknown type "{kind}"', did_you_mean(kind, _SWITCH_TYPES))
    external = opts.texts("externalInterfaces")
    if kind == _ROUTER:
        router = Router(name, number=number, **common, external_interfaces=external)
        return _with_ours(router, opts, plain.read_node)
    controllers = opts.texts("controllers")
    if kind == "default":
        command = common.get("start_command") or ""
        needs_type = controllers or _OPEN_VSWITCH.search(command)
        kind = preferences.switch_type if needs_type else "bridge"
    switch = Switch(
        name,
        number=number,
        **common,
        kind="bridge" if kind == "legacySwitch" else kind,
        dpid=opts.word("dpid"),
        ip=opts.text("switchIP"),
        controllers=controllers,
        external_interfaces=external,
        listen_port=opts.integer("dpctl") if opts.word("dpctl") else None,
    )
    if switch.kind == "ovs":
        switch = replace(
            switch,
            protocols=preferences.protocols,
            netflow=preferences.netflow if opts.word("netflow") == "1" else None,
            sflow=preferences.sflow if opts.word("sflow") == "1" else None,
        )
    return _with_ours(switch, opts, plain.read_node)


def _write_switch(preferences: Preferences, node: Node) -> Entry:
    opts: Entry = {"hostname": node.name, "nodeNum": node.number}
    if isinstance(node, Router):
        opts |= {"switchType": _ROUTER, "externalInterfaces": list(node.external_interfaces)}
        return _entry(node, opts)
    assert isinstance(node, Switch), f"{node} is neither switch nor router"
    opts |= {
        "switchType": "legacySwitch" if node.kind == "bridge" else node.kind,
        "dpid": node.dpid,
        "switchIP": node.ip,
        "externalInterfaces": list(node.external_interfaces),
        "dpctl": None if node.listen_port is None else str(node.listen_port),
        "netflow": "1" if node.netflow and node.netflow == preferences.netflow else None,
        "sflow": "1" if node.sflow and node.sflow == preferences.sflow else None,
    }
    entry = _entry(node, opts)
    entry["opts"]["controllers"] = list(node.controllers)  # MiniEdit writes an empty list, too
    return entry


def _read_controller(item: Fields) -> Node:
    for key in ("x", "y", "opts"):
        item.require(key)
    opts = item.mapping("opts")
    for key in ("hostname", "controllerType", "remoteIP", "remotePort"):
        opts.require(key)
    port = opts.integer("remotePort")
    kind = opts.text("controllerType") or "ref"
    controller = Controller(
        opts.text("hostname") or "c0",
        x=item.number("x") or 0.0,
        y=item.number("y") or 0.0,
        kind=_CONTROLLER_KINDS.get(kind, kind),
        protocol=opts.text("controllerProtocol") or "tcp",
        address=opts.text("remoteIP") or "127.0.0.1",
        port=6633 if port is None else port,
    )
    return _with_ours(controller, opts, plain.read_node)


def _write_controller(controller: Node) -> Entry:
    assert isinstance(controller, Controller), f"{controller} is not a controller"
    opts = {
        "hostname": controller.name,
        "controllerType": "ref" if controller.kind == "learning" else controller.kind,
        "controllerProtocol": controller.protocol,
        "remoteIP": controller.address,
        "remotePort": controller.port,
    }
    return {"x": str(controller.x), "y": str(controller.y), "opts": opts}


def _read_common(item: Fields) -> tuple[int, dict[str, Any], Fields]:
    """Read the number, the fields that every node has, and the options."""
    for key in ("number", "x", "y", "opts"):
        item.require(key)
    opts = item.mapping("opts")
    item_number, number = item.integer("number"), opts.integer("nodeNum")
    common = {
        "x": item.number("x") or 0.0,
        "y": item.number("y") or 0.0,
        "start_command": opts.text("startCommand"),
        "stop_command": opts.text("stopCommand"),
    }
    return (number if number is not None else item_number or 0), common, opts


def _entry(node: Node, opts: Entry) -> Entry:
    """Return the entry of a node, without empty options, as MiniEdit writes it."""
    opts |= {"startCommand": node.start_command, "stopCommand": node.stop_command}
    opts = {key: value for key, value in opts.items() if value not in (None, [])}
    return {"number": str(node.number), "x": str(node.x), "y": str(node.y), "opts": opts}


# Links


def _read_link(item: Fields) -> Link:
    for key in ("src", "dest", "opts"):
        item.require(key)
    opts = item.mapping("opts")
    packets = opts.integer("max_queue_size")
    delay = opts.parsed("delay", read_delay) or NetemDelay()
    jitter_ns = opts.parsed("jitter", read_time) or delay.jitter_ns
    both = Conditions(
        rate_bps=opts.parsed("bw", read_rate) or None,
        delay_ns=delay.delay_ns,
        jitter_ns=jitter_ns,
        delay_correlation_fraction=delay.correlation_fraction,
        distribution=delay.distribution,
        loss_fraction=opts.parsed("loss", read_percentage) or 0.0,
        queue=Queue(limit_packets=packets) if packets else None,
    )
    speedup = opts.parsed("speedup", read_rate)

    def port(key: str, number: str) -> Port:
        node = item.text(key) or ""
        is_faster = speedup and node.startswith("s")
        conditions = replace(both, rate_bps=speedup) if is_faster else both
        return Port(node, number=opts.integer(number), conditions=conditions)

    return _with_ours(Link(port("src", "port1"), port("dest", "port2")), opts, plain.read_link)


def _write_link(link: Link) -> Entry:
    a, b = (words_of(port.conditions) for port in link.ports)
    both = link.a.conditions
    opts: Entry = {"port1": link.a.number, "port2": link.b.number}
    for word in ("delay", "jitter"):
        if a.get(word) == b.get(word):
            opts[word] = a.get(word)
    if a.get("rate") == b.get("rate") and both.rate_bps:
        opts["bw"] = _number(both.rate_bps / 10**6)
    if a.get("loss") == b.get("loss") and both.loss_fraction:
        opts["loss"] = _number(float(str(a["loss"]).rstrip("%")))
    if a.get("queue") == b.get("queue"):
        opts["max_queue_size"] = _packets_alone(both.queue)
    opts = {key: value for key, value in opts.items() if value is not None}
    return {"src": link.a.node, "dest": link.b.node, "opts": opts}


def _packets_alone(queue: Queue | None) -> int | None:
    """Return the limit if it is the queue's only field; MiniEdit can express no other."""
    packets = queue.limit_packets if queue else None
    return packets if queue == Queue(limit_packets=packets) else None


def _number(value: float) -> float:
    """Return whole numbers without a decimal point, as MiniEdit writes them."""
    return int(value) if value.is_integer() else value
