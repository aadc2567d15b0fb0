"""Build the kernel of a recipe into the cache.

A kernel of the recipe is built in a temporary folder. A variant can be built in a folder that stays, in
which only what differs from the previous variant is compiled (see kept.py); the result is the same.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from . import cache as kernels
from . import source as sources
from . import trees
from .cache import IMAGE_FILE, Image
from .errors import BuildError
from .fragments import canonical_text, check_survived, known_symbols, parse_config
from .kept import KeptBuild, patched_files
from .make import run_make, terminated_as_interrupt
from .manifest import inputs, machine_architecture, manifest_hash, tool_versions
from .programs import run
from .progress import Progress
from .recipe import Recipe, load_recipe
from .requirements import check_disk, check_programs

LOG_FILE = "build.log"
SHIPPED_FOLDER = "kernel"  # beside the recipe in a wheel: the image that was built from it
_MAX_NAMED_FILES = 5

# Files of a build to keep beside the kernel and its configuration; `modprobe` reads modules.builtin.
_KEPT = ("System.map", "modules.builtin", "modules.builtin.modinfo")


@dataclass(frozen=True, kw_only=True)
class Work:
    """One build: the recipe, the source archive, the inputs of the manifest, and the cache folder."""

    recipe: Recipe
    archive_path: Path
    inputs: dict[str, Any]
    cache: Path
    jobs: int

    @property
    def archive_sha256(self) -> str:
        """The hash of the source archive."""
        return str(self.inputs["source"]["sha256"])

    @property
    def manifest_hash(self) -> str:
        """The manifest hash of the kernel that this build makes."""
        return manifest_hash(self.inputs)


def plan_work(
    recipe: Recipe,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    jobs: int | None = None,
    progress: Progress,
) -> Work:
    """Find and check all inputs of a build and fetch the source if necessary; build nothing."""
    cache = cache or kernels.cache_folder()
    machine = machine_architecture()
    check_programs()
    with terminated_as_interrupt(), _locked(cache, progress):
        archive_path = sources.provide_archive(recipe, source, cache, progress)
    archive = sources.identify(recipe, archive_path, cache)
    return Work(
        recipe=recipe,
        archive_path=archive_path,
        inputs=inputs(recipe, archive, tool_versions(recipe.compiler), machine),
        cache=cache,
        jobs=jobs or len(os.sched_getaffinity(0)),
    )


def find_image(recipe: Recipe, *, cache: Path | None = None) -> Image | None:
    """Return the recipe's kernel for this computer's compiler from the cache; None if it is not intact.

    This does not need the source. Without a compiler, a kernel built by any compiler is accepted, and
    so is the kernel that a wheel carries beside its recipe.
    """
    cache = cache or kernels.cache_folder()
    machine = machine_architecture()
    inputs_by_archive = [inputs(recipe, archive, {}, machine) for archive in recipe.archives]
    try:
        tools = tool_versions(recipe.compiler)
    except BuildError:
        cached = (i for i in kernels.images(cache) if _without_tools(i) in inputs_by_archive)
    else:
        hashes = (manifest_hash(values | {"tools": tools}) for values in inputs_by_archive)
        cached = (image for name in hashes if (image := kernels.load(cache, name)))
    return next(cached, None) or _shipped(recipe, inputs_by_archive)


def _shipped(recipe: Recipe, inputs_by_archive: Sequence[dict[str, Any]]) -> Image | None:
    image = kernels.image_in(recipe.folder.parent / SHIPPED_FOLDER)
    is_recipes = image is not None and _without_tools(image) in inputs_by_archive
    return image if is_recipes else None


def _without_tools(image: Image) -> dict[str, Any]:
    return {**image.manifest["inputs"], "tools": {}}


def build_image(
    recipe: Recipe,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    jobs: int | None = None,
    again: bool = False,
    keep: bool = False,
    stream: TextIO | None = None,
) -> Image:
    """Return the recipe's kernel from the cache, or build it and show the progress.

    `again` builds it from nothing in any case. A failed build leaves its log; an interrupted build
    leaves nothing. `keep` builds a variant in a folder that stays; an interrupted build continues there.
    If that folder contains a complete build, it is used in any case.
    """
    if not again and source is None and (image := find_image(recipe, cache=cache)) is not None:
        return image
    kernels.prepare(cache or kernels.cache_folder())
    progress = Progress(stream or sys.stderr, recipe.steps)
    work = plan_work(recipe, source=source, cache=cache, jobs=jobs, progress=progress)
    with terminated_as_interrupt(), _locked(work.cache, progress):
        if not again and (image := kernels.load(work.cache, work.manifest_hash)) is not None:
            return image
        _report_damage(work, progress)
        with kernels.building_folder(work.cache) as folder, _log_kept(work, folder, progress):
            check_disk(folder / kernels.SOURCE_FOLDER, recipe.disk_bytes)
            is_kept = recipe.is_variant and (keep or _kept_build(work).is_complete)
            if is_kept:
                image = _build_kept(work, folder, progress, again=again)
            else:
                image = _build(work, folder, progress)
        progress.note(f"built {image.release} in {progress.elapsed()}: {image.path}")
        return image


def unpack_tree(
    base: Recipe,
    folder: Path,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    jobs: int | None = None,
    stream: TextIO | None = None,
) -> None:
    """Unpack a base's patched source into a new folder, for a person to edit."""
    trees.check_new_folder(folder)
    cache = cache or kernels.cache_folder()
    kernels.prepare(cache)
    kernels.check_path(cache)
    progress = Progress(stream or sys.stderr, base.steps)
    work = plan_work(base, source=source, cache=cache, jobs=jobs, progress=progress)
    with terminated_as_interrupt(), _locked(cache, progress), _line_cleared(progress):
        check_disk(cache, base.disk_bytes)
        unchanged = trees.provide_source(
            base, work.archive_path, work.archive_sha256, cache, work.jobs, progress
        )
        trees.write_tree(base, unchanged, folder, progress)
    progress.note(f"unpacked Linux {base.base} in {progress.elapsed()}: {folder}")


