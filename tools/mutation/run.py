"""One run: traces tests, chooses those of each mutant, and lets mutants without a result be judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import scope
from .choice import TestRun, tests_for
from .mutants import Mutant
from .store import Result, Store

CPU_FACTOR = 5
MIN_CPU_S = 2.0
NOTE_EVERY_S = 10.0
NOT_KEPT = ("broken", "elsewhere")


class JudgeError(Exception):
    """The process that judges mutants has ended too early."""


def results_of(
    root: Path, store: Store, mutants: Sequence[Mutant], workers: int
) -> dict[str, Result]:
    """Return the result of each mutant, by its identity.

    The tests that are about the mutated module come first; only the mutants that survive them are
    judged by the other tests, of which there are many more.
    """
    importers = scope.importers(root, {mutant.path for mutant in mutants})
    results = Run(root, store, mutants, workers, scope.nearest(importers)).results()
    left = [m for m in mutants if results[m.identity][0] in ("survived", "uncovered")]
    if left:
        results |= Run(root, store, left, workers, importers, is_last=True).results()
    return results


class Run:
    """Judges mutants that have no result yet, in the copy `root` of the checkout.

    `importers` has the test files that may judge the mutants of each file. If it `is_last`, mutants of
    functions that no test calls are judged like those that act during the import, which may call them.
    """

    def __init__(
        self,
        root: Path,
        store: Store,
        mutants: Sequence[Mutant],
        workers: int,
        importers: Mapping[str, Sequence[str]],
        *,
        is_last: bool = False,
    ) -> None:
        self._root = root
        self._store = store
        self._workers = workers
        self._mutants = mutants
        self._paths = sorted({mutant.path for mutant in mutants})
        self._importers = importers
        self._files = sorted({test for path in self._paths for test in importers[path]})
        self._tests: dict[str, list[TestRun]] = {}
        self._results: dict[str, Result] = {}
        self._is_last = is_last
        self._imported: set[str] = set()
        """The mutants of functions that only imports call."""
        self._noted_s = 0.0

    def results(self) -> dict[str, Result]:
        """Return the status of each mutant, by its identity, and what killed it."""
        traced = {file: self._store.traced(file, self._paths) for file in self._files}
        if None not in traced.values():
            self._choose([run for runs in traced.values() for run in runs or ()])
        if len(self._results) == len(self._mutants):
            return self._results
        with _judge(self._root, self._store.folder / "log.txt") as judge:
            request = {
                "files": self._files,
                "modules": self._paths,
                "workers": self._workers,
            }
            judge.send(request)
            self._trace(judge)
            waiting = [mutant for mutant in self._mutants if mutant.identity not in self._results]
            self._judge(judge, self._judge(judge, waiting))
        return self._results

    def _trace(self, judge: _Judge) -> None:
        """Find out which tests run which lines, where that is not known yet."""
        known = {file: self._store.traced(file, self._paths) for file in self._files}
        unknown = [file for file, runs in known.items() if runs is None]
        judge.send({"files": unknown})
        for count, reply in enumerate(judge.replies(), start=1):
            if reply["traced"] is None:
                raise JudgeError(f"{reply['file']} was not traced: {reply['why']}")
            self._store.keep_traced(reply["file"], self._paths, reply["traced"])
            self._note(f"{count} of {len(unknown)} test files traced")
        runs = [self._store.traced(file, self._paths) or [] for file in self._files]
        self._choose([run for of_file in runs for run in of_file])

    def _choose(self, runs: Sequence[TestRun]) -> None:
        """Choose the tests of each mutant, and answer from earlier results."""
        for mutant in self._mutants:
            importers = self._importers[mutant.path]
            tests = tests_for(mutant, runs, importers)
            if not tests and self._is_last:
                tests = tests_for(replace(mutant, function=None), runs, importers)
                self._imported.add(mutant.identity)
            self._tests[mutant.identity] = tests
            if not tests:
                self._results[mutant.identity] = "uncovered", ""
            elif known := self._store.result(mutant, tests):
                self._results[mutant.identity] = known

    def _judge(self, judge: _Judge, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Judge mutants; return those that must be judged by importing them."""
        judge.send({"mutants": [self._request(mutant) for mutant in mutants]})
        by_identity = {mutant.identity: mutant for mutant in mutants}
        elsewhere = []
        for count, reply in enumerate(judge.replies(), start=1):
            mutant, status = by_identity[reply["id"]], reply["status"]
            if status == "elsewhere":
                elsewhere.append(mutant)
            else:
                self._results[mutant.identity] = status, reply["by"]
            if status not in NOT_KEPT:
                tests = self._tests[mutant.identity]
                self._store.keep(mutant, tests, (status, reply["by"]))
            left = sum(each.identity not in self._results for each in self._mutants)
            self._note(f"{count} of {len(mutants)} mutants judged, {left} left in all")
        return elsewhere

    def _request(self, mutant: Mutant) -> dict[str, Any]:
        tests = self._tests[mutant.identity]
        return {
            "id": mutant.identity,
            "path": mutant.path,
            "source": mutant.source,
            "function": None if mutant.identity in self._imported else mutant.function,
            "tests": [test.name for test in tests],
            "cpu_s": MIN_CPU_S + CPU_FACTOR * sum(test.seconds for test in tests),
        }

    def _note(self, text: str) -> None:
        if time.monotonic() - self._noted_s > NOTE_EVERY_S:
            self._noted_s = time.monotonic()
            survived = sum(status == "survived" for status, _ in self._results.values())
            print(f"mutate: {text}; {survived} survived", file=sys.stderr, flush=True)


class _Judge:
    """The process that judges. Requests are files, because they are large."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._requests = 0

    def send(self, request: object) -> None:
        self._requests += 1
        path = self._folder / f"request{self._requests}.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(str(path)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise JudgeError("the process that runs tests has ended") from None

    def replies(self) -> Iterator[dict[str, Any]]:
        """Yield the replies to the last request."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reply: dict[str, Any] = json.loads(line)
            if reply.get("done"):
                return
            yield reply
        raise JudgeError("the process that runs tests has ended")


@contextmanager
def _judge(folder: Path, log_file: Path) -> Iterator[_Judge]:
    """Start the process that judges, in a copy of the checkout; its output goes into a log."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([f"{folder}/src", f"{folder}/tools"]),
    }
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-mutants-") as requests,
        log_file.open("wb") as log,
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "mutation.judge"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for this program, which then ends the other one
        )
        try:
            yield _Judge(process, Path(requests))
        finally:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()  # it ends all its processes
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
