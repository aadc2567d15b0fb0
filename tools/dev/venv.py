"""The folder .venv: wanlab in editable form, with what it needs and the tools of its developers.

A stamp in it tells what it was made from. Equal stamp: nothing to do. Another stamp: pip brings it up
to date. None (it was interrupted, or made by hand): it is made anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from .errors import DevError
from .places import CONSTRAINTS, ROOT, VENV
from .progress import run

STAMP = "wanlab-stamp"
FORMAT = "1"


def stamp_of(root: Path, constraints: Path, python: str) -> str:
    """The hash of all that decides what is in the folder."""
    parts = [
        FORMAT.encode(),
        python.encode(),
        os.fsencode(root),  # scripts hold the path
        (root / "pyproject.toml").read_bytes(),
        constraints.read_bytes(),
    ]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def read_stamp(folder: Path) -> str | None:
    """What the folder was made from, or None if it is not whole."""
    try:
        return (folder / STAMP).read_text(encoding="ascii")
    except OSError:
        return None


def wanted_stamp() -> str:
    """The stamp that .venv should have."""
    return stamp_of(ROOT, CONSTRAINTS, f"{sys.executable} {sys.version}")


def is_up_to_date() -> bool:
    """Whether .venv is what this checkout asks for."""
    return read_stamp(VENV) == wanted_stamp() and (VENV / "bin" / "python").exists()


def install() -> None:
    """Make .venv, or bring it up to date."""
    _check_writable()
    os.umask(0o022)  # who may read the checkout may read what is installed in it
    if read_stamp(VENV) is None or not (VENV / "bin" / "python").exists():
        _make()
    (VENV / STAMP).unlink(missing_ok=True)
    run("pip install", pip_command(VENV), folder=ROOT, environment=_environment())
    (VENV / STAMP).write_text(wanted_stamp(), encoding="ascii")


def pip_command(folder: Path) -> list[str]:
    """What installs wanlab and all that it needs into the folder."""
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    python = str(folder / "bin" / "python")
    what = ["-c", str(CONSTRAINTS), "-e", f"{ROOT}[dev]"]
    return [python, "-m", "pip", "install", *options, *what]


def _make() -> None:
    if VENV.is_symlink():
        raise DevError(f"{VENV} is a symbolic link", "remove it, then run this again")
    shutil.rmtree(VENV, ignore_errors=True)
    run("python3 -m venv .venv", [sys.executable, "-m", "venv", str(VENV)], folder=ROOT)


def _check_writable() -> None:
    place = VENV if VENV.exists() else ROOT
    if not os.access(place, os.W_OK):
        raise DevError(
            f"no permission to write to {place}", "let its owner run ./dev setup, or use a clone"
        )


def _environment() -> dict[str, str]:
    """Ours, without what would lead pip elsewhere."""
    away = (
        "PYTHONPATH",
        "PYTHONHOME",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_USER",
        "PIP_REQUIRE_VIRTUALENV",
    )
    return {name: value for name, value in os.environ.items() if name not in away}
