"""The kernel of an experiment whose function does not take it is varied like a parameter."""

from pathlib import Path

import pytest

from wanlab import Design, Run, Sweep, experiment
from wanlab.machine.embedded import find_image


@experiment
def plain(run: Run, *, x: int = 1) -> None:
    """Never performed here."""


@pytest.mark.machine
def test_a_figure_may_be_over_the_kernel(tmp_path: Path) -> None:
    folder = str(find_image().folder)
    design = Design.grid({"kernel": [folder, f"{folder}/."]})
    sweep = Sweep(plain, design, output=tmp_path)
    assert sweep.varied == ("kernel",)
    assert Sweep(plain, Design.grid({"x": [1, 2]}), output=tmp_path).varied == ("x",)