@contextlib.contextmanager
def _line_cleared(progress: Progress) -> Iterator[None]:
    try:
        yield
    finally:
        progress.clear()


def configure(
    recipe: Recipe,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    stream: TextIO | None = None,
) -> str:
    """Return the full configuration that results from the fragments, with every option checked."""
    kernels.prepare(cache or kernels.cache_folder())
    progress = Progress(stream or sys.stderr, recipe.steps)
    work = plan_work(recipe, source=source, cache=cache, progress=progress)
    with (
        terminated_as_interrupt(),
        _locked(work.cache, progress),
        kernels.building_folder(work.cache) as folder,
        _log_kept(work, folder, progress),
    ):
        check_disk(folder / kernels.SOURCE_FOLDER, recipe.disk_bytes)
        tree = _configured_tree(work, folder, progress)
        progress.clear()
        return (tree / ".config").read_text(encoding="utf-8")


@contextlib.contextmanager
def _locked(cache: Path, progress: Progress) -> Iterator[None]:
    def waiting() -> None:
        progress.note("another build is running; waiting for it")

    with kernels.locked(cache, waiting):
        yield


def _report_damage(work: Work, progress: Progress) -> None:
    folder = kernels.folder_of(work.cache, work.manifest_hash)
    if folder.exists() and (problem := kernels.problem_with(folder, work.manifest_hash)):
        progress.note(f"the kernel in {folder} is damaged: {problem}; building it again")


@contextlib.contextmanager
def _log_kept(work: Work, folder: Path, progress: Progress) -> Iterator[None]:
    """If the build fails, keep its log in the cache, and add the log's path to the error."""
    try:
        yield
    except BuildError as error:
        progress.clear()
        log = folder / LOG_FILE
        if not log.exists():
            raise
        kept = work.cache / f"failed-{work.manifest_hash[:16]}.log"
        shutil.copyfile(log, kept)
        raise BuildError(error.what, f"{error.hint}\nthe whole log: {kept}".strip()) from None
    except BaseException:
        progress.clear()
        raise


def _build(work: Work, folder: Path, progress: Progress) -> Image:
    tree = _configured_tree(work, folder, progress)
    progress.phase(f"compiling with {_jobs(work)}")
    _make(work, tree, [f"-j{work.jobs}", "linux"], folder, lambda step: progress.step())
    return _finished(work, tree, folder, progress)


def _build_kept(work: Work, folder: Path, progress: Progress, *, again: bool) -> Image:
    """Build a variant in the folder that is kept for its base. `folder` is for temporary files."""
    kernels.check_path(work.cache)
    base = load_recipe(work.recipe.folder, work.recipe.base)
    source = trees.provide_source(
        base, work.archive_path, work.archive_sha256, work.cache, work.jobs, progress
    )
    kept = _kept_build(work)
    progress.phase("preparing the files to compile")
    kept.prepare(again=again)
    kept.update(patched_files(work.recipe, source, len(base.patches), folder / "patched"))
    requested = canonical_text(work.recipe.options)
    key = kept.configuration_key(requested)
    if not kept.is_configured(key):
        kept.configured(None)
        _configure(work, kept.tree, folder, progress)
        kept.configured(key)
    progress.expect(work.recipe.steps - kept.steps)
    _compile_kept(work, kept, folder, progress)
    return _finished(work, kept.tree, folder, progress)


def _kept_build(work: Work) -> KeptBuild:
    """Return the folder in which variants of the same base and source are built."""
    base = load_recipe(work.recipe.folder, work.recipe.base)
    key = trees.tree_key(base, work.archive_sha256)
    return KeptBuild(trees.tree_folder(work.cache, key), work.inputs["tools"])


