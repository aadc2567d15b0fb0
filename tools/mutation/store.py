"""Results, so that an interrupted run can be resumed, and so that only what has changed is judged again.

A result holds as long as the mutated file and the files of the tests that judge it are the same. Changes
of other files may change it, too: `./dev mutate --again` judges everything again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from .choice import TestRun
from .mutants import Mutant

Result = tuple[str, str]
"""The status, and what killed it."""


class Store:
    """The results and traces in a folder. A line that was cut by an interruption is ignored."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        self._results_file = folder / "results.jsonl"
        self._traces_file = folder / "traces.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._results: dict[str, Result] = {
            line["key"]: (line["status"], line["by"]) for line in _lines(self._results_file)
        }
        self._traces = {line["key"]: line["traced"] for line in _lines(self._traces_file)}

    def forget(self) -> None:
        """Forget all results and traces."""
        for path in (self._results_file, self._traces_file):
            path.unlink(missing_ok=True)
        self._results.clear()
        self._traces.clear()

    def result(self, mutant: Mutant, tests: Iterable[TestRun]) -> Result | None:
        return self._results.get(self._result_key(mutant, tests))

    def keep(self, mutant: Mutant, tests: Iterable[TestRun], result: Result) -> None:
        key = self._result_key(mutant, tests)
        self._results[key] = result
        status, by = result
        _append(self._results_file, {"key": key, "status": status, "by": by})

    def traced(self, test_file: str, modules: Iterable[str]) -> list[TestRun] | None:
        """Return what the tests of a file did with these modules, if that is known."""
        traced = self._traces.get(self._trace_key(test_file, modules))
        return None if traced is None else [_test_run(run) for run in traced]

    def keep_traced(self, test_file: str, modules: Iterable[str], traced: object) -> None:
        key = self._trace_key(test_file, modules)
        self._traces[key] = traced
        _append(self._traces_file, {"key": key, "traced": traced})

    def _result_key(self, mutant: Mutant, tests: Iterable[TestRun]) -> str:
        files = sorted({test.file for test in tests})
        hashes = [_hash_of(self._root / file) for file in files]
        return _digest(mutant.path, mutant.source, *files, *hashes)

    def _trace_key(self, test_file: str, modules: Iterable[str]) -> str:
        paths = [*sorted(modules), test_file, "tests/conftest.py"]
        return _digest(*paths, *(_hash_of(self._root / path) for path in paths))


def _test_run(run: Mapping[str, Any]) -> TestRun:
    lines = {path: frozenset(numbers) for path, numbers in run["lines"].items()}
    return TestRun(run["name"], run["seconds"], lines)


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


@cache
def _hash_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def _append(path: Path, line: Mapping[str, object]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
