"""Verify an image: is it undamaged, does it belong to this recipe, and does the recipe produce it?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from .build import build_image
from .cache import MANIFEST_FILE, problem_with
from .errors import BuildError
from .manifest import inputs
from .recipe import Recipe


def verify_image(
    recipe: Recipe,
    folder: Path,
    *,
    rebuild: bool = True,
    source: Path | None = None,
    jobs: int | None = None,
    stream: TextIO | None = None,
) -> list[str]:
    """Compare an image with the recipe; return the differences, none if it is the recipe's kernel.

    The files are compared with the manifest, then the manifest's inputs with the recipe. With
    `rebuild`, the kernel is built again in a temporary folder, and the files are compared byte by
    byte; this needs the same compiler, linker and C library.
    """
    manifest = _read(folder)
    if problem := problem_with(folder, str(manifest.get("hash"))):
        return [f"damaged: {problem}"]
    problems = list(_differing_inputs(recipe, manifest["inputs"]))
    if problems or not rebuild:
        return problems
    with tempfile.TemporaryDirectory(prefix="wanlab-verify-") as cache:
        image = build_image(recipe, cache=Path(cache), source=source, jobs=jobs, stream=stream)
        rebuilt = image.manifest
    if rebuilt["inputs"]["tools"] != manifest["inputs"]["tools"]:
        return ["built with other tools than this computer has: " + _tools(manifest["inputs"])]
    return [
        f"{name} differs from the file that the recipe produces"
        for name, description in sorted(manifest["files"].items())
        if rebuilt["files"].get(name) != description
    ]


def _read(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BuildError(f"{folder} holds no image with a manifest: {error}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("inputs"), dict):
        raise BuildError(f"{folder / MANIFEST_FILE} is not the manifest of a kernel")
    return manifest


def _differing_inputs(recipe: Recipe, built: Mapping[str, Any]) -> Iterator[str]:
    """Yield the inputs, without the tools, in which an image differs from the recipe.

    None if the image has been built from one of the recipe's archives; otherwise, the differences from
    the nearest one.
    """
    machine = str(built.get("machine"))
    candidates = [inputs(recipe, archive, {}, machine) for archive in recipe.archives]
    differences = [
        sorted(name for name in expected if name != "tools" and built.get(name) != expected[name])
        for expected in candidates
    ]
    if not all(differences):
        return
    for name in min(differences, key=len):
        yield f"{name.removesuffix('_sha256')}: not those of the recipe"


def _tools(built: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {version}" for name, version in sorted(built["tools"].items()))
