"""The option --modes: compare modes of the machine's kernel (docs/how-to/kernels.md) in one run.

Runs in the modes alternate, so that a busy computer disturbs all of them alike.
"""

from __future__ import annotations

import argparse

from wanlab.machine.defaults import in_mode as in_mode
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


def _modes(text: str) -> list[str]:
    modes = text.split(",")
    if wrong := [mode for mode in modes if mode not in MODES]:
        raise argparse.ArgumentTypeError(f"there is no mode {wrong[0]}: {', '.join(MODES)}")
    return modes
