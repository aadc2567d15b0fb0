"""The course, one folder per lab, all of one shape: topology.mn and the steps as a program.

lab        what a lab is, and what came of it
terminals  typing the course's commands
results    the folder of a run: records, figures, report
"""

from __future__ import annotations

from importlib import import_module

from wanlab.errors import WanlabError

from .lab import Lab

NUMBERS = (14,)


def find(number: int) -> Lab:
    """The lab of that number."""
    if number not in NUMBERS:
        known = ", ".join(str(n) for n in NUMBERS)
        raise WanlabError(f"there is no lab {number} here", f"there is: {known}")
    lab = import_module(f"wanlab.labs.lab{number:02}").LAB
    assert isinstance(lab, Lab)
    return lab
