"""Verifying an image distinguishes damage, another recipe and other bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernelbuild import verify
from kernelbuild.cache import Image, describe_files
from kernelbuild.errors import BuildError
from kernelbuild.manifest import inputs, manifest_hash
from kernelbuild.recipe import Recipe, load_recipe
from kernelbuild.verify import verify_image

TOOLS = {"gcc": "gcc 12", "ld": "ld 2.40", "libc.a": "ab"}


def make_image(recipe: Recipe, folder: Path, content: str = "kernel") -> Path:
    folder.mkdir()
    (folder / "linux").write_text(content)
    described = inputs(recipe, recipe.archives[0], TOOLS, "x86_64")
    manifest = {
        "hash": manifest_hash(described),
        "inputs": described,
        "files": describe_files(folder),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def recipe(recipe_folder: Path) -> Recipe:
    return load_recipe(recipe_folder)


def rebuilt_as(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a build return the image in a folder."""
    manifest = json.loads((folder / "manifest.json").read_text())
    monkeypatch.setattr(
        verify, "build_image", lambda *_, **__: Image(folder=folder, manifest=manifest)
    )


def test_the_recipes_own_image_is_recognised(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt_as(monkeypatch, make_image(recipe, tmp_path / "rebuilt"))
    assert verify_image(recipe, make_image(recipe, tmp_path / "image")) == []


def test_an_image_with_other_bytes_does_not_match_the_recipe(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt_as(monkeypatch, make_image(recipe, tmp_path / "rebuilt"))
    image = make_image(recipe, tmp_path / "image", "another kernel")
    assert verify_image(recipe, image, rebuild=False) == []
    assert verify_image(recipe, image) == ["linux differs from the file that the recipe produces"]


def test_a_damaged_image_is_not_built_again(recipe: Recipe, tmp_path: Path) -> None:
    image = make_image(recipe, tmp_path / "image")
    (image / "linux").write_text("damage")
    (problem,) = verify_image(recipe, image)
    assert problem.startswith("damaged: linux ")


def test_an_image_of_other_patches_and_options_is_named(
    recipe: Recipe, recipe_folder: Path, tmp_path: Path
) -> None:
    image = make_image(recipe, tmp_path / "image")
    patch = recipe_folder / "patches" / "0001-a.patch"
    patch.write_text(patch.read_text().replace("+++ b/x", "+++ b/y"))
    options = recipe_folder / "config" / "net.config"
    options.write_text(options.read_text().replace("=y", "=n"))
    assert verify_image(load_recipe(recipe_folder), image) == [
        "options: not those of the recipe",
        "patches: not those of the recipe",
    ]


def test_a_folder_without_a_manifest_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="holds no image with a manifest"):
        verify_image(recipe, tmp_path)
