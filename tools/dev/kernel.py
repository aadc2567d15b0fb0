"""What kernel/ has to say: which kernel is there, which source it is made from, how to build it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from .errors import DevError
from .places import KERNEL, ROOT

BUILD = KERNEL / "build.py"


def found() -> str | None:
    """The kernel in this user's cache, in a few words; None if it has to be built."""
    with _recipe_errors():
        from kernelbuild import RECIPE_FOLDER, find_image, load_recipe

        image = find_image(load_recipe(RECIPE_FOLDER))
    return f"kernel {image.release} ({image.manifest_hash[:12]})" if image else None


def source_versions() -> list[str]:
    """Versions of the Debian source package that the recipe knows, newest first."""
    with _recipe_errors():
        from kernelbuild import RECIPE_FOLDER, load_recipe

        return [archive.version for archive in load_recipe(RECIPE_FOLDER).archives]


@contextlib.contextmanager
def _recipe_errors() -> Iterator[None]:
    if str(KERNEL) not in sys.path:
        sys.path.append(str(KERNEL))
    from kernelbuild import BuildError

    try:
        yield
    except BuildError as error:
        raise DevError(f"kernel: {error.what}", error.hint) from None


def build() -> None:
    """Build the kernel into this user's cache; it shows its progress itself."""
    command = [sys.executable, str(BUILD), "build"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        status = process.wait()
    except BaseException:
        process.terminate()  # it cleans up after itself
        process.wait()
        raise
    if status != 0:
        raise DevError(f"the kernel could not be built (exit status {status})")
