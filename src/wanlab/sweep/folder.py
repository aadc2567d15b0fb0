"""The folder of a sweep. A sweep that was killed at any moment can resume from it.

    results/buffers/
        sweep.json            the experiment's name, its runs in order, and its figures
        source/               the experiment's files at that time
        runs/NAME/            a successful run; complete, because a rename gave it its name
        failed/NAME/          a failed run, with the reason
        unfinished/           runs being performed; left over from a sweep that was killed
        results.parquet       the table, written at the end
        report.html figures/

A run is done if and only if its folder is in `runs`. The folder's name ends in the run's key, so it is
never mistaken for a run of another source, kernel or program. Only one sweep at a time works in a
folder: it holds a lock that ends with its process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

from wanlab.errors import WanlabError
from wanlab.jobs.job import as_ordered_json, remove_written_files, write_failure
from wanlab.jobs.store import copy_atomically, locked_folder, replace_text, writing_to
from wanlab.run.design import Parameters
from wanlab.run.result import (
    DIGITS_OF_KEY,
    Failure,
    Result,
    Task,
    read_result,
    read_run_failure,
)
from wanlab.run.source import SourceCode
from wanlab.shared_folder import output_folder

FORMAT = 1
INDEX = "sweep.json"
FOLDERS = ("runs", "failed", "unfinished", "source")


class IndexedRun(TypedDict):
    """A run in sweep.json."""

    parameters: Parameters
    seed: int
    key: str


class SweepIndex(TypedDict):
    """The content of sweep.json."""

    format: int
    experiment: str
    about: str
    varied: Sequence[str]
    plots: Sequence[str]
    labels: Mapping[str, str]
    runs: Sequence[IndexedRun]


class SweepFolder:
    """Knows which runs of a sweep are done, which have failed, and which are missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.failed = path / "failed"
        self._unfinished = path / "unfinished"
        self._attempt_count = 0
        self._listings: dict[Path, dict[str, Path]] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, and remove unfinished runs that a killed sweep has left.

        Raises WanlabError if another sweep holds the lock.
        """
        shared = output_folder(self.path)
        busy = WanlabError(
            f"another sweep is running in {self.path}", "wait for it, or choose another --output"
        )
        with locked_folder(shared, FOLDERS, busy):
            shared.check(INDEX)
            try:
                self._remove_unfinished()
                shared.subfolder("unfinished").make()
                yield
            finally:
                self._remove_unfinished()

    def _remove_unfinished(self) -> None:
        shutil.rmtree(self._unfinished, ignore_errors=True)
        for folder in self.runs.glob(".unfinished-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def write_index(
        self,
        experiment: str,
        about: str,
        tasks: Sequence[Task],
        source: SourceCode,
        plots: Sequence[str],
        labels: Mapping[str, str],
    ) -> None:
        """Write the runs and figures of the sweep, and the experiment's files."""
        index: SweepIndex = {
            "format": FORMAT,
            "experiment": experiment,
            "about": about,
            "varied": list(tasks[0].varied) if tasks else [],
            "plots": list(plots),
            "labels": dict(labels),
            "runs": [
                {"parameters": dict(task.parameters), "seed": task.seed, "key": task.key}
                for task in tasks
            ],
        }
        shutil.rmtree(self.path / "source", ignore_errors=True)
        with writing_to(self.path):
            for name, content in source.files.items():
                path = self.path / "source" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        replace_text(self.path / INDEX, as_ordered_json(index))

    def read_index(self) -> SweepIndex:
        """Return the index of the sweep. Raises WanlabError if this is not the folder of a sweep."""
        try:
            index = json.loads((self.path / INDEX).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise WanlabError(
                f"{self.path} is not the folder of a sweep", f"it has no {INDEX} that can be read"
            ) from None
        if index.get("format") != FORMAT:
            raise WanlabError(
                f"{self.path} was made by another version of wanlab; choose another folder with --output"
            )
        return cast(SweepIndex, index)

    # -- runs -------------------------------------------------------------------------------------

    def result_folder(self, task: Task) -> Path:
        """Return the folder of a run's result.

        It is found by the key, because another design may have given it another name.
        """
        return self._find(self.runs, task)

    def _find(self, folder: Path, task: Task) -> Path:
        if folder not in self._listings:
            self._listings[folder] = {path.name[-DIGITS_OF_KEY:]: path for path in folder.glob("*")}
        return self._listings[folder].get(task.key[:DIGITS_OF_KEY], folder / task.name)

    def attempt_folder(self, task: Task) -> Path:
        """Return a folder for the next attempt to perform a run.

        Its name is unique. Otherwise a worker of a sweep that was just killed could remove it.
        """
        self._attempt_count += 1
        name = f"{os.getpid()}-{self._attempt_count}-{task.key[:DIGITS_OF_KEY]}"
        return self._unfinished / name

    def result(self, task: Task) -> Result | None:
        """Return the result of a run; None if it is missing or damaged."""
        result = read_result(self.result_folder(task))
        return result if result is not None and result.key == task.key else None

    def failure(self, task: Task) -> Failure | None:
        """Return the failure of a run; None if it has not failed."""
        return read_run_failure(self._find(self.failed, task))

    def copy_from_cache(self, task: Task, cached: Result) -> None:
        """Copy a run from the cache. The folder must not have a complete one."""
        folder = self.result_folder(task)
        shutil.rmtree(folder, ignore_errors=True)
        with writing_to(self.path):
            copy_atomically(cached.folder, folder)
        self._remove_failure(task)

    def keep_failure(self, task: Task, attempt: Path, unless_known: str) -> Failure | None:
        """Keep the folder of an attempt that has failed, without its working files.

        `unless_known` is the reason if the attempt did not write one. Returns None if there still is no
        space to write it.
        """
        folder = self._find(self.failed, task)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            remove_written_files(attempt)
            attempt.rename(folder)
        if (failure := read_run_failure(folder)) is not None:
            return failure
        with contextlib.suppress(OSError):
            write_failure(folder, task.subject, unless_known)
        return read_run_failure(folder)

    def clear(self, task: Task) -> None:
        """Remove the remains of former attempts: a failure, a damaged result."""
        shutil.rmtree(self.result_folder(task), ignore_errors=True)
        self._remove_failure(task)

    def _remove_failure(self, task: Task) -> None:
        shutil.rmtree(self._find(self.failed, task), ignore_errors=True)
