"""The interface to kernel/: finds the built kernel and the supported sources, and builds the kernel."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .errors import DevError
from .places import KERNEL, ROOT

BUILD = KERNEL / "build.py"


def found() -> str | None:
    """Describe the kernel in this user's cache; None if it has to be built."""
    with _recipe_errors():
        from kernelbuild import RECIPE_FOLDER, find_image, load_recipe

        image = find_image(load_recipe(RECIPE_FOLDER))
    return f"kernel {image.release} ({image.manifest_hash[:12]})" if image else None


def folder() -> Path | None:
    """Return the folder of the recipe's kernel in this user's cache, or None."""
    with _recipe_errors():
        from kernelbuild import RECIPE_FOLDER, find_image, load_recipe

        image = find_image(load_recipe(RECIPE_FOLDER))
    return image.folder if image else None


def source_versions() -> list[str]:
    """Return the versions of the Debian source package that the recipe supports, newest first."""
    with _recipe_errors():
        from kernelbuild import RECIPE_FOLDER, load_recipe

        return [archive.version for archive in load_recipe(RECIPE_FOLDER).archives]


@contextlib.contextmanager
def _recipe_errors() -> Iterator[None]:
    from kernelbuild import BuildError

    try:
        yield
    except BuildError as error:
        raise DevError(f"kernel: {error.what}", error.hint) from None


def build() -> None:
    """Build the kernel into this user's cache. The build shows its own progress."""
    with _recipe_errors():
        from kernelbuild import ending_with_us
    command = [sys.executable, str(BUILD), "build"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=ending_with_us(),
    )
    try:
        status = process.wait()
    except BaseException:
        process.terminate()  # it removes what it has written
        process.wait()
        raise
    if status != 0:
        raise DevError(f"the kernel could not be built (exit status {status})")
