"""`./dev setup`: lists what is missing, then installs it.

The browser page comes last. Its packages come from another registry (npm's), which a proxy may block.
If it cannot be built, everything else works, and only the tests of the page are skipped. So does a test
that compares with Mininet, if that cannot be fetched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from . import kernel, mininet_package, packages, ui, venv
from .errors import DevError
from .places import ROOT


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What this computer lacks."""

    packages: tuple[str, ...] = ()
    venv: bool = False
    development: bool = True
    kernel: bool = False
    mininet: bool = False
    ui: bool = False

    def __bool__(self) -> bool:
        return bool(self.packages or self.venv or self.kernel or self.mininet or self.ui)

    def describe(self) -> list[str]:
        """Return lines that describe what will be installed."""
        lines = []
        if self.packages:
            how = "as root" if os.geteuid() == 0 else "as root, with sudo"
            command = f"apt-get install --no-install-recommends -y {' '.join(self.packages)}"
            lines += [f"install {packages.count(self.packages)}, {how}:", f"  {command}"]
        if self.venv:
            lines.append("install wanlab and the Python packages that it needs into .venv:")
            what = "'.[dev]'" if self.development else "."
            lines.append(f"  pip install -e {what}  (listed in pyproject.toml)")
        if self.kernel:
            lines.append("build the kernel into your cache: about five minutes on two cores")
            lines.append("  python3 kernel/build.py build")
        if self.mininet:
            lines.append("fetch Mininet into your cache, for a test that compares with it:")
            lines.append("  apt-get download mininet; dpkg -x  (nothing of it is installed)")
        if self.ui:
            lines.append("build the browser front end into src/wanlab/web/static: half a minute")
            lines.append("  npm ci; vite build  (in ui/, with the Node of .venv)")
        return lines


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a command of ./dev needs: a kernel, the developers' tools, the browser page."""

    kernel: bool
    development: bool
    page: bool
    selftests: bool = False


DEMO = Scope(kernel=True, development=False, page=False)
CHECKS = Scope(kernel=False, development=True, page=False)
PAGE = Scope(kernel=False, development=True, page=True)
EVERYTHING = Scope(kernel=True, development=True, page=True)
SELFTESTS = Scope(kernel=True, development=False, page=False, selftests=True)


def find_missing(scope: Scope) -> tuple[Missing, str]:
    """Return what is missing, and a short description of what is installed."""
    image = kernel.found() if scope.kernel else None
    needs_kernel = scope.kernel and image is None
    wanted = packages.wanted(
        kernel=scope.kernel,
        build=needs_kernel,
        tests=scope.development,
        selftests=scope.selftests,
    )
    missing = Missing(
        packages=tuple(packages.missing(wanted)),
        venv=not venv.is_up_to_date(development=scope.development),
        development=scope.development,
        kernel=needs_kernel,
        mininet=scope.kernel and scope.development and not mininet_package.is_up_to_date(),
        ui=scope.page and not ui.is_up_to_date(),
    )
    page = "the browser front end" if scope.page else None
    installed = [packages.count(wanted), ".venv", image, page]
    return missing, ", ".join(filter(None, installed))


def set_up(scope: Scope = EVERYTHING) -> DevError | None:
    """Install what is missing, and print that, or that there is nothing to do.

    Return the error if the browser page could not be built. Raises DevError if anything else fails.
    """
    with _alone():
        return _set_up(scope)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let only one process at a time set up this checkout."""
    checkout = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(checkout, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: waiting for another ./dev that sets up this checkout", file=sys.stderr)
            fcntl.flock(checkout, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks, such as some of the network
        yield
    finally:
        os.close(checkout)


def _set_up(scope: Scope) -> DevError | None:
    missing, installed = find_missing(scope)
    if not missing:
        print(f"setup: nothing to do ({installed})", file=sys.stderr)
        return None
    print("\n  ".join(["setup will", *missing.describe()]), file=sys.stderr)
    if missing.packages:
        packages.install(missing.packages, kernel.source_versions() if missing.kernel else [])
    if missing.venv:
        venv.install(development=missing.development)
    if missing.kernel:
        kernel.build()
    if missing.mininet:
        try:
            mininet_package.fetch()
        except DevError as error:
            print(f"setup: a test will not compare with Mininet: {error}", file=sys.stderr)
    if missing.ui:
        try:
            ui.build()
        except DevError as error:
            print(f"setup: the browser page is missing: {error}", file=sys.stderr)
            print("setup: everything else is done; for the page: ./dev ui", file=sys.stderr)
            return error
    print("setup: done; type `. .venv/bin/activate` to have `wanlab`", file=sys.stderr)
    return None
