"""Define experiments whose runs fail because the disk is full."""

import contextlib
import os
import signal
from pathlib import Path

from wanlab import Design, Run, experiment

TWICE = Design.grid({"x": [1, 2]})


@experiment(design=TWICE)
def by_itself(run: Run, *, x: int = 1) -> None:
    """Fill the disk with files of the run."""
    fill(run.folder / "filling")


@experiment(design=TWICE)
def until_killed(run: Run, *, x: int = 1) -> None:
    """Fill the disk with files of the run, and be killed."""
    with contextlib.suppress(OSError):
        fill(run.folder / "filling")
    os.kill(os.getpid(), signal.SIGKILL)


@experiment(design=TWICE)
def by_another(run: Run, *, x: int = 1) -> None:
    """Fill the disk as another program might, with a file that stays."""
    output = run.folder.parents[2]
    fill(output / "filling")


@experiment(design=TWICE)
def without_a_word(run: Run, *, x: int = 1) -> None:
    """Fail, but write no reason."""
    os._exit(1)


def fill(path: Path) -> None:
    """Write until there is no space left, which is an OSError."""
    with path.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
