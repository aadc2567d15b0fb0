"""Puts the built kernel, its recipe and the browser page into the wheel, and names its platform.

`./dev wheel` builds kernel and page first. A wheel without the kernel, such as an editable install,
is an ordinary pure-Python wheel for all platforms.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL_VARIABLE = "WANLAB_WHEEL_KERNEL"
INSIDE = "wanlab/machine/embedded/kernel"
# The patches, options and program that built the kernel, so that users can build variants.
RECIPE = Path("kernel")
RECIPE_INSIDE = "wanlab/machine/embedded/recipe"
# The image is linked statically, so it runs with any C library.
PLATFORM = "manylinux_2_17_x86_64.musllinux_1_1_x86_64"


class KernelHook(BuildHookInterface):
    """Includes the folder of a built kernel, which WANLAB_WHEEL_KERNEL names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get(KERNEL_VARIABLE)
        if not folder or self.target_name != "wheel":
            return
        files = sorted(path for path in Path(folder).iterdir() if path.is_file())
        build_data["force_include"].update({str(path): f"{INSIDE}/{path.name}" for path in files})
        build_data["force_include"].update(self._recipe())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORM}"

    def _recipe(self) -> dict[str, str]:
        """Return the place in the wheel of each file of the recipe."""
        top = Path(self.root) / RECIPE
        files = sorted(path for path in top.rglob("*") if path.is_file())
        return {
            str(path): f"{RECIPE_INSIDE}/{path.relative_to(top).as_posix()}"
            for path in files
            if "__pycache__" not in path.parts and path.suffix != ".log"
        }
