"""Find what lets packets take another path while a port still counts them.

The counters of a port show that traffic has passed it only if each packet exists once, and no interface
leads past the port. A submission that mirrors packets to a link of its own has the counters count the
copies, which are dropped afterwards, while the measured packets avoid the port.

struct tcamsg, struct tc_mirred and TCA_... of include/uapi/linux/{rtnetlink,pkt_cls}.h and
tc_act/tc_mirred.h, Linux 6.12.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator

from wanlab.netlink import framing, link_dump
from wanlab.network import Network

from .interfaces import LINKS

ROOT = ""
HARMLESS = ("", "bridge", "dummy", "ifb", "openvswitch", "vlan", "vrf")
"""Kinds of interfaces that lead nowhere but through ports; "": the kernel makes it at boot."""
RTM_GETACTION = 50
_TCAMSG = struct.Struct("=B3x")
_MIRRED = struct.Struct("=IIiiiiI")  # index, capabilities, action, references, bindings, kind, port
_ATTRIBUTE = struct.Struct("=HH")
_ACTION_TABLE, _KIND, _OPTIONS, _MIRRED_PARAMETERS = 1, 1, 2, 2
_MIRRORS = (2, 4)  # TCA_EGRESS_MIRROR, TCA_INGRESS_MIRROR


def side_paths(network: Network) -> list[str]:
    """Return what could lead packets past ports of the network: a sentence for each. No time passes."""
    ports: dict[str, set[str]] = defaultdict(set)
    for node in network.topology.nodes:
        for port in network.topology.ports(node.name):
            ports[network.namespace_of(port)].add(port.name or "")
    namespaces = sorted({ROOT, *ports})
    sources = [["route", name, what] for name in namespaces for what in (LINKS, ACTIONS)]
    parts = network.read(sources)
    found = []
    for index, namespace in enumerate(namespaces):
        where = f" in {namespace}" if namespace else ""
        for link in link_dump.decode(parts[2 * index]):
            if not (link.is_loopback or link.kind in HARMLESS or link.name in ports[namespace]):
                found.append(f"the interface {link.name}{where} does not belong to the network")
        if any(kind in _MIRRORS for kind in mirred_kinds(parts[2 * index + 1])):
            found.append(f"a filter{where or ' of a switch'} copies packets (mirred mirror)")
    return found


def mirred_kinds(dump: bytes) -> Iterator[int]:
    """Yield what each action mirred does, from the answer to `ACTIONS`."""
    for _, message in framing.dumps(dump):
        table = framing.attributes(message[_TCAMSG.size :]).get(_ACTION_TABLE, b"")
        for action in framing.attributes(table).values():
            options = framing.attributes(framing.attributes(action).get(_OPTIONS, b""))
            yield _MIRRED.unpack_from(options[_MIRRED_PARAMETERS])[5]


def _attribute(kind: int, value: bytes) -> bytes:
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value + bytes(-length % 4)


ACTIONS = framing.request(
    RTM_GETACTION,
    _TCAMSG.pack(0) + _attribute(_ACTION_TABLE, _attribute(1, _attribute(_KIND, b"mirred\0"))),
).hex()
"""Requests all actions that mirror or redirect packets."""
