"""A digest of everything that decides the numbers of a unit's run.

The numbers follow from the seed, the clock, wanlab's version, the kernel, the unit and the course's
programs. If a finished run has the digest of a new run, the new run is not needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wanlab import __version__
from wanlab.machine.embedded import find_image

from .report import UnitReport
from .unit import Unit

SCRIPTS = Path(__file__).with_name("scripts")
WITHOUT_INFLUENCE = {"lesson.md", "figure.svg"}


def digest(unit: Unit, *, seed: int, clock: str) -> str:
    """Return the digest of a run of this unit with the kernel that would boot now."""
    hashed = hashlib.sha256()
    for part in (__version__, find_image().manifest_hash, clock, str(seed)):
        hashed.update(f"{part}\n".encode())
    for folder in (unit.folder, SCRIPTS):
        for path in _files(folder):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            hashed.update(f"{path.relative_to(folder)} {content}\n".encode())
    return hashed.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_input = path.name not in WITHOUT_INFLUENCE and "__pycache__" not in path.parts
        if is_input and path.is_file():
            yield path


def finished_run(results: Path, unit: Unit, *, seed: int, clock: str) -> UnitReport | None:
    """Return the report of a finished run of equal inputs; None if there is none in `results`."""
    with suppress(OSError, ValueError):
        path = results / unit.run_name(seed) / "report.json"
        report: UnitReport = json.loads(path.read_text(encoding="utf-8"))
        if report.get("inputs") == digest(unit, seed=seed, clock=clock):
            return report
    return None