def _compile_kept(work: Work, kept: KeptBuild, folder: Path, progress: Progress) -> None:
    differs = kept.is_complete
    what = "compiling what differs" if differs else "compiling everything, once,"
    progress.phase(f"{what} with {_jobs(work)}")
    on_step = partial(progress.doing, what) if differs else lambda step: progress.step()
    log = folder / LOG_FILE
    log.unlink(missing_ok=True)  # of the configuration
    complete = False
    try:
        with kept.compiling():
            _make(work, kept.tree, [f"-j{work.jobs}", "linux"], folder, on_step)
        complete = True
    finally:
        kept.compiled(progress.steps, complete=complete)
    if differs:
        progress.note(compiled_text(log.read_text(encoding="utf-8", errors="replace")))


def compiled_text(log: str) -> str:
    """Return which files were compiled, according to the output of `make`."""
    files = [
        line.split()[1].removesuffix(".o") + ".c"
        for line in log.splitlines()
        if line.startswith("  CC ") and line.endswith(".o")
    ]
    if not files:
        return "no file had to be compiled"
    more = len(files) - _MAX_NAMED_FILES
    named = ", ".join(files[:_MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
    return f"compiled {len(files)} file{'s' if len(files) != 1 else ''}: {named}"


def _jobs(work: Work) -> str:
    return f"{work.jobs} job{'s' if work.jobs != 1 else ''}"


def _finished(work: Work, tree: Path, folder: Path, progress: Progress) -> Image:
    """Store the kernel of a compiled tree in the cache."""
    for note in variant_notes(work.recipe, tree):
        progress.note(note)
    progress.phase("finishing")
    finished = folder / "finished"
    finished.mkdir()
    _collect(tree, finished)
    manifest = {
        "hash": work.manifest_hash,
        "name": work.recipe.name,
        "base": work.recipe.base,
        "inputs": work.inputs,
        "patches": [
            {"file": patch.file, "subject": patch.subject} for patch in work.recipe.patches
        ],
        "options": {option.name: option.value for option in work.recipe.options},
        "release": (tree / "include/config/kernel.release").read_text(encoding="utf-8").strip(),
        "files": kernels.describe_files(finished),
        "steps": progress.steps,
    }
    (work.cache / f"failed-{work.manifest_hash[:16]}.log").unlink(missing_ok=True)
    return kernels.store(work.cache, finished, manifest)


def variant_notes(recipe: Recipe, tree: Path) -> list[str]:
    """Return what the author of a variant's patches may have overlooked, in a compiled tree.

    The kernel's configuration switches new options off, and `make` passes over files that no Makefile
    names, both silently.
    """
    own = [patch for patch in recipe.patches if not patch.path.is_relative_to(recipe.folder)]
    config = parse_config((tree / ".config").read_text(encoding="utf-8"))
    asked = {option.name for option in recipe.options}
    off = [
        name
        for patch in own
        for name in sources.added_symbols(patch)
        if name not in config and name not in asked
    ]
    notes = [
        f"CONFIG_{name}, which your changes add, is off; switch it on with: --config CONFIG_{name}=y"
        for name in dict.fromkeys(off)
    ]
    files = dict.fromkeys(name for patch in own for name in sources.named_files(patch))
    return notes + [
        f"{name} was not compiled: is it in the Makefile of its folder, and is its option on?"
        for name in files
        if name.endswith(".c")
        and (tree / name).is_file()
        and not (tree / name).with_suffix(".o").exists()
    ]


def _configured_tree(work: Work, folder: Path, progress: Progress) -> Path:
    """Return the folder of the unpacked, patched and configured source."""
    tree = folder / kernels.SOURCE_FOLDER
    progress.phase(f"unpacking {work.archive_path}")
    sources.unpack(work.archive_path, tree, work.jobs)
    progress.phase(f"applying {len(work.recipe.patches)} patches")
    sources.apply_patches(work.recipe, tree)
    _configure(work, tree, folder, progress)
    return tree


def _configure(work: Work, tree: Path, folder: Path, progress: Progress) -> None:
    progress.phase(f"configuring {len(work.recipe.options)} options")
    requested = tree / "requested.config"
    requested.write_text(canonical_text(work.recipe.options), encoding="utf-8")
    # `allnoconfig` switches off every option that no fragment names.
    _make(work, tree, [f"KCONFIG_ALLCONFIG={requested}", "allnoconfig"], folder)
    config = parse_config((tree / ".config").read_text(encoding="utf-8"))
    check_survived(work.recipe.options, config, known_symbols(tree))


def _make(
    work: Work,
    tree: Path,
    targets: list[str],
    folder: Path,
    on_step: Callable[[str], None] = lambda step: None,
) -> None:
    run_make(
        tree,
        targets,
        compiler=work.recipe.compiler,
        timestamp=work.recipe.timestamp,
        log=folder / LOG_FILE,
        on_step=on_step,
    )


def _collect(tree: Path, finished: Path) -> None:
    """Copy the files to keep from a compiled tree: the kernel without symbols, and some others."""
    run(["strip", "-o", finished / IMAGE_FILE, tree / "linux"], check=True)
    (finished / IMAGE_FILE).chmod(0o755)
    shutil.copyfile(tree / ".config", finished / "config")
    for name in _KEPT:
        if (tree / name).is_file():
            shutil.copyfile(tree / name, finished / name)
