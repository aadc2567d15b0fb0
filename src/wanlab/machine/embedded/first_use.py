"""Builds a kernel when it is first used, and lists the kernels that can be built.

The recipe is beside the package in a checkout, and below this folder in a wheel. An installation
without a wheel's kernel has no recipe, only kernels that have been built.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

from wanlab.errors import RequirementError, did_you_mean
from wanlab.parent_death import with_us

PROCESSOR_MINUTES = 10
"""The duration of a build on one idle processor."""


def recipe_program() -> Path:
    """Return the program that builds kernels; it may not exist in an installed wanlab."""
    here = Path(__file__).resolve()
    checkout = here.parents[4] / "kernel" / "build.py"
    return checkout if checkout.exists() else here.parent / "recipe" / "build.py"


def can_build(name: str) -> bool:
    """Return whether there is a recipe for a kernel of that name."""
    program = recipe_program()
    return program.exists() and name in _listed(program)


@cache
def folder_of(name: str) -> Path | None:
    """Return the folder of the recipe's kernel of that name; None without one. Asks once per process."""
    program = recipe_program()
    folder = _listed(program).get(name, "") if program.exists() else ""
    return Path(folder) if folder else None


def build(name: str, built: Collection[str]) -> None:
    """Build the kernel of that name, and say on standard error how long that takes.

    RequirementError if there is no such kernel (the hint names the existing ones) or no recipe.
    """
    program = recipe_program()
    if not program.exists():
        raise RequirementError(
            f'there is no kernel "{name}" here',
            f"a checkout of wanlab builds others; {did_you_mean(name, sorted(built))}",
        )
    known = _listed(program)
    if name not in known:
        raise RequirementError(f'there is no kernel "{name}"', did_you_mean(name, list(known)))
    processors = len(os.sched_getaffinity(0))
    minutes = max(1, round(PROCESSOR_MINUTES / processors))
    print(
        f"wanlab: the kernel {name} has not been built yet; that takes about {minutes} min on "
        f"{processors} idle processor{'s' if processors != 1 else ''}, once",
        file=sys.stderr,
        flush=True,
    )
    done = subprocess.run(
        with_us([sys.executable, str(program), "build", name]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise RequirementError(
            f"the kernel {name} could not be built", f"see above, or: wanlab kernel build {name}"
        )


def _listed(program: Path) -> dict[str, str]:
    """Return the folders of the recipe's kernels by name, "" for those that are not built."""
    command = [sys.executable, str(program), "list", "--json"]
    done = subprocess.run(
        with_us(command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RequirementError("cannot list the kernels", done.stderr.strip())
    return {str(kernel["name"]): str(kernel["where"]) for kernel in json.loads(done.stdout)}
