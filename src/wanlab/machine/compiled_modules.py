"""Compiles Python's modules for machines, which see them read-only.

Without this, each machine would compile them again. It would also read the source of modules whose
compiled form is out of date. That takes different system calls, so programs would see slightly different
times in two installations of the same modules.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec
from pathlib import Path

LIBRARIES = (
    "matplotlib",
    "mpl_toolkits",
    "numpy",
    "PIL",
    "contourpy",
    "cycler",
    "dateutil",
    "fontTools",
    "kiwisolver",
    "packaging",
    "pyparsing",
    "msgspec",
    "six",
    "typing_extensions",
)
"""Libraries that programs inside a machine import to draw figures."""
MAX_SIZE = 0xFFFFFFFF


@cache
def compile_libraries_ahead() -> None:
    """Compile the modules of LIBRARIES."""
    for name in LIBRARIES:
        spec = find_spec(name)
        if spec is None:
            continue
        for root in spec.submodule_search_locations or ():
            for folder, _, _ in os.walk(root):
                compile_ahead(Path(folder))
        if not spec.submodule_search_locations and spec.origin is not None:
            _compile(Path(spec.origin))


def compile_ahead(folder: Path) -> None:
    """Compile a folder's modules."""
    for source in folder.glob("*.py"):
        _compile(source)


def _compile(source: Path) -> None:
    if _is_compiled(source):
        return
    import py_compile  # hardly ever needed

    with contextlib.suppress(OSError):
        py_compile.compile(str(source), quiet=2)


def _is_compiled(source: Path) -> bool:
    """Whether Python would use the compiled module: it has the time and size of its source."""
    try:
        with open(cache_from_source(str(source)), "rb") as compiled:  # noqa: PTH123  (often called)
            header = compiled.read(16)
    except OSError:
        return False
    stat = source.stat()
    numbers = (0, int(stat.st_mtime), stat.st_size)
    return header == MAGIC_NUMBER + b"".join(
        (number & MAX_SIZE).to_bytes(4, "little") for number in numbers
    )
