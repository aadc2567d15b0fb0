"""Try a kernel's patches on the source of another release: which ones still apply?"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from . import source as sources
from .errors import BuildError
from .make import terminated_as_interrupt
from .progress import Progress
from .recipe import Patch, Recipe
from .requirements import check_disk, check_tools

_PROGRAMS = ("patch", "tar", "xz", "gzip")
_MOVED = re.compile(r"^Hunk #\d+ succeeded at \d+ \(offset (-?\d+) lines?\)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The outcome for one patch.

    `problems` names the files and hunks that do not fit, `after` the earlier patches that change these
    files and did not apply either: adapt those first.
    """

    patch: Patch
    is_moved: bool = False
    problems: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def applies(self) -> bool:
        """Whether the patch applies, perhaps at other lines."""
        return not self.problems


def try_patches(
    recipe: Recipe, archive: Path, *, jobs: int | None = None, stream: TextIO
) -> list[Trial]:
    """Try the patches in order on an archive, in a temporary folder; return an outcome for each.

    A patch that does not apply is left out for the patches after it. Any archive is accepted, because
    nothing is built from it.
    """
    if not archive.is_file():
        raise BuildError(f"there is no source archive {archive}")
    check_tools(_PROGRAMS)
    progress = Progress(stream, 1)
    with (
        terminated_as_interrupt(),
        tempfile.TemporaryDirectory(prefix="wanlab-patches-") as name,
    ):
        folder = Path(name)
        check_disk(folder, recipe.disk_bytes)
        progress.phase(f"unpacking {archive}")
        sources.unpack(archive, folder, jobs or len(os.sched_getaffinity(0)))
        progress.phase(f"trying {len(recipe.patches)} patches")
        trials = list(_trials(recipe, folder, lambda one: progress.doing("trying", one.file)))
        progress.phase("removing the source")
    progress.clear()
    return trials


def _trials(recipe: Recipe, folder: Path, begin: Callable[[Patch], None]) -> Iterator[Trial]:
    left_out: list[Patch] = []
    for patch in recipe.patches:
        begin(patch)
        done = sources.run_patch(patch, folder, is_trial=True)
        if done.returncode == 0:
            sources.run_patch(patch, folder)
            yield Trial(patch=patch, is_moved=_MOVED.search(done.stdout) is not None)
            continue
        failed = list(sources.failed_files(done.stdout))
        after = [
            other.file
            for other in left_out
            if any(sources.changes(other, file) for file, _ in failed)
        ]
        left_out.append(patch)
        problems = [f"{file}: {what}" for file, what in failed] or [done.stdout.strip()[-500:]]
        yield Trial(patch=patch, problems=tuple(problems), after=tuple(after))


def trial_text(trials: list[Trial]) -> str:
    """Return a line for each patch, the reasons of those that do not apply, and a sum."""
    lines = []
    for trial in trials:
        state = "moved" if trial.is_moved else "ok" if trial.applies else "FAILS"
        lines.append(f"{state:7}{trial.patch.file}")
        lines += [f"         {problem}" for problem in trial.problems]
        if trial.after:
            lines.append(f"         first adapt {', '.join(trial.after)}")
    count = sum(trial.applies for trial in trials)
    return "\n".join([*lines, f"{count} of {len(trials)} patches apply"])
