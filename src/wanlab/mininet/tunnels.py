"""The devices through which `ip tunnel` talks to the kernel: tunl0, gre0, sit0, ...

`ip tunnel add` fails in a namespace without them. Linux creates them when the command loads the
tunnel's module. wanlab's kernel has the tunnels built in and is started without these devices, so that
a node shows its own interfaces only. So wanlab creates the needed device before such a command runs.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from wanlab.errors import CommandError

from .namespace import run_batch

BUILT_IN = Path("/run/wanlab/built_in")
"""Exists on wanlab's own kernel; any other loads modules."""

# The first device of each mode of `ip tunnel`, and its type for `ip link`: ip-tunnel(8).
DEVICES = {
    **dict.fromkeys(("ipip", "ipip/ip", "ip/ip"), ("tunl0", "ipip")),
    **dict.fromkeys(("gre", "gre/ip"), ("gre0", "gre")),
    **dict.fromkeys(("sit", "ipv6/ip"), ("sit0", "sit")),
    **dict.fromkeys(("ip6ip6", "ipip6", "ip6ip", "any"), ("ip6tnl0", "ip6tnl")),
    **dict.fromkeys(("ip6gre", "gre/ipv6"), ("ip6gre0", "ip6gre")),
}
_COMMAND = re.compile(
    r"\bip\s+(?:-\S+\s+)*tun(?:nel)?\s+add\b[^;&|\n]*?\smode\s+(\S+)", re.IGNORECASE
)


def needed_devices(command: str) -> list[tuple[str, str]]:
    """Return name and type of each device that the `ip tunnel add` in a command needs."""
    modes = [mode.lower() for mode in _COMMAND.findall(command)]
    return list(dict.fromkeys(DEVICES[mode] for mode in modes if mode in DEVICES))


def prepare_tunnels(namespace: str, command: str) -> None:
    """Create the devices that a command needs in a namespace, unless they exist."""
    if "tun" not in command or not BUILT_IN.exists():
        return
    for name, kind in needed_devices(command):
        with contextlib.suppress(CommandError):  # it exists
            run_batch(namespace, "ip", [f"link add {name} type {kind}"])
