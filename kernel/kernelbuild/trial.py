"""Try a kernel's patches on the source of another release: which still apply, and in what style?"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from . import source as sources
from .errors import BuildError
from .make import terminated_as_interrupt
from .programs import run_for_text
from .progress import Progress
from .recipe import Patch, Recipe
from .requirements import check_disk, check_tools

_PROGRAMS = ("patch", "tar", "xz", "gzip")
_MOVED = re.compile(r"^Hunk #\d+ succeeded at \d+ \(offset (-?\d+) lines?\)", re.MULTILINE)
_CHECKPATCH = "scripts/checkpatch.pl"
_IGNORED = {
    "MISSING_SIGN_OFF": "people sign a patch, when they send it",
    "FILE_PATH_CHANGES": "new files lie in folders that MAINTAINERS names",
    "UNDOCUMENTED_SETUP": "the source is unpacked without the documentation of parameters",
}
_IGNORED_IN_PROGRAMS = {
    "AVOID_EXTERNS": "symbols of the linker and of the C library have no header",
    "PREFER_DEFINED_ATTRIBUTE_MACRO": "the C library's headers do not define __weak",
    "WEAK_DECLARATION": "the C library may lack a symbol",
    "PRINTK_WITHOUT_KERN_LEVEL": "the level is UM_KERN_ERR",
    "VOLATILE": "signal handlers, and a page that the kernel writes to while programs run",
    "EXPORT_SYMBOL": "files of the program cannot export: another file does",
    "AVOID_BUG": "the check of the vDSO's size is upstream's",
}
_PROGRAMS_FOLDERS = ("arch/um/", "arch/x86/um/", "fs/hostfs/")
"""User-Mode Linux's own code is a program of the C library, in part."""
_COMPLAINT = re.compile(r"(?P<file>.*?):\d+: \w+:(?P<type>\w+): ")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The outcome for one patch.

    `problems` names the files and hunks that do not fit, `after` the earlier patches that change these
    files and did not apply either: adapt those first. `complaints` are checkpatch's, if it was asked.
    """

    patch: Patch
    is_moved: bool = False
    problems: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()

    @property
    def applies(self) -> bool:
        """Whether the patch applies, perhaps at other lines."""
        return not self.problems


def try_patches(
    recipe: Recipe,
    archive: Path,
    *,
    jobs: int | None = None,
    checks_style: bool = False,
    stream: TextIO,
) -> list[Trial]:
    """Try the patches in order on an archive, in a temporary folder; return an outcome for each.

    A patch that does not apply is left out for the patches after it. Any archive is accepted, because
    nothing is built from it. With `checks_style`, the archive's checkpatch judges each patch.
    """
    if not archive.is_file():
        raise BuildError(f"there is no source archive {archive}")
    check_tools((*_PROGRAMS, "perl") if checks_style else _PROGRAMS)
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
        if checks_style:
            progress.phase("checking their style")
            trials = [
                replace(one, complaints=tuple(_complaints(one.patch, folder))) for one in trials
            ]
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


def _complaints(patch: Patch, folder: Path) -> Iterator[str]:
    """Yield what the source's checkpatch says about a patch: "file:line: severity:type: what"."""
    options = ("--root=.", "--terse", "--show-types", "--showfile", "--no-summary", "--color=never")
    done = run_for_text(["perl", _CHECKPATCH, *options, patch.path], folder)
    for line in done.stdout.splitlines():
        match = _COMPLAINT.match(line)
        if match is None:
            raise BuildError(f"{_CHECKPATCH} fails:\n{done.stdout.strip()[-500:]}")
        is_of_program = match["file"].startswith(_PROGRAMS_FOLDERS)
        if match["type"] not in (_IGNORED | _IGNORED_IN_PROGRAMS if is_of_program else _IGNORED):
            yield line if match["file"] else f"message{line}"


def trial_text(trials: list[Trial]) -> str:
    """Return a line for each patch, the reasons of those that do not apply, and a sum."""
    lines = []
    for trial in trials:
        state = "moved" if trial.is_moved else "ok" if trial.applies else "FAILS"
        lines.append(f"{state:7}{trial.patch.file}")
        lines += [f"         {problem}" for problem in trial.problems]
        if trial.after:
            lines.append(f"         first adapt {', '.join(trial.after)}")
        lines += [f"         style: {complaint}" for complaint in trial.complaints]
    count = sum(trial.applies for trial in trials)
    return "\n".join([*lines, f"{count} of {len(trials)} patches apply"])
