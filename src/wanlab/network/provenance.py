"""What a record says of the network that it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wanlab.agent.operations import ROOT
from wanlab.record import Provenance
from wanlab.topology.files import mn
from wanlab.topology.nic import nic_words
from wanlab.version import VERSION

from .node import LiveNode

if TYPE_CHECKING:
    from .network import Network

# How each says its version. The programs are the computer's own, so a record names them.
TOOLS = {
    "iperf3": "iperf3 --version",
    "ping": "ping -V",
    "tc": "tc -V",
    "ip": "ip -V",
    "ethtool": "ethtool --version",
    "tcpdump": "tcpdump --version",
    "bash": "bash --version",
    "python": "python3 --version",
}


def provenance_of(
    network: Network,
    *,
    commands: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Provenance:
    """The origin of what was measured in a running network."""
    described = network.machine.describe()
    return Provenance(
        wanlab=VERSION,
        topology=mn.dump(network.topology),
        commands=tuple(network.commands if commands is None else commands),
        seed=network.seed,
        machine=described["machine"],
        kernel_release=described["kernel_release"],
        kernel_manifest=described["kernel_manifest"],
        tools=tool_versions(network),
        clock=network.clock,
        wire=network.wire,
        nic=nic_words(network.nic),
        warnings=tuple(network.warnings),
        settings={"line_rate_bps": network.line_rate_bps, "sysctls": network.sysctls},
        parameters=dict(parameters or {}),
    )


def tool_versions(network: Network) -> dict[str, str]:
    """First line of what each tool says of itself; only those that are there. One command asks all: a
    process costs the machine more than a version does."""
    script = "".join(
        f"said=$({command} 2>&1) && echo \"{name} ${{said%%$'\\n'*}}\"\n"
        for name, command in TOOLS.items()
    )
    ours = LiveNode(network, "root", ROOT, is_noted=False)
    told = ours.run(script, check=False).output
    return dict(line.split(" ", 1) for line in told.splitlines() if " " in line)
