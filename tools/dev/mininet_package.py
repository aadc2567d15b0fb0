"""Fetches Mininet itself, with which a test compares (`tests/mininet/test_orders.py`).

Only two parts of its Debian package are kept, in the user's cache: the Python package and `mnexec`.
Nothing is installed, so none of the services that it needs starts.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from .errors import DevError
from .packages import is_debian
from .progress import run

PACKAGE = "mininet"
PARTS = ("usr/lib/python3/dist-packages/mininet", "usr/bin/mnexec")
PATIENCE = ("-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=0")


def folder() -> Path:
    """Return the folder of the files, which need not exist."""
    from kernelbuild import cache_folder

    return cache_folder().parent / PACKAGE


def is_up_to_date() -> bool:
    """Whether the files are there, or cannot be fetched on this system."""
    return shutil.which("mnexec") is not None or not is_debian() or (folder() / "mnexec").exists()


def fetch() -> None:
    """Fetch the files. Raises DevError if they cannot be fetched, for example without a network."""
    if shutil.which("dpkg") is None or shutil.which("apt-get") is None:
        raise DevError("Mininet is fetched with apt-get and dpkg, which are not installed")
    target = folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{PACKAGE}-") as name:
        work = Path(name)
        run(f"apt-get download {PACKAGE}", ["apt-get", *PATIENCE, "download", PACKAGE], folder=work)
        (archive,) = work.glob("*.deb")
        run("dpkg -x", ["dpkg", "-x", archive.name, "files"], folder=work)
        chosen = work / "chosen"
        chosen.mkdir()
        for part in PARTS:
            (work / "files" / part).rename(chosen / Path(part).name)
        shutil.rmtree(target, ignore_errors=True)
        chosen.rename(target)
