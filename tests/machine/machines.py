"""Find out which machines can be tested, and skip tests that the computer's kernel cannot run."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.errors import WanlabError
from wanlab.machine import MachineKind
from wanlab.machine.checkup import Finding, checkup
from wanlab.machine.embedded import find_image
from wanlab.machine.embedded.traps import has_seccomp_mode

MACHINES: list[MachineKind] = ["embedded", "native"]


@cache
def why_no_native() -> str:
    """Return why no native machine can be started; empty if one can."""
    try:
        with Network(Topology(), machine="native", folder="/tmp"):
            return ""
    except WanlabError as error:
        return str(error)


def _iperf3_version() -> tuple[int, ...]:
    version = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"iperf (\d+)\.(\d+)", version.stdout)
    return tuple(map(int, found.groups())) if found else ()


# Debian 12 has 3.12, Ubuntu 24.04 3.16: docs/measurement.md, Three ways to look, says what changes.
counts_every_byte = pytest.mark.skipif(
    _iperf3_version() >= (3, 16), reason="iperf3 has threads here, and counts whole blocks"
)

# In an image made by test_xstate.simulate_processor, a script starts the kernel under a tracer.
needs_the_kernel_itself = pytest.mark.skipif(
    (Path(os.environ.get("WANLAB_KERNEL", "")) / "linux.real").exists(),
    reason="the kernel runs under a simulated processor here",
)


@cache
def _why_no_seccomp_mode() -> str:
    try:
        image = find_image()
    except WanlabError as error:
        return str(error)
    return "" if has_seccomp_mode(image) else f"Linux {image.name} has no seccomp mode"


needs_seccomp_mode = pytest.mark.skipif(bool(_why_no_seccomp_mode()), reason=_why_no_seccomp_mode())
needs_a_kernel_without_seccomp_mode = pytest.mark.skipif(
    not _why_no_seccomp_mode(), reason="the kernel has a seccomp mode"
)


@cache
def native_findings() -> dict[str, Finding]:
    """Return the findings of `wanlab doctor` about the computer's kernel, by name."""
    return {finding.name: finding for finding in checkup().findings if finding.area == "native"}


def need(machine: MachineKind, *names: str) -> None:
    """Skip the test if something that it needs is missing, such as "queue netem"."""
    if machine == "native":
        if reason := why_no_native():
            pytest.skip(reason)
        lacking = [name for name in names if not native_findings()[name].is_there]
        if lacking:
            pytest.skip(f"the computer's kernel lacks {', '.join(lacking)}")
