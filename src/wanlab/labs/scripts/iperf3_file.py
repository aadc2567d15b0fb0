"""Read a file that a student has made with `iperf3 ... -J > out.json`; explain what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from wanlab import iperf3
from wanlab.errors import WanlabError

HINT = "make it with: iperf3 -c SERVER -J > {name}"


def read(name: str) -> iperf3.Iperf3:
    """Read one run of iperf3; raise WanlabError, with the file's name, if it is incomplete."""
    path = Path(name)
    hint = HINT.format(name=path.name)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise WanlabError(f"{name}: there is no such file", _files_beside(path) or hint) from None
    except IsADirectoryError:
        raise WanlabError(f"{name} is a folder, not a report of iperf3", hint) from None
    if not content.strip():
        raise WanlabError(
            f"{name} is empty: iperf3 has not ended yet, or has not measured anything", hint
        )
    if not content.lstrip().startswith(b"{"):
        first = content.decode(errors="replace").strip().splitlines()[0]
        raise WanlabError(f"{name} is not JSON from iperf3; it begins with: {first[:60]}", hint)
    try:
        return iperf3.parse(content)
    except WanlabError as error:
        if not content.rstrip().endswith(b"}"):
            raise WanlabError(
                f"{name} is cut off in the middle: iperf3 has not ended yet, or was killed", hint
            ) from None
        raise WanlabError(f"{name}: {error.what}", error.hint) from None


def _files_beside(path: Path) -> str:
    try:
        names = sorted(other.name for other in path.parent.iterdir() if other.suffix == ".json")
    except OSError:
        return f"there is no folder {path.parent} either"
    return f"there is {', '.join(names)}" if names else ""
