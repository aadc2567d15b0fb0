"""Which tests judge a mutant: those that run the mutated line, the nearest and fastest first.

A mutant that acts when its module is imported is judged by the tests that run any line of the module,
and by the test files that import it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .mutants import Mutant

MAX_TESTS_S = 20.0
"""The processor time after which no further tests are tried. Hundreds of tests run a line of `units`."""
MAX_FILES_OF_IMPORTS = 8
"""The test files for a mutant that acts during the import: each is imported again for each mutant."""


@dataclass(frozen=True)
class TestRun:
    """What a test did when nothing was wrong."""

    name: str
    """As pytest names it: tests/test_units.py::test_a_rate[1]."""
    seconds: float
    """Of processor time; the lines were traced, so without tracing it is less."""
    lines: Mapping[str, frozenset[int]]
    """The lines of each mutated file that it ran."""

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


def tests_for(mutant: Mutant, runs: Sequence[TestRun], importers: Collection[str]) -> list[TestRun]:
    """Return the tests that judge a mutant, in the order in which they are to be tried."""
    changed = range(mutant.first_line, mutant.last_line + 1)
    if mutant.function is None:
        chosen = [run for run in runs if run.lines.get(mutant.path) or run.file in importers]
    else:
        chosen = [
            run for run in runs if any(line in run.lines.get(mutant.path, ()) for line in changed)
        ]
    chosen.sort(key=lambda run: (run.file not in importers, run.seconds, run.name))
    return _within_limits(chosen, is_import=mutant.function is None)


def _within_limits(runs: Sequence[TestRun], *, is_import: bool) -> list[TestRun]:
    chosen: list[TestRun] = []
    files: set[str] = set()
    seconds = 0.0
    for run in runs:
        if is_import and len(files | {run.file}) > MAX_FILES_OF_IMPORTS:
            continue
        if chosen and seconds + run.seconds > MAX_TESTS_S:
            break
        chosen.append(run)
        files.add(run.file)
        seconds += run.seconds
    return chosen
