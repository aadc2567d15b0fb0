"""The manifest hash identifies a kernel: it changes with every input, and with nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import kernelbuild.manifest
import pytest
from kernelbuild.errors import BuildError
from kernelbuild.manifest import inputs, manifest_hash
from kernelbuild.recipe import Archive, Recipe, load_recipe

ARCHIVE = Archive(version="6.12.1", origin="a test", sha256="ab")
TOOLS = {"gcc": "gcc 12", "ld": "ld 2.40"}


def hash_of(
    recipe: Recipe,
    archive: Archive = ARCHIVE,
    tools: dict[str, str] = TOOLS,
    machine: str = "x86_64",
) -> str:
    return manifest_hash(inputs(recipe, archive, tools, machine))


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_hash_is_the_same_for_the_same_inputs(recipe_folder: Path) -> None:
    assert hash_of(load_recipe(recipe_folder)) == hash_of(load_recipe(recipe_folder))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config/net.config", "CONFIG_NET=y", "CONFIG_NET=n"),
        ("config/net.config", "CONFIG_NET=y\n", "CONFIG_NET=y\n# r\nCONFIG_INET=y\n"),
        ("patches/0001-a.patch", "+++ b/x", "+++ b/y"),
        ("recipe.toml", "2024-11-17", "2025-01-01"),
        ("recipe.toml", 'linux-source-6.12"', 'linux-source-6.12-rt"'),
    ],
)
def test_the_hash_changes_with_every_file_of_the_recipe(
    recipe_folder: Path, file: str, old: str, new: str
) -> None:
    before = hash_of(load_recipe(recipe_folder))
    rewrite(recipe_folder / file, old, new)
    assert hash_of(load_recipe(recipe_folder)) != before


def test_the_hash_changes_with_the_order_of_patches(recipe_folder: Path) -> None:
    patches = recipe_folder / "patches"
    (patches / "0002-b.patch").write_text(
        (patches / "0001-a.patch").read_text().replace("a/x", "a/y")
    )
    hashes = set()
    for series in ("0001-a.patch\n0002-b.patch\n", "0002-b.patch\n0001-a.patch\n"):
        (patches / "series").write_text(series)
        hashes.add(hash_of(load_recipe(recipe_folder)))
    assert len(hashes) == 2


def test_the_hash_changes_with_source_compiler_linker_processor_and_builder(
    recipe_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe(recipe_folder)
    hashes = [
        hash_of(recipe),
        hash_of(recipe, archive=replace(ARCHIVE, sha256="cd")),
        hash_of(recipe, tools=TOOLS | {"gcc": "gcc 13"}),
        hash_of(recipe, tools=TOOLS | {"ld": "ld 2.41"}),
        hash_of(recipe, machine="aarch64"),
    ]
    monkeypatch.setattr(kernelbuild.manifest, "BUILDER_VERSION", 999)
    hashes.append(hash_of(recipe))
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config/net.config", "# Sockets.", "# Sockets, of all kinds."),
        ("patches/0001-a.patch", "A reason.", "A reason, in other words."),
        ("patches/0001-a.patch", "a subject", "another subject"),
        ("recipe.toml", "steps = 10", "steps = 11"),
    ],
)
def test_the_hash_does_not_change_with_comments_and_reasons(
    recipe_folder: Path, file: str, old: str, new: str
) -> None:
    before = hash_of(load_recipe(recipe_folder))
    rewrite(recipe_folder / file, old, new)
    assert hash_of(load_recipe(recipe_folder)) == before


def test_another_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def machine(*_: Any) -> str:
        return "aarch64"

    monkeypatch.setattr("platform.machine", machine)
    with pytest.raises(BuildError, match="this computer is aarch64"):
        kernelbuild.manifest.machine_architecture()
