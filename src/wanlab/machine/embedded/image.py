"""The kernel's image: where it is, and that it is whole.

The recipe in `kernel/` builds it into a folder of the user's cache that is named by the manifest's hash:

    linux            the kernel, an ordinary program
    config           what it was configured with; shown as /boot/config-RELEASE
    modules.builtin  what a kernel with modules would load
    manifest.json    every input, and size and SHA-256 of the files above

All that wanlab knows of the recipe is this folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wanlab.errors import RequirementError

IMAGE_VARIABLE = "WANLAB_KERNEL"
BUILD_HINT = "build it with: wanlab kernel build"


@dataclass(frozen=True)
class Image:
    """A kernel that was found and is whole."""

    folder: Path
    manifest_hash: str
    release: str

    @property
    def program(self) -> Path:
        return self.folder / "linux"

    @property
    def config(self) -> Path:
        return self.folder / "config"

    def built_in(self) -> list[str]:
        """Names that `modprobe` finds, with underscores."""
        try:
            lines = (self.folder / "modules.builtin").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return sorted(Path(line).stem.replace("-", "_") for line in lines)


def cache_folder() -> Path:
    """Where the recipe keeps this user's kernels."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "wanlab" / "kernels"


def shipped_folder() -> Path:
    """Where a wheel carries its ready image."""
    return Path(__file__).parent / "kernel"


def find_image() -> Image:
    """The kernel to boot: the one WANLAB_KERNEL names, the wheel's, or the one built last.

    RequirementError if there is none or it is damaged.
    """
    named = os.environ.get(IMAGE_VARIABLE)
    if named:
        return load_image(Path(named))
    if (shipped_folder() / "manifest.json").exists():
        return load_image(shipped_folder())
    built = cache_folder()
    try:
        manifests = {
            path: path.stat().st_mtime_ns for path in built.glob("[0-9a-f]*/manifest.json")
        }
    except OSError as error:
        raise RequirementError(f"cannot read {built}: {error.strerror}", BUILD_HINT) from None
    if not manifests:
        raise RequirementError(f"no kernel has been built in {built}", BUILD_HINT)
    return load_image(max(manifests, key=lambda path: manifests[path]).parent)


def load_image(folder: Path) -> Image:
    """The image in `folder`, its files compared with its manifest."""
    manifest = read_manifest(folder)
    try:
        image = Image(folder, str(manifest["hash"]), str(manifest["release"]))
        files = {
            str(name): (int(said["size_bytes"]), str(said["sha256"]))
            for name, said in manifest["files"].items()
        }
    except KeyError as error:
        raise RequirementError(f"{folder}/manifest.json lacks {error}", BUILD_HINT) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise RequirementError(f"{folder}/manifest.json is damaged: {error}", BUILD_HINT) from None
    for name, (size_bytes, sha256) in files.items():
        _verify(folder / name, size_bytes, sha256)
    return image


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequirementError(f"cannot read {path}: {error.strerror}", BUILD_HINT) from None
    except ValueError as error:
        raise RequirementError(f"{path} is damaged: {error}", BUILD_HINT) from None
    if not isinstance(manifest, dict):
        raise RequirementError(f"{path} is damaged: it is no object", BUILD_HINT)
    return manifest


def _verify(path: Path, size_bytes: int, sha256: str) -> None:
    """Size and hash; the latter takes 10 ms."""
    try:
        size = path.stat().st_size
        if size != size_bytes:
            raise RequirementError(
                f"{path} is damaged: it has {size} of {size_bytes} bytes", BUILD_HINT
            )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RequirementError(f"cannot read {path}: {error.strerror}", BUILD_HINT) from None
    if digest != sha256:
        raise RequirementError(f"{path} is damaged: its SHA-256 is not the manifest's", BUILD_HINT)
