"""Variants: kernels of the recipe with patches and options of the user, who names them.

A variant is kept in the cache, so that it can be built again when the recipe changes:

    variants/bbr3/variant.json    its base, its patches in order, and its options
                  0001-x.patch    copies of the patches; the changes of an edited tree are one of them

Its name is a part of its release (`6.12.1-wanlab-bbr3`), and name and base are inputs of its manifest.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from .errors import BuildError
from .fragments import Option, parse_requests
from .recipe import Recipe, kernel_names, load_recipe, read_patch

_FOLDER = "variants"
_FILE = "variant.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,29}")
# The option whose value is the end of the kernel's release.
_RELEASE_OPTION = "LOCALVERSION"


def variant_names(cache: Path) -> tuple[str, ...]:
    """Return the names of the variants that have been defined."""
    return tuple(sorted(path.parent.name for path in cache.glob(f"{_FOLDER}/*/{_FILE}")))


def load_kernel(folder: Path, name: str, cache: Path) -> Recipe:
    """Return the recipe of a kernel or a variant; "" is the default kernel.

    Raises BuildError with the known names if there is no such kernel.
    """
    names = kernel_names(folder)
    if not name or name in names:
        return load_recipe(folder, name)
    variants = variant_names(cache)
    if name not in variants:
        raise BuildError(f'there is no kernel "{name}"', _nearest(name, [*names, *variants]))
    return _read(folder, name, cache)


def load_base(folder: Path, name: str) -> Recipe:
    """Return the recipe of a kernel that a variant can start from; "" is the default kernel.

    Raises BuildError with the known names if there is no such kernel.
    """
    names = kernel_names(folder)
    if name and name not in names:
        raise BuildError(f'there is no kernel "{name}" to start from', _nearest(name, names))
    return load_recipe(folder, name)


def define_variant(
    folder: Path,
    name: str,
    base: str,
    patches: Sequence[Path],
    cache: Path,
    options: Sequence[Option] = (),
) -> Recipe:
    """Store a variant in the cache, and return its recipe. It replaces one with the same name.

    Its options replace those of the base.
    """
    names = kernel_names(folder)
    if not _NAME.fullmatch(name):
        hint = "use at most 30 small letters, digits, dots and hyphens, as in bbr3"
        raise BuildError(f'"{name}" cannot be the name of a kernel', hint)
    if name in names:
        raise BuildError(f"{name} is a kernel of the recipe", "choose another name for the variant")
    base = load_base(folder, base).name
    if any(option.name == _RELEASE_OPTION for option in options):
        raise BuildError(
            f"CONFIG_{_RELEASE_OPTION} contains the name of the variant", "choose it with --name"
        )
    known = load_recipe(folder, base).options
    of_base = {option.name: option.value for option in known}
    changed = [option for option in options if of_base.get(option.name) != option.value]
    if not patches and not changed:
        hint = "name changes: --patch FILE..., --tree FOLDER or --config CONFIG_X=y"
        raise BuildError(f"{name} would be equal to {base}", hint)
    for path in patches:
        read_patch(path)
    variants_folder = cache / _FOLDER
    variants_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=variants_folder, prefix=".") as new:
        files = [f"{number:04}-{path.name}" for number, path in enumerate(patches, 1)]
        for path, file in zip(patches, files, strict=True):
            shutil.copyfile(path, Path(new) / file)
        description = {"base": base, "patches": files}
        if options:
            description["options"] = [str(option) for option in options]
        (Path(new) / _FILE).write_text(json.dumps(description, indent=2), encoding="utf-8")
        shutil.rmtree(variants_folder / name, ignore_errors=True)
        shutil.copytree(new, variants_folder / name)
    return _read(folder, name, cache)


def _read(folder: Path, name: str, cache: Path) -> Recipe:
    variant_folder = cache / _FOLDER / name
    try:
        description = json.loads((variant_folder / _FILE).read_text(encoding="utf-8"))
        base, files = str(description["base"]), [str(file) for file in description["patches"]]
        requested = [str(option) for option in description.get("options", [])]
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "define it again with: wanlab kernel build --name NAME --base BASE --patch FILE..."
        raise BuildError(
            f"the kernel {name} in {variant_folder} cannot be read: {error}", hint
        ) from None
    recipe = load_recipe(folder, base)
    options = {option.name: option for option in recipe.options}
    options |= {option.name: option for option in parse_requests(requested)}
    if (release := options.get(_RELEASE_OPTION)) is not None:
        value = f'{release.value.rstrip(chr(34))}-{name}"'
        options[_RELEASE_OPTION] = replace(release, value=value)
    added = tuple(read_patch(variant_folder / file) for file in files)
    return replace(
        recipe, name=name, patches=recipe.patches + added, options=tuple(options.values())
    )


def _nearest(name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name, known, n=1)
    begin = f"did you mean {nearest[0]}? " if nearest else ""
    return f"{begin}there are: {', '.join(known)}"
