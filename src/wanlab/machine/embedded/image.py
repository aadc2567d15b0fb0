"""Finds the kernel's image and checks that it is complete.

The recipe in `kernel/` builds it into a folder of the user's cache that is named by the manifest's hash:

    linux            the kernel, an ordinary program
    config           its configuration; /boot/config-RELEASE in a machine
    modules.builtin  the drivers that it contains; modprobe succeeds for them
    manifest.json    its name, every input of the build, and size and SHA-256 of the files above

A kernel is chosen by its name ("6.12", "7.3", or that of a variant) or by its folder. A kernel that has
not been built is built by `first_use`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from wanlab.errors import RequirementError
from wanlab.user_cache import user_cache_folder

from ..defaults import user_default
from . import first_use

DEFAULT_KERNEL = "6.12"
"""The default of kernel/recipe.toml."""
# User-Mode Linux supports no other; see docs/project/decisions/0030-arm64.md.
ARCHITECTURE = "x86_64"
MAX_NAME_CHARACTERS = 100
SHOWN_CHARACTERS = 40
MANIFEST_FILE = "manifest.json"
SOURCE_PACKAGE = "linux-source-"
BROKER_PATCH = "hostfs-let-a-broker-change-files"
"""Part of a patch's name, without which the kernel changes files itself."""
NO_SIGNALS_PATCH = "um-signal-no-other-process"
COMPUTING_PATCH = "um-count-how-long-programs-compute"
BUILD_HINT = "build it with: wanlab kernel build"


@dataclass(frozen=True)
class Image:
    """A kernel whose files match its manifest."""

    folder: Path
    manifest_hash: str
    release: str
    name: str
    signals_children: bool = False
    """Whether the kernel ends and interrupts its other processes by signals."""
    counts_computing: bool = False
    """Whether the kernel counts how long programs compute."""

    @property
    def program(self) -> Path:
        return self.folder / "linux"

    @property
    def version(self) -> tuple[int, int]:
        """The first two numbers of the release: (6, 12) for "6.12.117-wanlab"."""
        major, minor, *_ = self.release.split("-")[0].split(".")
        return int(major), int(minor)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    def built_in(self) -> list[str]:
        """Return the names of the built-in drivers, with underscores."""
        try:
            lines = (self.folder / "modules.builtin").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return sorted(Path(line).stem.replace("-", "_") for line in lines)


def kernels_folder() -> Path:
    """Return the folder in which the recipe keeps this user's kernels."""
    return user_cache_folder() / "kernels"


def shipped_folder() -> Path:
    """Return the folder of the image that a wheel contains."""
    return Path(__file__).parent / "kernel"


def find_image(kernel: str = "") -> Image:
    """Return the kernel of that name or in that folder; "": that of WANLAB_KERNEL, or the default.

    If several images have the name, the wheel's comes first, then that of the checkout's recipe, then
    the one built last. A kernel that was named but has not been built is built now. RequirementError
    if there is no such kernel, if it is damaged, or if this computer's processor is not x86-64.
    """
    if platform.machine() != ARCHITECTURE:
        raise RequirementError(
            f"a machine needs an x86-64 processor; this computer is {platform.machine()}",
            "use a computer with one (wanlab docs limitations, Platforms)",
        )
    named = kernel or user_default().kernel
    if "/" not in named and len(named) > MAX_NAME_CHARACTERS:
        raise RequirementError(
            f'there is no kernel "{named[:SHOWN_CHARACTERS]}..."',
            f"a name has at most {MAX_NAME_CHARACTERS} characters; wanlab kernel list shows them",
        )
    if "/" in named or (Path(named) / MANIFEST_FILE).is_file():
        return load_image(Path(named).absolute())  # the kernel starts in another folder
    if (folder := _folder_of(named or DEFAULT_KERNEL)) is not None:
        return load_image(folder)
    if not named:
        raise RequirementError(f"no kernel has been built in {kernels_folder()}", BUILD_HINT)
    first_use.build(named, built_kernels())
    folder = _folder_of(named)
    if folder is None:
        raise RequirementError(f"the kernel {named} was built, but not into {kernels_folder()}")
    return load_image(folder)


def is_known(kernel: str) -> bool:
    """Return whether there is a kernel of that name, or one can be built."""
    if len(kernel) > MAX_NAME_CHARACTERS:
        return False
    return kernel in built_kernels() or first_use.can_build(kernel)


