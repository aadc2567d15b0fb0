"""Find out which machines can be tested, and skip tests that the computer's kernel cannot run."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.machine.defaults import TRAPS_VARIABLE
from wanlab.machine.embedded import find_image
from wanlab.machine.embedded.traps import has_seccomp_mode, why_not_in_process


def _iperf3_version() -> tuple[int, ...]:
    version = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"iperf (\d+)\.(\d+)", version.stdout)
    return tuple(map(int, found.groups())) if found else ()


# Debian 12 has 3.12, Ubuntu 24.04 3.16: wanlab docs measurement, Three ways to look, says what changes.
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
def _other_mode() -> tuple[str, str]:
    """Return the kernel's mode besides ptrace, and why it cannot be used."""
    try:
        image = find_image()
        if has_seccomp_mode(image):
            return "seccomp", ""
        why_not = why_not_in_process(image)
    except WanlabError as error:
        return "", str(error)
    return ("", why_not) if why_not else ("inprocess", "")


def other_mode() -> str:
    """Return the mode besides ptrace in which the kernel takes over system calls."""
    return _other_mode()[0]


needs_another_mode = pytest.mark.skipif(not other_mode(), reason=_other_mode()[1])

counts_computing = pytest.mark.skipif(
    other_mode() != "inprocess" or os.environ.get(TRAPS_VARIABLE) == "ptrace",
    reason="only in in-process mode is it known how long programs compute",
)
