"""The provenance of a record: the network, the machine and the tools that produced it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from wanlab.machine import Machine, MachineDescription
from wanlab.record import Provenance
from wanlab.topology.cpu import cpu_words
from wanlab.topology.files import mn
from wanlab.topology.model import Topology
from wanlab.topology.nic import nic_words
from wanlab.topology.references import self_contained
from wanlab.version import VERSION

from .options import NetworkOptions

# Commands that print versions. The programs come from the computer, not from wanlab, so a record
# states their versions.
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
    machine: Machine,
    options: NetworkOptions,
    topology: Topology,
    *,
    commands: Sequence[str],
    warnings: Sequence[str],
    parameters: Mapping[str, object],
) -> Provenance:
    """Return the origin of measurements in a running network."""
    described = machine.describe()
    return Provenance(
        wanlab=VERSION,
        topology=mn.dump(self_contained(topology)),
        commands=tuple(commands),
        seed=options.seed,
        machine=described["machine"],
        kernel_release=described["kernel_release"],
        kernel_manifest=described["kernel_manifest"],
        tools=tool_versions(machine.environment),
        clock=options.clock,
        wire=options.wire,
        nic=nic_words(options.nic),
        warnings=(*warnings, *_missing_confinement(described)),
        settings={
            "line_rate_bps": options.line_rate_bps,
            "sysctls": options.sysctls,
            **({"cpu": cpu_words(options.cpu)} if options.cpu else {}),
        },
        parameters=dict(parameters),
        traps=machine.traits.traps,
    )


def _missing_confinement(machine: MachineDescription) -> list[str]:
    missing = machine.get("missing_confinement", [])
    return (
        [f"the machine ran without {', '.join(missing)} (see wanlab docs security)"]
        if missing
        else []
    )


def tool_versions(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the first line that each installed tool prints about its version.

    The tools run outside the machine: it has the same programs, but time would pass in it.
    """
    programs = {
        name: (Path(program), arguments)
        for name, (command, *arguments) in TOOLS.items()
        if (program := shutil.which(command, path=environment["PATH"]))
    }
    versions = {
        name: _version(program, tuple(arguments), program.stat().st_mtime_ns)
        for name, (program, arguments) in programs.items()
    }
    return {name: version for name, version in versions.items() if version}


@cache
def _version(program: Path, arguments: Sequence[str], changed_ns: int) -> str:
    """Cached until the program changes (`changed_ns` is its modification time)."""
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
