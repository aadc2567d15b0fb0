"""Translate settings made by `ip`, `ethtool`, `sysctl` and the like in terminals into a drawing.

A document has words for the address, the MAC address and the MTU of a port, for the work of its NIC,
for the default route of a host and for the routes of a router. Everything else becomes part of the
node's start command, which is performed when the network starts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from wanlab.units import whole_number

from ..protocol.messages import LivePort
from ..protocol.model import Document, DrawnLink, DrawnNode, Elements, Options
from ..protocol.settings import NodeSetting
from .link_changes import changed_link

_VERBS = {"add", "del", "delete", "replace", "change", "set", "append", "flush"}
_FEATURES = {"tso": "tso", "gro": "gro", "tcp-segmentation-offload": "tso"}
_NOT_PLAIN = re.compile(r"[|`<>(){}*?&]|\$")
_START = "start command"


def settings_of(line: str) -> list[str]:
    """Return the commands of a successful line that set something in the kernel.

    Only plain commands are known, without variables, pipes and loops. Of `a; b && c` the status says
    only that b and c ended well.
    """
    found = []
    for part in line.rpartition(";")[2].split("&&"):
        words = _words(part)
        if words and _sets(words):
            found.append(shlex.join(words))
    return found


def _words(part: str) -> list[str]:
    if _NOT_PLAIN.search(part):
        return []
    try:
        words = shlex.split(part)
    except ValueError:
        return []
    return words[1:] if words[:1] == ["sudo"] else words


def _sets(words: Sequence[str]) -> bool:
    program, rest = words[0].rpartition("/")[2], words[1:]
    match program:
        case "ip":
            return "netns" not in rest and any(word in _VERBS for word in rest[:4])
        case "ethtool":
            return any(re.fullmatch(r"-[KCGsLA]|--(features|coalesce|change)", it) for it in rest)
        case "sysctl":
            return any("=" in word and not word.startswith("-") for word in rest)
        case "ifconfig":
            return len(rest) > 1
        case "route":
            return rest[:1] in (["add"], ["del"])
    return False


def subject_of(setting: str) -> str:
    """Return the subject of a setting: a later setting of the same subject replaces it."""
    words = shlex.split(setting)
    if words[0] == "sysctl":
        return "sysctl " + " ".join(word.partition("=")[0] for word in words if "=" in word)
    if words[0] == "ethtool":
        return " ".join(words[:3] + words[3::2])
    if "set" in words:
        return " ".join(words[:-1])
    return setting


@dataclass(frozen=True)
class _Property:
    """A property of a port or node, and its value. `port` is "" for a property of the node."""

    port: str
    word: str
    value: object
    title: str


def _property(setting: str, node: DrawnNode, ports: Iterable[LivePort]) -> _Property | None:
    """Return the property of the drawing that corresponds to a setting, or None."""
    words = shlex.split(setting)
    match words:
        case ["ip", ("addr" | "address" | "a"), "add", address, "dev", name]:
            port = _port(name, node, ports)
            # A drawing has one address for a port; further ones are added when the network starts.
            if port is not None and _addresses(port) == [address]:
                return _Property(name, "ip", address, f"IP address of {name}")
        case ["ip", ("link" | "l"), "set", *rest]:
            return _link_property(rest[1:] if rest[:1] == ["dev"] else rest)
        case ["ip", ("route" | "r"), ("add" | "replace"), "default", *rest] if node.kind == "host":
            return _Property("", "default_route", " ".join(rest), "default route")
        case ["ip", ("route" | "r"), "add", *rest] if node.kind == "router":
            return _Property("", "routes", " ".join(rest), "routes")
        case ["ethtool", "-K", port, *rest] if set(rest[::2]) <= set(_FEATURES):
            values = {_FEATURES[a]: b for a, b in zip(rest[::2], rest[1::2], strict=False)}
            return _Property(port, "nic", values, f"NIC of {port}")
        case ["ethtool", "-C", port, "rx-usecs", time_us] if whole_number(time_us) is not None:
            return _Property(port, "nic", {"coalescing": f"{time_us}us"}, f"NIC of {port}")
    return None


def _addresses(port: LivePort) -> list[str]:
    return [address for address in port.addresses if ":" not in address]


def _removes_addresses(setting: str, names: set[str]) -> bool:
    """Whether a setting removes addresses of one of these ports."""
    words = shlex.split(setting)
    is_removal = words[:2] in (["ip", "addr"], ["ip", "address"], ["ip", "a"]) and words[2:3] in (
        ["del"],
        ["delete"],
        ["flush"],
    )
    return is_removal and bool(names & set(words))


def _link_property(rest: Sequence[str]) -> _Property | None:
    match rest:
        case [port, "mtu", mtu] if (number := whole_number(mtu)) is not None:
            return _Property(port, "mtu", number, f"MTU of {port}")
        case [port, "address", mac]:
            return _Property(port, "mac", mac, f"MAC address of {port}")
    return None


def described(node: DrawnNode | None, setting: str, ports: Iterable[LivePort]) -> NodeSetting:
    """Return a setting with its place in the drawing, which is "" if there is none."""
    if node is None:
        return NodeSetting(node="", line=setting, drawn_as="")
    if node.kind == "controller":
        return NodeSetting(node=node.id, line=setting, drawn_as="")
    ports = tuple(ports)
    one = _property(setting, node, ports)
    has_port = one is not None and (one.port == "" or _port(one.port, node, ports) is not None)
    return NodeSetting(
        node=node.id, line=setting, drawn_as=one.title if one is not None and has_port else _START
    )


def _port(name: str, node: DrawnNode, ports: Iterable[LivePort]) -> LivePort | None:
    return next((port for port in ports if port.name == name and port.node == node.id), None)


def with_settings(
    document: Document, node: DrawnNode, settings: Sequence[str], ports: Sequence[LivePort]
) -> Elements:
    """Return a node and its links with the settings applied."""
    options = dict(node.options)
    links = {link.id: link for link in document.links}
    changed: set[str] = set()
    commands: list[str] = []
    properties = [one for it in settings if (one := _property(it, node, ports)) is not None]
    addressed = {one.port for one in properties if one.word == "ip"}
    for setting in settings:
        if _removes_addresses(setting, addressed):
            continue  # the current address is drawn
        one = _property(setting, node, ports)
        port = _port(one.port, node, ports) if one is not None else None
        if one is None or (one.port and (port is None or port.link not in links)):
            commands.append(setting)
        elif one.word == "routes":
            options["routes"] = [*_list(options.get("routes")), one.value]
        elif port is None or _is_nodes_own(node, one, port, document.links):
            options[one.word] = one.value
        else:
            links[port.link] = _with_property(links[port.link], port, one)
            changed.add(port.link)
    if commands:
        before = str(options.get("start_command") or "")
        options["start_command"] = "; ".join([*([before] if before else []), *commands])
    return Elements(
        nodes=(msgspec.structs.replace(node, options=options),),
        links=tuple(links[id_] for id_ in sorted(changed)),
    )


def _is_nodes_own(
    node: DrawnNode, one: _Property, port: LivePort, links: Iterable[DrawnLink]
) -> bool:
    """Whether this is a host's first port, and the host itself has the property."""
    first = next((link.id for link in links if node.id in (link.a, link.b)), None)
    return node.kind == "host" and one.word in ("ip", "mac") and port.link == first


def _with_property(link: DrawnLink, port: LivePort, one: _Property) -> DrawnLink:
    before: Options = dict(link.a_options if port.end == "a" else link.b_options)
    value = one.value
    if isinstance(value, Mapping):
        old = before.get(one.word)
        value = {**(old if isinstance(old, Mapping) else {}), **value}
    return changed_link(link, {one.word: value}, port.end)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []
