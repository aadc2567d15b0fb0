"""`wanlab kernel`: runs the kernel's recipe, which is beside the package in a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import wanlab
from wanlab.errors import RequirementError

from .signals import EndedBySignal


def run_recipe(arguments: list[str]) -> int:
    """Run kernel/build.py and return its exit status."""
    program = Path(wanlab.__file__).parents[2] / "kernel" / "build.py"
    if not program.exists():
        raise RequirementError(
            "the kernel's recipe is not part of an installed wanlab",
            "use a checkout of wanlab, which has it in the folder kernel/",
        )
    recipe = subprocess.Popen([sys.executable, str(program), *arguments])
    try:
        return recipe.wait()
    except EndedBySignal as ended:
        recipe.send_signal(ended.number)
        recipe.wait()
        raise
