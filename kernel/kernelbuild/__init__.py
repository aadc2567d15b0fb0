"""Builds wanlab's kernel from the recipe beside it. Standard library only.

    recipe = load_recipe(RECIPE_FOLDER)    # of the default kernel; or load_recipe(RECIPE_FOLDER, "7.3")
    image = find_image(recipe)             # from the cache, or None
    image = build_image(recipe)            # builds it if need be, with progress on stderr
    image.path, image.manifest_hash, image.release

Map: fragments (options and their reasons) and recipe -> variants (with patches of the user's) ->
manifest (the hash that names a kernel) -> source, make, progress, requirements (the parts of a build)
-> cache (finished kernels) -> build -> command (the command line).
"""

from .build import build_image, configure, find_image
from .cache import Image, cache_folder
from .command import RECIPE_FOLDER, describe, info_text, listed, main
from .errors import BuildError
from .recipe import Recipe, load_recipe

__all__ = [
    "RECIPE_FOLDER",
    "BuildError",
    "Image",
    "Recipe",
    "build_image",
    "cache_folder",
    "configure",
    "describe",
    "find_image",
    "info_text",
    "listed",
    "load_recipe",
    "main",
]
