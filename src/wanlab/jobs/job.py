"""A job as data: what to perform, and where its output goes. It travels to worker processes as JSON.

folder/
    console.txt      the output of the job
    failure.json     what distinguishes the job from others, and the reason, if it has failed
    ...              whatever the job's function writes
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
FAILURE, CONSOLE = "failure.json", "console.txt"
FINISHED, FAILED, LATE, KILLED, LOST = "finished", "failed", "late", "killed", "lost"
"""How a job ended. LATE: at its limit of time; KILLED: by a signal; LOST: with its worker."""

Data = Mapping[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """Something to perform."""

    title: str
    subject: Data
    """What distinguishes it from other jobs, such as parameters and a seed; kept with its failure."""
    folder: Path
    """The folder for its output; it does not exist yet."""
    options: Data = field(default_factory=dict)
    """What else its function needs to know."""
    final: Path | None = None
    """The folder is renamed to this path when the job has succeeded."""
    working_folder: Path | None = None
    """The current folder of its process; None: `folder`."""
    cpu: int | None = None
    limit_s: float | None = None
    """How much real time it may take."""

    def to_json(self) -> str:
        paths = {"folder": self.folder, "final": self.final, "working_folder": self.working_folder}
        texts = {name: None if path is None else str(path) for name, path in paths.items()}
        return json.dumps({**vars(self), **texts})

    @classmethod
    def from_json(cls, text: str) -> Job:
        data = json.loads(text)
        for name in ("folder", "final", "working_folder"):
            data[name] = None if data[name] is None else Path(data[name])
        return cls(**data)


@dataclass(frozen=True)
class EndedJob:
    """A job that is over."""

    job: Job
    status: str
    real_s: float = 0.0


@dataclass(frozen=True)
class StoredFailure:
    """The content of a folder of a job that has failed."""

    subject: Data
    what: str
    hint: str
    console: str

    @property
    def reason(self) -> str:
        return f"{self.what} ({self.hint})" if self.hint else self.what


def write_failure(folder: Path, subject: Data, what: str, hint: str = "") -> None:
    """Write the reason why a job failed into its folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"format": FORMAT, **subject, "what": what, "hint": hint}
    (folder / FAILURE).write_text(as_ordered_json(data), encoding="utf-8")


def read_failure(folder: Path) -> StoredFailure | None:
    """Return the failure in a job's folder; None if there is none or it is incomplete."""
    data = read_data(folder / FAILURE, FORMAT) or {}
    try:
        what, hint = data.pop("what"), data.pop("hint")
    except KeyError:
        return None
    return StoredFailure(data, what, hint, read_console(folder))


def read_console(folder: Path) -> str:
    """Return the output of a job; "" if there is none."""
    try:
        return (folder / CONSOLE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def remove_written_files(folder: Path) -> None:
    """Remove what a failed job has written, so that a disk that it has filled can hold the reason.

    Its output on the console and the reason stay.
    """
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        if path.name in (CONSOLE, FAILURE):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def as_ordered_json(data: Data) -> str:
    """Return JSON that keeps the order of keys: a table's columns follow parameters and metrics."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_data(path: Path, format: int) -> dict[str, Any] | None:
    """Return the content of a JSON file; None if it is missing, damaged or of another format."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("format") == format else None
