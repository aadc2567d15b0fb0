"""What a record says of the network that it comes from."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanlab.record import Provenance
from wanlab.topology.files import mn
from wanlab.topology.nic import nic_words
from wanlab.topology.references import self_contained
from wanlab.version import VERSION

if TYPE_CHECKING:
    from .network import Network

# How each says its version. The programs are the computer's own, so a record names them.
TOOLS = {
    "iperf3": ("iperf3", "--version"),
    "ping": ("ping", "-V"),
    "tc": ("tc", "-V"),
    "ip": ("ip", "-V"),
    "ethtool": ("ethtool", "--version"),
    "tcpdump": ("tcpdump", "--version"),
    "bash": ("bash", "--version"),
    "python": ("python3", "--version"),
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
        topology=mn.dump(self_contained(network.topology)),
        commands=tuple(network.commands if commands is None else commands),
        seed=network.seed,
        machine=described["machine"],
        kernel_release=described["kernel_release"],
        kernel_manifest=described["kernel_manifest"],
        tools=tool_versions(network.environment),
        clock=network.clock,
        wire=network.wire,
        nic=nic_words(network.nic),
        warnings=tuple(network.warnings),
        settings={"line_rate_bps": network.line_rate_bps, "sysctls": network.sysctls},
        parameters=dict(parameters or {}),
    )


def tool_versions(environment: Mapping[str, str]) -> dict[str, str]:
    """First line of what each tool says of itself; only those that are there. They are asked on our
    side: a machine has the same programs, but time would pass in it."""
    found = {
        name: (Path(program), arguments)
        for name, (command, *arguments) in TOOLS.items()
        if (program := shutil.which(command, path=environment["PATH"]))
    }
    versions = {
        name: _version(program, tuple(arguments), program.stat().st_mtime_ns)
        for name, (program, arguments) in found.items()
    }
    return {name: version for name, version in versions.items() if version}


@cache
def _version(program: Path, arguments: Sequence[str], changed_ns: int) -> str:
    """Asked once, as long as the program stays what it is."""
    done = subprocess.run(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"LANG": "C.UTF-8"},
        check=False,
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0] if done.returncode == 0 and lines else ""
