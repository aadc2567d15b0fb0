"""Fetch a source package with apt from a suite that the computer's sources may not list.

The mirror and its keys come from the computer's own configuration of apt; only the suite differs.
Nothing outside a temporary folder changes.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import BuildError
from .programs import run
from .progress import Progress

_KEYRINGS = ("/usr/share/keyrings/debian-archive-keyring.gpg",)
_HINT = "get the package yourself and name its archive with --source FILE"


def is_available() -> bool:
    return shutil.which("apt-get") is not None


@contextmanager
def downloaded(package: str, version: str, suite: str, progress: Progress) -> Iterator[Path]:
    """Yield the path of a package's file, which is removed afterwards.

    Raises BuildError if apt cannot fetch the package.
    """
    mirror = debian_mirror(_run("apt-get", "indextargets", "--no-release-info", *_FORMAT))
    if mirror is None:
        raise BuildError(f"this computer's apt has no mirror of Debian for {package}", _HINT)
    progress.phase(f"fetching {package} {version} from {suite}")
    with tempfile.TemporaryDirectory(prefix="wanlab-apt-") as name:
        folder = Path(name)
        # apt fetches as another user if it can.
        folder.chmod(0o755)
        options = _options(folder, mirror, suite)
        _run("apt-get", *options, "update", cwd=folder)
        _run("apt-get", *options, "download", f"{package}={version}", cwd=folder)
        yield next(folder.glob("*.deb"))


def debian_mirror(targets: str) -> str | None:
    """Return the address of a Debian archive among those in the output of `apt-get indextargets`."""
    for line in targets.splitlines():
        address, _, component = line.partition("|")
        if component == "main" and address.rstrip("/").endswith("/debian"):
            return address
    return None


_FORMAT = ("--format", "$(REPO_URI)|$(COMPONENT)")


def _options(folder: Path, mirror: str, suite: str) -> list[str]:
    keyring = next((path for path in _KEYRINGS if Path(path).exists()), None)
    signed = f"[signed-by={keyring}] " if keyring else ""
    (folder / "suite.list").write_text(f"deb {signed}{mirror} {suite} main\n", encoding="utf-8")
    (folder / "lists" / "partial").mkdir(parents=True)
    settings = {
        "Dir::Etc::sourcelist": folder / "suite.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder,
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _run(*command: str, cwd: Path | None = None) -> str:
    done = run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise BuildError("apt cannot fetch the kernel's source:\n" + "\n".join(lines), _HINT)
    return str(done.stdout)
