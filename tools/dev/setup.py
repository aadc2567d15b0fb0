"""`./dev setup`: lists what is missing, then installs it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from . import kernel, packages, ui, venv


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What this computer lacks."""

    packages: tuple[str, ...] = ()
    venv: bool = False
    kernel: bool = False
    ui: bool = False

    def __bool__(self) -> bool:
        return bool(self.packages or self.venv or self.kernel or self.ui)

    def describe(self) -> list[str]:
        """Return lines that describe what will be installed."""
        lines = []
        if self.packages:
            how = "as root" if os.geteuid() == 0 else "as root, with sudo"
            command = f"apt-get install --no-install-recommends -y {' '.join(self.packages)}"
            lines += [f"install {packages.count(self.packages)}, {how}:", f"  {command}"]
        if self.venv:
            lines.append("install wanlab and the Python packages that it needs into .venv:")
            lines.append("  pip install -e '.[dev]'  (listed in pyproject.toml)")
        if self.kernel:
            lines.append("build the kernel into your cache: about 4 minutes on two cores")
            lines.append("  python3 kernel/build.py build")
        if self.ui:
            lines.append("build the browser front end into src/wanlab/web/static: half a minute")
            lines.append("  npm ci; vite build  (in ui/, with the Node of .venv)")
        return lines


def find_missing(*, with_kernel: bool) -> tuple[Missing, str]:
    """Return what is missing, and a short description of what is installed."""
    image = kernel.found() if with_kernel else None
    needs_kernel = with_kernel and image is None
    wanted = packages.wanted(kernel=with_kernel, build=needs_kernel)
    missing = Missing(
        packages=tuple(packages.missing(wanted)),
        venv=not venv.is_up_to_date(),
        kernel=needs_kernel,
        ui=not ui.is_up_to_date(),
    )
    installed = [packages.count(wanted), ".venv", image, "the browser front end"]
    return missing, ", ".join(filter(None, installed))


def set_up(*, with_kernel: bool = True) -> None:
    """Install what is missing; if nothing is, only say so."""
    missing, installed = find_missing(with_kernel=with_kernel)
    if not missing:
        print(f"setup: nothing to do ({installed})", file=sys.stderr)
        return
    print("\n  ".join(["setup will", *missing.describe()]), file=sys.stderr)
    if missing.packages:
        packages.install(missing.packages, kernel.source_versions() if missing.kernel else [])
    if missing.venv:
        venv.install()
    if missing.kernel:
        kernel.build()
    if missing.ui:
        ui.build()
    print("setup: done", file=sys.stderr)
