"""Build the kernel of a recipe into the cache."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from . import cache as kernels
from . import source as sources
from .cache import IMAGE_FILE, Image
from .errors import BuildError
from .fragments import canonical_text, check_survived, known_symbols, parse_config
from .make import run_make, terminated_as_interrupt
from .manifest import inputs, machine_architecture, manifest_hash, tool_versions
from .programs import run
from .progress import Progress
from .recipe import Recipe
from .requirements import check_disk, check_programs

LOG_FILE = "build.log"

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

    This does not need the source. Without a compiler, a kernel built by any compiler is accepted.
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
    return next(cached, None)


def _without_tools(image: Image) -> dict[str, Any]:
    return {**image.manifest["inputs"], "tools": {}}


def build_image(
    recipe: Recipe,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    jobs: int | None = None,
    again: bool = False,
    stream: TextIO | None = None,
) -> Image:
    """Return the recipe's kernel from the cache, or build it and show the progress.

    `again` builds it in any case. A failed build leaves its log; an interrupted build leaves nothing.
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
        check_disk(work.cache, recipe.disk_bytes)
        with kernels.building_folder(work.cache) as folder, _log_kept(work, folder, progress):
            image = _build(work, folder, progress)
        progress.note(f"built {image.release} in {progress.elapsed()}: {image.path}")
        return image


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
    with terminated_as_interrupt(), _locked(work.cache, progress):
        check_disk(work.cache, recipe.disk_bytes)
        with kernels.building_folder(work.cache) as folder, _log_kept(work, folder, progress):
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
    progress.phase(f"compiling with {work.jobs} job{'s' if work.jobs != 1 else ''}")
    _make(work, tree, [f"-j{work.jobs}", "linux"], folder, progress)
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


def _configured_tree(work: Work, folder: Path, progress: Progress) -> Path:
    """Return the folder of the unpacked, patched and configured source."""
    tree = folder / "source"
    tree.mkdir()
    progress.phase(f"unpacking {work.archive_path}")
    sources.unpack(work.archive_path, tree, work.jobs)
    progress.phase(f"applying {len(work.recipe.patches)} patches")
    sources.apply_patches(work.recipe, tree)
    progress.phase(f"configuring {len(work.recipe.options)} options")
    requested = folder / "requested.config"
    requested.write_text(canonical_text(work.recipe.options), encoding="utf-8")
    # `allnoconfig` switches off every option that no fragment names.
    _make(work, tree, [f"KCONFIG_ALLCONFIG={requested}", "allnoconfig"], folder)
    config = parse_config((tree / ".config").read_text(encoding="utf-8"))
    check_survived(work.recipe.options, config, known_symbols(tree))
    return tree


def _make(
    work: Work, tree: Path, targets: list[str], folder: Path, progress: Progress | None = None
) -> None:
    run_make(
        tree,
        targets,
        compiler=work.recipe.compiler,
        timestamp=work.recipe.timestamp,
        log=folder / LOG_FILE,
        on_step=progress.step if progress else lambda: None,
    )


def _collect(tree: Path, finished: Path) -> None:
    """Copy the files to keep from a compiled tree: the kernel without symbols, and some others."""
    run(["strip", "-o", finished / IMAGE_FILE, tree / "linux"], check=True)
    (finished / IMAGE_FILE).chmod(0o755)
    shutil.copyfile(tree / ".config", finished / "config")
    for name in _KEPT:
        if (tree / name).is_file():
            shutil.copyfile(tree / name, finished / name)
