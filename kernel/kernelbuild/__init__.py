"""Builds wanlab's kernel from the recipe beside it. Standard library only.

    recipe = load_recipe(RECIPE_FOLDER)    # of the default kernel; or load_recipe(RECIPE_FOLDER, "7.3")
    image = find_image(recipe)             # from the cache, or None
    image = build_image(recipe)            # from the cache, or built with progress on stderr
    image.path, image.manifest_hash, image.release

Modules, each of which uses only those above it:

    programs, guard                           start programs that end with the build
    fragments, recipe                         options with their reasons; everything a kernel is made of
    variants                                  kernels with patches of the user
    manifest                                  the hash that names a kernel
    source, make, progress, requirements      the parts of a build
    cache                                     finished kernels
    treediff, trees                           source trees that a person edits, and their changes
    kept                                      the folder in which changed kernels are compiled
    build, verify                             make a kernel; compare one with the recipe
    trial                                     try the patches on another release
    command                                   the command line
"""

from .build import build_image, configure, find_image
from .cache import Image, cache_folder
from .command import RECIPE_FOLDER, describe, info_text, listed, main
from .errors import BuildError
from .programs import ending_with_us
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
    "ending_with_us",
    "find_image",
    "info_text",
    "listed",
    "load_recipe",
    "main",
]
