"""The option --modes: compare modes of the machine's kernel (docs/how-to/kernels.md) in one run.

Runs in the modes alternate, so that a busy computer disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from wanlab.machine.defaults import TRAPS_VARIABLE
from wanlab.machine.embedded import MODES

DEFAULT = ""
"""The mode that wanlab chooses."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add --modes, whose value is a list of modes."""
    parser.add_argument(
        "--modes",
        type=_modes,
        default=[DEFAULT],
        metavar="MODE,...",
        help=f"compare these modes of the kernel: {', '.join(MODES)}",
    )


@contextmanager
def in_mode(mode: str) -> Iterator[None]:
    """Let machines that start in this block, or in processes that it starts, run in a mode of traps."""
    before = os.environ.get(TRAPS_VARIABLE)
    if mode:
        os.environ[TRAPS_VARIABLE] = mode
    try:
        yield
    finally:
        if mode:
            os.environ.pop(TRAPS_VARIABLE)
        if mode and before is not None:
            os.environ[TRAPS_VARIABLE] = before


def _modes(text: str) -> list[str]:
    modes = text.split(",")
    if wrong := [mode for mode in modes if mode not in MODES]:
        raise argparse.ArgumentTypeError(f"there is no mode {wrong[0]}: {', '.join(MODES)}")
    return modes
