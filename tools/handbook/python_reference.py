"""The directives that make mkdocstrings show every public name of a module."""

from __future__ import annotations

import importlib

MODULES = (
    "wanlab.network",
    "wanlab.topology",
    "wanlab.topology.shapes",
    "wanlab.measure",
    "wanlab.experiments",
    "wanlab.record",
    "wanlab.plot",
    "wanlab.errors",
    "wanlab.units",
)


def public_names(module: str) -> list[str]:
    """Return the names that a module offers."""
    loaded = importlib.import_module(module)
    if module == "wanlab.topology.shapes":
        return [*loaded.SHAPES, "from_text", "sizes_of"]
    names = getattr(loaded, "__all__", None)
    if names is None:
        names = [name for name in vars(loaded) if _is_own(loaded, name)]
    return [name for name in names if not name.startswith("_")]


def _is_own(module: object, name: str) -> bool:
    return getattr(vars(module)[name], "__module__", "") == getattr(module, "__name__", None)


def directives(module: str) -> str:
    """Return a directive for each public name."""
    return "\n\n".join(f"::: {module}.{name}" for name in public_names(module))
