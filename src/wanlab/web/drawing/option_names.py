"""The names of options in messages: those of the page's forms, not those of the file format.

The page's undo menu has them, too (`typescript` writes them into ui/src/protocol.ts).
"""

from __future__ import annotations

from collections.abc import Mapping

from wanlab.topology import SETTINGS

NAMES = {
    **{word: setting.noun for word, setting in SETTINGS.items() if setting.noun},
    "address": "IP address",
    "cpu": "processor",
    "dpid": "DPID",
    "fail_mode": "behaviour without a controller",
    "frr": "frr.conf",
    "ip": "IP address",
    "ip_base": "IP base",
    "kind": "type",
    "listen_port": "DPCTL port",
    "mac": "MAC address",
    "mtu": "MTU",
    "name": "name",
    "netflow": "NetFlow",
    "nic": "NIC",
    "number": "port number",
    "port": "controller port",
    "protocols": "OpenFlow versions",
    "sflow": "sFlow",
    "speed": "line rate",
    "start_cli": "Start CLI",
    "stp": "spanning tree",
    "trunks": "tagged VLANs",
    "vlan": "untagged VLAN",
    "vlan_filtering": "VLAN filtering",
    "vlan_interfaces": "VLAN interfaces",
}
PARTS = ("options", "a_options", "b_options", "preferences")


def option_name(word: str) -> str:
    """Return the name of an option: "MAC address" for "mac"."""
    return NAMES.get(word, word.replace("_", " "))


def field_name(field: str, ends: Mapping[str, str]) -> str:
    """Return the name of a field of the drawing: "line rate at h1" for "a_options.speed".

    `ends` has the names of a link's ends.
    """
    first, _, rest = field.partition(".")
    path = rest if first in PARTS else field
    words = [option_name(word.partition("[")[0]) for word in path.split(".") if word]
    end = (
        ends.get(first.removesuffix("_options"), "") if first in ("a_options", "b_options") else ""
    )
    return " ".join(filter(None, [" ".join(words), end and f"at {end}"]))
