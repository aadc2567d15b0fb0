"""Warns after a `tc` command of queues whose settings have another effect than they seem to have."""

from __future__ import annotations

import re

from .live_network import live_network
from .log import warn
from .parameters import once

_TC = re.compile(r"(^|[\s;&|/(])tc\s")
_shown: set[str] = set()


def look_at_queues(command: str | None) -> None:
    """Look at the queues of all ports if a command that has ended contains `tc`."""
    if command is None or _TC.search(command) is None:
        return
    from wanlab.measure.queue_warnings import queue_warnings  # slow to import

    for warning in queue_warnings(live_network().network):
        once(_shown, warning, warn, f"*** Warning: {warning}\n")
