"""Topologies on the command line: a file or a shape."""

from __future__ import annotations

from pathlib import Path

from wanlab import Topology, load, save, shapes
from wanlab.plan import plan_script
from wanlab.shared_folder import file_error, write_output
from wanlab.topology.file_names import FOREIGN, GNS3
from wanlab.topology.files import FORMATS

FILE_SUFFIXES = (*FORMATS, *FOREIGN[GNS3])


def read(text: str) -> Topology:
    """Read a file, if the text looks like a file name or the file exists; otherwise a shape."""
    return load(text) if is_file(text) else shapes.from_text(text)


def is_file(text: str) -> bool:
    """Tell a file from a shape; no shape has a dot or a slash in its name."""
    name = text.partition(",")[0]
    return text.endswith(FILE_SUFFIXES) or "." in name or "/" in name or Path(text).exists()


def script(text: str, wire: str) -> str:
    return plan_script(read(text), wire=wire)  # type: ignore[arg-type]


def write(text: str, wire: str, path: Path) -> None:
    """Write a topology to a file: as a script (.sh), or in the format that its ending names."""
    if path.suffix != ".sh":
        save(read(text), path)
        return
    content = script(text, wire)
    try:
        write_output(path, content)
    except OSError as error:
        raise file_error("write", path, error) from None
