"""The folder .venv: wanlab in editable form, its dependencies and the developers' tools.

A stamp in it records the inputs of the installation. If it matches, there is nothing to do. If it
differs, pip updates the folder. Without a stamp (interrupted, or made by hand), it is made from scratch.
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
    """Return the hash of everything that determines the folder's content."""
    parts = [
        FORMAT.encode(),
        python.encode(),
        os.fsencode(root),  # scripts hold the path
        (root / "pyproject.toml").read_bytes(),
        constraints.read_bytes(),
    ]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def read_stamp(folder: Path) -> str | None:
    """Return the stamp of the folder, or None if it is incomplete."""
    try:
        return (folder / STAMP).read_text(encoding="ascii")
    except OSError:
        return None


def wanted_stamp(*, development: bool) -> str:
    """Return the stamp that .venv should have, with or without the developers' tools."""
    tools = "dev" if development else "run"
    return stamp_of(ROOT, CONSTRAINTS, f"{sys.executable} {sys.version} {tools}")


def is_up_to_date(*, development: bool) -> bool:
    """Whether .venv is what this checkout needs. The developers' .venv serves users too."""
    stamps = {wanted_stamp(development=True), wanted_stamp(development=development)}
    return read_stamp(VENV) in stamps and (VENV / "bin" / "python").exists()


def install(*, development: bool) -> None:
    """Make or update .venv."""
    _check_writable()
    os.umask(0o022)  # everybody who can read the checkout can read what is installed
    if read_stamp(VENV) is None or not (VENV / "bin" / "python").exists():
        _make()
    (VENV / STAMP).unlink(missing_ok=True)
    command = pip_command(VENV, development=development)
    run("pip install", command, folder=ROOT, environment=_environment())
    (VENV / STAMP).write_text(wanted_stamp(development=development), encoding="ascii")


def pip_command(folder: Path, *, development: bool) -> list[str]:
    """Return the command that installs wanlab and its dependencies into the folder."""
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    python = str(folder / "bin" / "python")
    what = ["-c", str(CONSTRAINTS), "-e", f"{ROOT}[dev]" if development else str(ROOT)]
    return [python, "-m", "pip", "install", *options, *what]


def _make() -> None:
    if VENV.is_symlink():
        raise DevError(f"{VENV} is a symbolic link", "remove it, then run this again")
    shutil.rmtree(VENV, ignore_errors=True)
    run("python3 -m venv .venv", [sys.executable, "-m", "venv", str(VENV)], folder=ROOT)


def _check_writable() -> None:
    folder = VENV if VENV.exists() else ROOT
    if not os.access(folder, os.W_OK):
        raise DevError(
            f"no permission to write to {folder}",
            "let its owner run ./dev setup, or use your own clone",
        )


def _environment() -> dict[str, str]:
    """Return our environment without variables that would make pip install elsewhere."""
    removed = (
        "PYTHONPATH",
        "PYTHONHOME",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_USER",
        "PIP_REQUIRE_VIRTUALENV",
    )
    return {name: value for name, value in os.environ.items() if name not in removed}
