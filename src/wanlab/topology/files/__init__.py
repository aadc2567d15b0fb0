"""Read and write topology files: MiniEdit's `.mn` and our own YAML, one module per format."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from wanlab.errors import Problem, TopologyError, WanlabError
from wanlab.input_file import read_input
from wanlab.shared_folder import file_error, write_output
from wanlab.topology.file_names import program_by_name
from wanlab.topology.large_inputs import reading_topology
from wanlab.topology.model import Topology
from wanlab.topology.references import seen_from

# Modules of this package, imported on first use to keep the command line's start fast.
FORMATS = {".mn": "mn", ".json": "mn", ".yaml": "yaml", ".yml": "yaml"}
TEXTS = {**FORMATS, ".py": "mininet_script", ".svg": "svg"}
WRITTEN = {**TEXTS, ".pdf": "pdf"}
"""The formats that can be written. A Mininet program and a picture cannot be read back."""


def load(path: str | Path) -> Topology:
    """Return the topology in a file; raise TopologyError with all of its problems."""
    path = Path(path)
    _format_of(path)  # before it is read
    return load_content(read_input(path), path)


@reading_topology()
def load_content(data: bytes, path: Path) -> Topology:
    """Return the topology in the content of a file, as `load` does."""
    form = _format_of(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(f"byte {error.start}", "this is not UTF-8 text", "is it a topology?")
        raise TopologyError([problem], str(path)) from None
    topology: Topology = form.load(text, str(path))
    return topology


@reading_topology()
def loads(text: str, name: str) -> Topology:
    """Return the topology of a text; the ending of `name` determines the format."""
    topology: Topology = _format_of(Path(name)).load(text, name)
    return topology


def dumps(topology: Topology, name: str) -> str:
    """Return the text of a topology; the ending of `name` determines the format."""
    text: str = _format_of(Path(name), TEXTS).dump(topology)
    return text


def encoded(topology: Topology, name: str, formats: Mapping[str, str] = WRITTEN) -> bytes:
    """Return the content of a topology's file; the ending of `name` determines the format, one of
    `formats`."""
    content: str | bytes = _format_of(Path(name), formats).dump(topology)
    return content.encode() if isinstance(content, str) else content


def file_content(topology: Topology, path: Path, formats: Mapping[str, str] = WRITTEN) -> bytes:
    """Return what `save` writes to a file: files that the topology names are seen from there."""
    return encoded(seen_from(topology, path.parent), str(path), formats)


def save(topology: Topology, path: str | Path, formats: Mapping[str, str] = WRITTEN) -> None:
    """Write a topology to a file; the path's ending determines the format, one of `formats`."""
    path = Path(path)
    content = file_content(topology, path, formats)
    try:
        write_output(path, content)
    except OSError as error:
        raise file_error("write", path, error) from None


def _format_of(path: Path, formats: Mapping[str, str] = FORMATS) -> ModuleType:
    if formats is FORMATS and program_by_name(path.name):
        raise WanlabError(
            f"{path} is another program's topology", f"convert it first: wanlab import {path}"
        )
    try:
        return import_module(f"{__name__}.{formats[path.suffix.lower()]}")
    except KeyError:
        known = ", ".join(formats)
        raise WanlabError(
            f"{path} is not in a known topology format", f"its name must end in one of: {known}"
        ) from None
