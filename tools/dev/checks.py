"""`./dev check`: checks style, types, spelling and the documentation, with one summary at the end.

It also runs the front end's unit tests, which take a second and need the same packages as its types.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import site, ui
from .errors import DevError
from .places import ROOT, UI, VENV
from .progress import run_quietly

FOLDERS = ("src", "kernel", "tools", "tests", "bench")


def typed_folders() -> list[str]:
    """Return the folders that contain Python files; mypy refuses any other."""
    return [name for name in FOLDERS if any((ROOT / name).rglob("*.py"))]


CHECKS = (
    ("ruff check", ("ruff", "check", ".")),
    ("ruff format", ("ruff", "format", "--check", ".")),
    ("mypy --strict", ("mypy", "--strict", *typed_folders())),
    ("codespell", ("codespell",)),
    ("mkdocs build", ("mkdocs", *site.BUILD)),
)


@dataclass(frozen=True)
class Outcome:
    """The result of a check."""

    name: str
    status: int
    seconds: float
    lines: tuple[str, ...]


def check() -> int:
    """Run all checks; show the output of those that failed, then one line for each."""
    require_tools(VENV / "bin")
    outcomes = [_run(name, _in_venv(command)) for name, command in CHECKS]
    started = time.monotonic()
    try:
        ui.install_packages()
    except DevError as error:
        outcomes.append(Outcome("npm ci", 1, time.monotonic() - started, (str(error),)))
    else:
        outcomes += [_run(name, command, UI) for name, command in ui.checks()]
    print(report(outcomes), flush=True)
    return int(any(outcome.status != 0 for outcome in outcomes))


def require_tools(folder: Path) -> None:
    """Raise DevError if the program of a check is not installed."""
    missing = [command[0] for _, command in CHECKS if not (folder / command[0]).exists()]
    if missing:
        raise DevError(
            f"{folder} lacks {', '.join(dict.fromkeys(missing))}",
            "remove .venv, then run: ./dev setup",
        )


def _in_venv(command: Sequence[str]) -> list[str]:
    return [str(VENV / "bin" / command[0]), *command[1:]]


def _run(name: str, command: Sequence[str], folder: Path = ROOT) -> Outcome:
    started = time.monotonic()
    status, lines = run_quietly(name, command, folder=folder)
    return Outcome(name, status, time.monotonic() - started, tuple(lines))


def report(outcomes: Iterable[Outcome]) -> str:
    """Return the output of the checks that failed, then the summary."""
    outcomes = list(outcomes)
    parts = [
        "\n".join([f"--- {outcome.name}", *outcome.lines, ""])
        for outcome in outcomes
        if outcome.status != 0
    ]
    parts += [
        f"{outcome.name:15} {'ok' if outcome.status == 0 else 'FAILED':7} {outcome.seconds:5.1f} s"
        for outcome in outcomes
    ]
    return "\n".join(parts)
