"""The inputs of `wanlab plot`: records, folders of records, the JSON of iperf3, and Flent's data files.

1-bdp/                  a record
results/lab14-seed1/    a folder of records: 1-bdp, 10-bdp, 100-mtu
out.json                what iperf3 -J or --json-stream printed
rrul.flent.gz           what Flent wrote
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wanlab import Record, __version__, iperf3, record
from wanlab.errors import RecordError, WanlabError, did_you_mean
from wanlab.measure import flent

INDEX = "provenance.json"
MAX_DEPTH = 4
"""A sweep's records are in results/NAME/runs/RUN/record."""
MAX_NAMED = 8


def read(paths: Sequence[str], *, all_inside: bool = False) -> dict[str, Record]:
    """Return the records that `paths` name, each under the shortest unique end of its path.

    A folder that contains one record stands for that record. If it contains several, `all_inside`
    reads all of them; without it, WanlabError is raised.
    """
    expanded = [path for text in paths for path in _expanded(Path(text), all_inside=all_inside)]
    resolved = [path.resolve() for path in expanded]
    if len(set(resolved)) < len(resolved):
        raise WanlabError("the same record is named twice; leave one out")
    names = [_parts(path) for path in resolved]
    depth = 1
    while len({name[-depth:] for name in names}) < len(names):
        depth += 1
    return {
        "-".join(name[-depth:]): _read(path) for path, name in zip(expanded, names, strict=True)
    }


def records_in(folder: Path) -> list[Path]:
    """Return the records in a folder, at most four levels below it, in order."""
    return sorted(_find(folder, MAX_DEPTH))


def _find(folder: Path, depth: int) -> Iterator[Path]:
    for path in folder.iterdir():
        if not path.is_dir() or path.name.startswith("."):
            continue
        if (path / INDEX).exists():
            yield path
        elif depth > 1:
            yield from _find(path, depth - 1)


def _expanded(path: Path, *, all_inside: bool) -> list[Path]:
    """Return the path of a record or file itself, or the records in any other folder."""
    if not path.exists():
        raise WanlabError(f"{path} does not exist", _nearest(path))
    if not path.is_dir() or (path / INDEX).exists():
        return [path]
    inside = records_in(path)
    if not inside:
        raise RecordError(
            f"there is no record in {path}", f"a record is a folder that contains a {INDEX}"
        )
    if len(inside) > 1 and not all_inside:
        named = ", ".join(str(each.relative_to(path)) for each in inside[:MAX_NAMED])
        more = f" and {len(inside) - MAX_NAMED} more" if len(inside) > MAX_NAMED else ""
        raise WanlabError(
            f"{path} holds {len(inside)} records: {named}{more}",
            f"choose one, as in {inside[0]}, or draw all of them side by side with --columns",
        )
    return inside


def _nearest(path: Path) -> str:
    """Return a hint for a path that does not exist."""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    beside = [
        other.name for other in path.parent.iterdir() if other.is_dir() or other.suffix == ".json"
    ]
    hint = did_you_mean(path.name, beside)
    return hint if hint.startswith("did") else ""


def _parts(path: Path) -> tuple[str, ...]:
    """Return the parts of a path that name a record; a file counts without its suffix."""
    return (*path.parts[:-1], path.stem) if path.is_file() else path.parts


def _read(path: Path) -> Record:
    if not path.is_file():
        return record.read(path)
    try:
        output = path.read_bytes()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    if path.name == INDEX:
        raise WanlabError(f"{path} is a part of a record", f"draw the folder: {path.parent}")
    return _of_flent(path, output) if flent.is_flent(output) else _of_iperf3(path, output)


def _of_flent(path: Path, output: bytes) -> Record:
    """Return the series of a Flent test as a record whose provenance has only versions."""
    try:
        test = flent.parse(output)
    except WanlabError as error:
        raise WanlabError(f"{path}: {error.what}", error.hint) from None
    return Record(
        record.Provenance(wanlab=__version__, tools={"flent": test.version}), test.tables, {}
    )


def _of_iperf3(path: Path, output: bytes) -> Record:
    """Return the intervals of an iperf3 test as a record whose provenance has only versions."""
    try:
        test = iperf3.joined(iperf3.parse_all(output))
    except WanlabError as error:
        if error.what.startswith("iperf3 failed"):
            raise WanlabError(f"{path}: {error.what}") from None
        raise WanlabError(
            f"{path} is neither a record nor the output of iperf3 -J or Flent",
            error.what,
        ) from None
    warnings = (f"iperf3 ended with an error: {test.error}",) if test.error else ()
    origin = record.Provenance(
        wanlab=__version__, tools={"iperf3": test.version}, warnings=warnings
    )
    return Record(origin, {"iperf3": test.table()}, {})
