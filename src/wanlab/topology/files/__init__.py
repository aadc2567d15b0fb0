"""Topologies in files, one format per file: MiniEdit's `.mn` and our own YAML."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from wanlab.errors import Problem, TopologyError, WanlabError
from wanlab.topology.model import Topology
from wanlab.topology.references import seen_from

# Modules here, loaded when first used: a start of the command line must not wait for all formats.
FORMATS = {".mn": "mn", ".json": "mn", ".yaml": "yaml", ".yml": "yaml"}
WRITTEN = {**FORMATS, ".py": "mininet_script", ".svg": "picture"}
"""Some are written only: a program in Mininet's words, a picture."""


def load(path: str | Path) -> Topology:
    """The topology in a file; TopologyError with everything that is wrong in it."""
    path = Path(path)
    form = _format_of(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        problem = Problem(f"byte {error.start}", "this is not UTF-8 text", "is it a topology?")
        raise TopologyError([problem], str(path)) from None
    topology: Topology = form.load(text, str(path))
    return topology


def loads(text: str, name: str) -> Topology:
    """The topology of a text, which is that of a file of this name."""
    topology: Topology = _format_of(Path(name)).load(text, name)
    return topology


def dumps(topology: Topology, name: str) -> str:
    """The text of a topology in the format that the ending of a file's name calls for."""
    text: str = _format_of(Path(name), WRITTEN).dump(topology)
    return text


def save(topology: Topology, path: str | Path) -> None:
    """Writes a topology in the format that the path's ending names."""
    path = Path(path)
    text = _format_of(path).dump(seen_from(topology, path.parent))
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None


def _format_of(path: Path, formats: Mapping[str, str] = FORMATS) -> ModuleType:
    try:
        return import_module(f"{__name__}.{formats[path.suffix.lower()]}")
    except KeyError:
        known = ", ".join(formats)
        raise WanlabError(
            f"{path} is not a known kind of topology", f"it may end in {known}"
        ) from None
