"""`wanlab kernel`: runs the kernel's recipe, which a checkout and a wheel contain."""

from __future__ import annotations

import subprocess
import sys

from wanlab.errors import RequirementError
from wanlab.machine.embedded import recipe_program
from wanlab.parent_death import with_us

from .signals import STATUS_OF_SIGNAL, EndedBySignal

RUN = """
import signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from kernelbuild import main
sys.exit(main(sys.argv[2:], program="wanlab kernel"))
"""
"""Runs the recipe. SIGPIPE ends it without a traceback if the reader of its output has gone."""


def run_recipe(arguments: list[str]) -> int:
    """Run the recipe with these arguments, as `wanlab kernel`, and return its exit status."""
    program = recipe_program()
    if not program.exists():
        raise RequirementError(
            "`wanlab kernel` needs the kernel's build files, which this installation does not have",
            "install wanlab from its wheel, or run this in a checkout, which has them in kernel/",
        )
    # -P: the current folder may have modules that a program of a network has left there.
    recipe = subprocess.Popen(
        with_us([sys.executable, "-P", "-c", RUN, str(program.parent), *arguments]),
    )
    try:
        status = recipe.wait()
        return status if status >= 0 else STATUS_OF_SIGNAL - status
    except EndedBySignal as ended:
        recipe.send_signal(ended.number)
        recipe.wait()
        raise
