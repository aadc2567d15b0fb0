"""The user's virtual environment, whose Python and packages a script in a machine uses.

Inside, wanlab and mininet come from PYTHONPATH and need the standard library only, so any Python that
is new enough can run them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import RequirementError

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class VirtualEnvironment:
    """A virtual environment (PEP 405)."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def programs(self) -> str:
        """The folder with its programs."""
        return str(self.folder / "bin")

    @property
    def folders(self) -> list[str]:
        """The folders that it needs: its own, and that of the Python that created it."""
        return [str(self.folder), str(Path(self.python).resolve().parents[1])]

    @property
    def version(self) -> tuple[int, ...]:
        """The version of its Python, as pyvenv.cfg says."""
        lines = (self.folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        settings = {
            name.strip(): value.strip()
            for name, _, value in (line.partition("=") for line in lines)
        }
        text = settings.get("version") or settings.get("version_info", "")
        return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def chosen(folder: str | None) -> VirtualEnvironment | None:
    """Return the environment in this folder, or else the active one; None for wanlab's own Python.

    Raises RequirementError if the folder is not a virtual environment or its Python is too old.
    """
    active = os.environ.get("VIRTUAL_ENV")
    if folder is None and not active:
        return None
    environment = VirtualEnvironment(Path(folder or active or "").absolute())
    if environment.folder.resolve() == Path(sys.prefix).resolve():
        return None
    problem = _problem(environment)
    if not problem:
        return environment
    if folder is not None:
        raise RequirementError(
            f"--venv {folder}: {problem}", "make one with: python3 -m venv FOLDER"
        )
    print(f"wanlab: warning: VIRTUAL_ENV={active} is not used: {problem}", file=sys.stderr)
    return None


def own_programs() -> list[str]:
    """Return the folder with the programs of the environment that wanlab runs in, if it runs in one."""
    return [f"{sys.prefix}/bin"] if sys.prefix != sys.base_prefix else []


def _problem(environment: VirtualEnvironment) -> str:
    if not (environment.folder / "pyvenv.cfg").is_file() or not Path(environment.python).exists():
        return "this is not a virtual environment"
    if environment.version < OLDEST_PYTHON:
        version = ".".join(map(str, environment.version))
        return f"its Python is {version}, and wanlab needs 3.11 or newer"
    return ""