def built_kernels() -> dict[str, Path]:
    """Return a folder of each kernel that has been built, by name: the one built last."""
    return {name: folders[-1] for name, folders in _folders().items()}


def _folders() -> dict[str, list[Path]]:
    """Return the folders of each kernel by name, in the order of their builds; the wheel's is last."""
    built = kernels_folder()
    try:
        manifests = sorted(
            built.glob(f"[0-9a-f]*/{MANIFEST_FILE}"), key=lambda path: path.stat().st_mtime_ns
        )
    except OSError as error:
        raise RequirementError(f"cannot read {built}: {error.strerror}", BUILD_HINT) from None
    folders = [path.parent for path in manifests]
    if (shipped_folder() / MANIFEST_FILE).exists():
        folders.append(shipped_folder())
    of_name: dict[str, list[Path]] = {}
    for folder in folders:
        of_name.setdefault(_name_in(read_manifest(folder)), []).append(folder)
    return of_name


def _folder_of(name: str) -> Path | None:
    """Return the folder of the kernel to boot, or None.

    Two versions of wanlab can build different kernels of one name into the cache. Only the recipe
    knows which is the checkout's; it takes 0.4 s to answer, so it is asked only then.
    """
    folders = _folders().get(name, [])
    if len(folders) > 1 and folders[-1] != shipped_folder():
        recipes_own = first_use.folder_of(name)
        return recipes_own if recipes_own in folders else folders[-1]
    return folders[-1] if folders else None


def _name_in(manifest: Mapping[str, Any]) -> str:
    """Return the kernel's name. Older manifests have no name, only that of the source package."""
    if name := manifest.get("name"):
        return str(name)
    try:
        return str(manifest["inputs"]["source"]["package"]).removeprefix(SOURCE_PACKAGE)
    except (KeyError, TypeError):
        return DEFAULT_KERNEL


def load_image(folder: Path) -> Image:
    """Return the image in `folder`. RequirementError if its files do not match its manifest."""
    manifest = read_manifest(folder)
    try:
        image = Image(folder, str(manifest["hash"]), str(manifest["release"]), _name_in(manifest))
        files = {
            str(name): (int(entry["size_bytes"]), str(entry["sha256"]))
            for name, entry in manifest["files"].items()
        }
        patches = " ".join(str(patch["file"]) for patch in manifest["patches"])
    except KeyError as error:
        raise RequirementError(f"{folder}/manifest.json lacks {error}", BUILD_HINT) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise RequirementError(f"{folder}/manifest.json is damaged: {error}", BUILD_HINT) from None
    if BROKER_PATCH not in patches:
        raise RequirementError(
            f"the kernel in {folder} was built by an older wanlab and cannot be confined",
            BUILD_HINT,
        )
    for name, (size_bytes, sha256) in files.items():
        _verify(folder / name, size_bytes, sha256)
    return replace(
        image,
        signals_children=NO_SIGNALS_PATCH not in patches,
        counts_computing=COMPUTING_PATCH in patches,
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest in a kernel's folder. RequirementError if it is missing or damaged."""
    path = folder / MANIFEST_FILE
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequirementError(f"cannot read {path}: {error.strerror}", BUILD_HINT) from None
    except ValueError as error:
        raise RequirementError(f"{path} is damaged: {error}", BUILD_HINT) from None
    if not isinstance(manifest, dict):
        raise RequirementError(f"{path} is damaged: not a JSON object", BUILD_HINT)
    return manifest


@cache
def _digest(path: Path, identity: tuple[int, ...]) -> str:
    """Return a file's SHA-256, computed once per process.

    For a kernel it takes 10 to 50 ms, a tenth of the start of a machine. Any change of the file changes
    its `identity`: device, inode and times.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _verify(path: Path, size_bytes: int, sha256: str) -> None:
    """Raise RequirementError if a file's size or SHA-256 differs."""
    try:
        status = path.stat()
        if status.st_size != size_bytes:
            raise RequirementError(
                f"{path} is damaged: it has {status.st_size} of {size_bytes} bytes", BUILD_HINT
            )
        identity = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        digest = _digest(path, identity)
    except OSError as error:
        raise RequirementError(f"cannot read {path}: {error.strerror}", BUILD_HINT) from None
    if digest != sha256:
        raise RequirementError(f"{path} is damaged: its SHA-256 is not the manifest's", BUILD_HINT)
