"""An experiment that fails with one of its values."""

from __future__ import annotations

from wanlab import Design, Run, experiment, shapes


@experiment(design=Design.grid({"x": [1, 2], "y": [1, 2, 3, 4]}))
def mistyped(run: Run, *, x: int = 1, y: int = 1) -> None:
    """Fail if x is 2."""
    if x == 2:
        raise ValueError("x has a typo")
    with run.network(shapes.minimal()):
        run.metric("found", y)
