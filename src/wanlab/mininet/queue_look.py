"""Warns of queues whose settings have another effect than they seem to have."""

from __future__ import annotations

import re
from contextlib import suppress

from wanlab.errors import WanlabError

from .live_network import live_network
from .log import warn
from .parameters import once

MAX_NODES = 64
"""In a larger network, only the ports of switches are looked at when it stops."""
SWITCHES = ""
"""The namespace of switches and their ports."""
_TC = re.compile(r"(^|[\s;&|/(])tc\s")
_shown: set[str] = set()


def look_after(command: str | None, namespace: str) -> None:
    """Look at the queues in a namespace if a command that has ended there contains `tc`."""
    if command is not None and _TC.search(command) is not None:
        _show(live_network().network.look_at_queues(namespace))


def look_at_all_queues() -> None:
    """Look at the queues of the live network of this program before it stops."""
    network = live_network().own_network
    if network is not None:
        is_large = len(network.topology.nodes) > MAX_NODES
        with suppress(WanlabError):  # a command has removed a node's namespace
            _show(network.look_at_queues(SWITCHES if is_large else None))


def _show(warnings: list[str]) -> None:
    for warning in warnings:
        once(_shown, warning, warn, f"*** Warning: {warning}\n")
