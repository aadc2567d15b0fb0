"""The course: a folder for each lab, exercise and problem, with lesson, topology and steps as data.

catalog      the units that are here          unit, unit_file   what lab.yaml says
home         the manual's folders             shell, prompt     terminals, typed into from outside
runner    performs steps                   canvas            what is drawn in the GUI
outcome      numbers of outputs (wanlab.measure.metrics) beside the manual's
grade        checks of a student's network    unit_run, page runs and their reports
check_selftest        whether the checks are right     summary           many units in one table
unit_process a unit that another program runs

Lab 14 is a program as well: lab, terminals, results, table.
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
