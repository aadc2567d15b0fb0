"""Writes a plan as a shell script, for people to read and to run."""

from __future__ import annotations

from collections.abc import Iterable

from wanlab.operations import (
    ChangeConditions,
    Operation,
)

HEAD = """#!/bin/sh
# Builds this topology by hand, as wanlab does. It changes settings of the kernel and files below
# /etc, so it runs in a machine of wanlab only: wanlab exec -- sh THIS_FILE
set -e
case $(uname -r) in
*-wanlab*) ;;
*)
  echo "$0 would replace files below /etc; run: wanlab exec -- sh $0" >&2
  exit 1
  ;;
esac
"""


def script(operations: Iterable[Operation], warnings: Iterable[str] = ()) -> str:
    """Return the whole plan; a comment above the commands of each operation describes it."""
    parts = [HEAD, *(f"# Warning: {warning}\n" for warning in warnings)]
    for operation in operations:
        parts.append(f"\n{comment(operation.describe())}\n")
        parts += [f"{command}\n" for command in operation.commands()]
    return "".join(parts)


def comment(text: str) -> str:
    """Return the text as a comment. It may come from a stranger's file, so no line may be a command."""
    return "\n".join(f"# {line}" for line in text.splitlines() or [""])


def schedule_script(port: str, changes: list[tuple[int, ChangeConditions]], repeats: bool) -> str:
    """Return the part of the script that changes a port later, in the background.

    `changes` has each change and its time in ns. If the schedule repeats, these are the changes of the
    first period and the one that begins the second.
    """
    lines = []
    before_ns = 0
    for at_ns, change in changes:
        lines.append(f"sleep {(at_ns - before_ns) / 1e9:.12g}")
        lines += change.commands()
        before_ns = at_ns
    if repeats:
        lines = ["while :; do", *(f"  {line}" for line in lines), "done"]
    body = "".join(f"  {line}\n" for line in lines)
    return f"\n# schedule of {port}\n(\n{body}) &\n"
