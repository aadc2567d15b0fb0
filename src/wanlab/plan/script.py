"""A plan as a shell script that does the same by hand, for people to read and to run."""

from __future__ import annotations

from collections.abc import Iterable

from wanlab.agent.operations import Operation

HEAD = """#!/bin/sh
# What wanlab does for this topology, by hand. Run it as root in a network namespace of its own, for
# example in: wanlab exec -- sh THIS_FILE
set -e
"""


def script(operations: Iterable[Operation]) -> str:
    """The whole plan; each operation's description stands above its commands."""
    parts = [HEAD]
    for operation in operations:
        parts.append(f"\n# {operation.describe()}\n")
        parts += [f"{command}\n" for command in operation.commands()]
    return "".join(parts)
