"""What a record says of the network that it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wanlab.record import Provenance
from wanlab.topology.files import mn
from wanlab.version import VERSION

if TYPE_CHECKING:
    from .network import Network

TOOLS = {
    "iperf3": "iperf3 --version",
    "ping": "ping -V",
    "tc": "tc -V",
    "bash": "bash --version",
}


def provenance_of(
    network: Network,
    *,
    commands: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Provenance:
    """The origin of what was measured in a running network."""
    described = network.machine.describe()
    return Provenance(
        wanlab=VERSION,
        topology=mn.dump(network.topology),
        commands=tuple(commands),
        seed=network.seed,
        kernel_manifest=described["kernel_manifest"],
        tools=tool_versions(network),
        clock=network.clock,
        wire=network.wire,
        warnings=tuple(network.warnings),
        parameters=dict(parameters or {}),
    )


def tool_versions(network: Network) -> dict[str, str]:
    """First line of what each tool says of itself; only those that are there."""
    versions = {}
    for name, command in TOOLS.items():
        finished = network.root.run(command, check=False)
        if finished.status == 0:
            versions[name] = (finished.output or finished.errors).splitlines()[0]
    return versions
