"""The machines to try behaviour on, and what becomes of a test where the computer's kernel lacks
something."""

from __future__ import annotations

from functools import cache

import pytest

from wanlab import Finding, Network, Topology, checkup
from wanlab.errors import WanlabError
from wanlab.machine import MachineKind

MACHINES: list[MachineKind] = ["embedded", "native"]


@cache
def why_no_native() -> str:
    """Empty if there are namespaces to be had."""
    try:
        with Network(Topology(), machine="native", folder="/tmp"):
            return ""
    except WanlabError as error:
        return str(error)


@cache
def native_findings() -> dict[str, Finding]:
    """What the doctor says of the computer's kernel, by name."""
    return {finding.name: finding for finding in checkup().findings if finding.area == "native"}


def need(machine: MachineKind, *names: str) -> None:
    """Skips the test where something that it needs is lacking: "queue netem"."""
    if machine == "native":
        lacking = [name for name in names if not native_findings()[name].is_there]
        if lacking:
            pytest.skip(f"the computer's kernel lacks {', '.join(lacking)}")
