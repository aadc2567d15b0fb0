"""What every process finds in a machine: variables, programs of ours on its PATH, and Python packages.

    /run/wanlab/bin           programs: the files in `programs/`, `wanlab-python`, `wanlab-traffic`
    /run/wanlab/python        on PYTHONPATH: wanlab, and mininet (its Mininet face under that name)
    /run/wanlab/machine.json  what kind of machine it is; that it exists says that one is in a machine

The variables are the same everywhere: the user's own would make runs differ.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "PATH": "/run/wanlab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/run/wanlab/home",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": "/run/wanlab/python",
    "WANLAB_PYTHON": "/run/wanlab/bin/wanlab-python",
}

PACKAGE = Path(__file__).resolve().parents[1]
PARTS_INSIDE = (
    "",
    "generator",
    "machine",
    "machine/here",
    "mininet",
    "network",
    "operations",
    "plan",
    "topology",
)
"""What a program imports that makes networks inside. The agent is compiled before it is started."""


def furniture(about: dict[str, Any]) -> dict[str, Any]:
    """For the agent. `about` becomes machine.json."""
    for part in PARTS_INSIDE:
        compile_ahead(PACKAGE / part)
    return {
        "programs": {
            **programs(),
            "wanlab-python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
            # Started often, and without what takes Python long to load.
            "wanlab-traffic": (
                f'#!/bin/sh\nexec "{sys.executable}" -I -S -B -X utf8 "{PACKAGE}/generator" "$@"\n'
            ),
        },
        "packages": {"wanlab": str(PACKAGE), "mininet": str(PACKAGE / "mininet")},
        "about": about,
    }


@cache
def programs() -> dict[str, str]:
    """Name and text of each program that wanlab puts into a machine."""
    folder = Path(__file__).with_name("programs")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def required_folders() -> list[str]:
    """Folders of the computer that the programs need, wherever they are: Python's and wanlab's."""
    return list(dict.fromkeys([sys.base_prefix, sys.prefix, str(PACKAGE)]))


def compile_ahead(folder: Path) -> None:
    """The machine sees our files read-only: what is not compiled here is compiled there every time."""
    for source in folder.glob("*.py"):
        compiled = Path(cache_from_source(str(source)))
        if compiled.exists() and compiled.stat().st_mtime >= source.stat().st_mtime:
            continue
        import py_compile  # hardly ever needed

        with contextlib.suppress(OSError):
            py_compile.compile(str(source), quiet=2)
