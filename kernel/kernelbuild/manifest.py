"""The manifest: every input of a kernel, and one hash of all inputs, which names the kernel.

Two builds with the same hash are the same kernel. Records store the hash, so that a result can be
traced to its kernel. Comments in fragments are not inputs.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import BuildError
from .fragments import canonical_text
from .programs import run
from .recipe import Archive, Recipe

# Increase it when a change of the build program changes its result.
BUILDER_VERSION = 1
STATIC_LIBRARY = "libc.a"


def machine_architecture() -> str:
    """Return the processor's architecture; raise BuildError unless User-Mode Linux supports it."""
    name = platform.machine()
    if name != "x86_64":
        hint = 'User-Mode Linux runs on x86-64 only; use machine="native" here'
        raise BuildError(f"this computer is {name}", hint)
    return name


def tool_versions(compiler: str) -> dict[str, str]:
    """Return the first line of the compiler's and the linker's version, and the C library's hash.

    The kernel is linked statically, so it contains parts of the C library.
    """
    versions = {name: _first_line([name, "--version"]) for name in (compiler, "ld")}
    library = Path(_first_line([compiler, f"-print-file-name={STATIC_LIBRARY}"]))
    if not library.is_absolute():
        raise BuildError(
            f"the kernel is linked statically, but {STATIC_LIBRARY} is not installed",
            "Debian and Ubuntu: it is part of libc6-dev; Fedora: install glibc-static",
        )
    return versions | {STATIC_LIBRARY: hashlib.sha256(library.read_bytes()).hexdigest()}


def _first_line(command: Sequence[str]) -> str:
    try:
        done = run(command, capture_output=True, text=True, check=True, env=None)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"`{' '.join(command)}` does not run: {error}") from None
    return str(done.stdout).partition("\n")[0].strip()


def inputs(
    recipe: Recipe, archive: Archive, tools: Mapping[str, str], machine: str
) -> dict[str, Any]:
    """Return everything that determines the kernel, in a form that can be stored as JSON."""
    variant = {"variant": {"name": recipe.name, "base": recipe.base}} if recipe.is_variant else {}
    return variant | {
        "builder": BUILDER_VERSION,
        "machine": machine,
        "source": {"package": recipe.package, "version": archive.version, "sha256": archive.sha256},
        "timestamp": recipe.timestamp,
        "patches": [{"file": patch.file, "sha256": patch.sha256} for patch in recipe.patches],
        "options_sha256": hashlib.sha256(canonical_text(recipe.options).encode()).hexdigest(),
        "tools": dict(tools),
    }


def manifest_hash(manifest_inputs: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the inputs in canonical form."""
    text = json.dumps(manifest_inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
