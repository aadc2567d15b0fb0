"""The folder of a sweep: what makes it go on after a kill at any moment.

    results/buffers/
        sweep.json            the experiment's name, its runs in order, and what is drawn of them
        source/               the experiment's files, as they were run
        runs/NAME/            a run that has ended well: whole, because it got its name by a rename
        failed/NAME/          a run that has failed, with its reason
        unfinished/           runs at work; of a sweep that was killed: rubbish
        results.parquet       the table, written at the end
        report.html figures/

A run is done if and only if its folder stands in `runs`; its name ends in its key, so what another
source, kernel or program has made is never taken for it. One sweep at a time works in a folder: it holds
a lock that ends with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError

from .cache import copy_whole
from .result import DIGITS_OF_KEY, Failure, Result, Task, in_order, read_failure, read_result
from .source import Source

FORMAT = 1
INDEX = "sweep.json"


class SweepFolder:
    """Knows what is done and what is not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.failed = path / "failed"
        self._unfinished = path / "unfinished"
        self._count = 0
        self._found: dict[Path, dict[str, Path]] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """As long as a sweep works in it. What a killed one has left unfinished is removed."""
        with writing_to(self.path):
            for folder in (self.runs, self.failed):
                folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise WanlabError(
                f"another sweep is at work in {self.path}", "wait for it, or name another --output"
            ) from None
        try:
            self._remove_unfinished()
            self._unfinished.mkdir(exist_ok=True)
            yield
        finally:
            self._remove_unfinished()
            os.close(lock)

    def _remove_unfinished(self) -> None:
        shutil.rmtree(self._unfinished, ignore_errors=True)
        for folder in self.runs.glob(".unfinished-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def write_index(
        self,
        experiment: str,
        about: str,
        tasks: Sequence[Task],
        source: Source,
        plots: Sequence[str],
    ) -> None:
        said = {
            "format": FORMAT,
            "experiment": experiment,
            "about": about,
            "varied": list(tasks[0].varied) if tasks else [],
            "plots": list(plots),
            "runs": [
                {"parameters": dict(task.parameters), "seed": task.seed, "key": task.key}
                for task in tasks
            ],
        }
        shutil.rmtree(self.path / "source", ignore_errors=True)
        with writing_to(self.path):
            for name, content in source.files.items():
                place = self.path / "source" / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        replace_text(self.path / INDEX, in_order(said))

    def read_index(self) -> dict[str, Any]:
        try:
            said = json.loads((self.path / INDEX).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise WanlabError(
                f"{self.path} is not the folder of a sweep", "it would have a sweep.json"
            ) from None
        if said.get("format") != FORMAT:
            raise WanlabError(f"{self.path} was made by another version of wanlab")
        return dict(said)

    # -- runs -------------------------------------------------------------------------------------

    def place_of(self, task: Task) -> Path:
        """Of its result. The key decides: another design may have given it another name."""
        return self._place_in(self.runs, task)

    def _place_in(self, folder: Path, task: Task) -> Path:
        if folder not in self._found:
            self._found[folder] = {path.name[-DIGITS_OF_KEY:]: path for path in folder.glob("*")}
        return self._found[folder].get(task.key[:DIGITS_OF_KEY], folder / task.name)

    def new_place(self, task: Task) -> Path:
        """Where a run is made; each attempt has its own, and no worker of a sweep that was killed a
        moment ago puts it away with its own."""
        self._count += 1
        return self._unfinished / f"{os.getpid()}-{self._count}-{task.key[:DIGITS_OF_KEY]}"

    def result(self, task: Task) -> Result | None:
        result = read_result(self.place_of(task))
        return result if result is not None and result.key == task.key else None

    def failure(self, task: Task) -> Failure | None:
        return read_failure(self._place_in(self.failed, task))

    def take_from_cache(self, task: Task, cached: Result) -> Result:
        place = self.place_of(task)
        shutil.rmtree(place, ignore_errors=True)  # none that is whole: it was looked for
        with writing_to(self.path):
            copy_whole(cached.folder, place)
        self.forget_failure(task)
        found = read_result(place, is_cached=True)
        assert found is not None
        return found

    def note_failure(self, task: Task, made: Path) -> Failure | None:
        """Keeps the folder of a run that has failed."""
        place = self._place_in(self.failed, task)
        shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(OSError):
            shutil.rmtree(made / "files", ignore_errors=True)
            shutil.rmtree(made / "record", ignore_errors=True)
            made.rename(place)
        return read_failure(place)

    def clear(self, task: Task) -> None:
        """Takes away what is left of former attempts: a failure, a result that is damaged."""
        shutil.rmtree(self.place_of(task), ignore_errors=True)
        self.forget_failure(task)

    def forget_failure(self, task: Task) -> None:
        shutil.rmtree(self._place_in(self.failed, task), ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """A file that is the old one or the new one, at any moment."""
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing_to(path.parent):
            made.write_text(text, encoding="utf-8")
            made.replace(path)
    finally:
        made.unlink(missing_ok=True)


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """A full disk or a folder of somebody else's is told as such."""
    try:
        yield
    except OSError as error:
        raise WanlabError(
            f"cannot write results to {folder}: {error.strerror}",
            "name another place with --output",
        ) from None
