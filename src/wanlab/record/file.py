"""Store a record as a folder that other programs can read without wanlab.

    1-bdp/
        provenance.json      the origin, the names of the parts, the format's version, the digest
        qdisc.parquet        one Parquet file per table, units in the metadata of its fields
        raw/ping.txt         unmodified outputs of the tools

Writing is atomic: the folder is written under a temporary name beside the final one, and renamed when
it is complete. The same record gives the same bytes with the same version of pyarrow, which Parquet
records in each file. Reading verifies the digest: a damaged, missing or edited part is an error.
"""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict

import msgspec

from wanlab.errors import InputError, RecordError, reason_of
from wanlab.json_text import PLAIN, decode_json, problem_of
from wanlab.record.parquet import Allowance, read_table, write_table
from wanlab.record.provenance import Provenance, as_text, refuse_unknown, without_mode
from wanlab.record.record import (
    FORMAT,
    Record,
    Table,
    check_name,
    content_digest,
)
from wanlab.shared_folder import HERE, SharedFolder, UnsafeFileError, output_folder

if TYPE_CHECKING:
    pass

PARQUET_MARK = b"PAR1"
MAX_INDEX_BYTES = 64 << 20
MAX_BYTES = 400 << 20
"""Of memory, for the tables and raw outputs of a record that is read."""
_INDEX = "provenance.json"
_INDEX_KEYS = {"format", "digest", "provenance", "tables", "raw"}


def write(
    record: Record,
    folder: str | os.PathLike[str],
    *,
    replace: bool = False,
    working_folder: Path = HERE,
) -> None:
    """Write a record to `folder`, completely or not at all.

    Programs in a network that runs meanwhile can write `working_folder`. Raise RecordError if the
    folder exists, unless it is a record and `replace` is true.
    """
    path = Path(folder)
    above, name = output_folder(path.parent, working_folder), path.name
    # In the same parent folder, because a rename works within one file system only.
    unfinished, replaced = (f".{name}.{word}.{os.getpid()}" for word in ("unfinished", "replaced"))
    try:
        if above.exists(name) and not replace:
            raise RecordError(f"{path} already exists", "choose another name, or remove it first")
        if above.exists(name) and not above.exists(f"{name}/{_INDEX}"):
            raise RecordError(f"{path} is not a record, so it is not replaced")
        try:
            _write_parts(record, above.subfolder(unfinished))
            if above.exists(name):
                above.rename(name, replaced)
            above.rename(unfinished, name)
        finally:
            if above.exists(replaced) and not above.exists(name):
                above.rename(replaced, name)  # interrupted between the two renames
            for rest in (unfinished, replaced):
                if above.exists(rest):
                    above.remove_tree(rest)
    except UnsafeFileError as error:
        raise RecordError(error.what, error.hint) from error
    except OSError as error:
        raise RecordError(f"cannot write {path}: {reason_of(error)}") from error


def read(folder: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Record:
    """Read a record; raise RecordError if a part of the folder was changed, added or removed.

    A record that needs more than `max_bytes` of memory is refused: a small file can claim billions of
    values.
    """
    folder = Path(folder)
    index = _read_index(folder)
    _refuse_unlisted(folder, index)
    allowance = Allowance(folder, max_bytes)
    try:
        record = Record(
            Provenance.from_data(index["provenance"]),
            {name: _table(_table_path(folder, name), allowance) for name in index["tables"]},
            _read_raw(folder, index["raw"], allowance),
        )
        # The digest is over the provenance as written: an older wanlab knew fewer keys.
        written = as_text(without_mode(index["provenance"]))
    except (KeyError, TypeError) as error:
        raise RecordError(f"{folder / _INDEX} is malformed: {error!r}") from error
    except OSError as error:
        raise RecordError(f"cannot read {folder}: {reason_of(error)}") from error
    if content_digest(written, record.tables, record.raw) != index["digest"]:
        raise RecordError(
            f"{folder} has changed since it was written: its digest differs",
            "a part was damaged or edited; the raw outputs may still be usable",
        )
    return record


def is_complete(folder: Path) -> bool:
    """Whether all parts of a record exist and none was cut short. `read` checks more, but is slower."""
    try:
        index = _read_index(folder)
        return all(_is_parquet(_table_path(folder, name)) for name in index["tables"]) and all(
            _raw_path(folder, name).is_file() for name in index["raw"]
        )
    except (RecordError, OSError, TypeError):
        return False


def _is_parquet(path: Path) -> bool:
    """Whether a file begins and ends with the four bytes that mark a whole Parquet file."""
    with _opened(path) as file:
        first = file.read(len(PARQUET_MARK))
        file.seek(-len(PARQUET_MARK), os.SEEK_END)
        return first == file.read() == PARQUET_MARK


def _write_parts(record: Record, folder: SharedFolder) -> None:
    index = {
        "format": FORMAT,
        "digest": record.digest(),
        "provenance": json.loads(record.provenance.to_json()),
        "tables": sorted(record.tables),
        "raw": sorted(record.raw),
    }
    folder.write(_INDEX, f"{as_text(index)}\n".encode())
    for name, table in record.tables.items():
        with folder.create(str(_table_path(HERE, name))) as file:
            write_table(table, file)
    for name, output in record.raw.items():
        folder.write(str(_raw_path(HERE, name)), output)


class _Index(TypedDict):
    """The content of provenance.json."""

    format: int
    digest: str
    provenance: dict[str, object]
    tables: list[str]
    raw: list[str]


def _read_index(folder: Path) -> _Index:
    path = folder / _INDEX
    try:
        with _opened(path) as file:
            index = decode_json(file.read(MAX_INDEX_BYTES), PLAIN)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise RecordError(
            f"{folder} is not a record: {reason_of(error)}: {path.name}",
            "a record is a folder that contains a provenance.json",
        ) from error
    except InputError as error:
        raise RecordError(f"{path} is damaged: {error}") from error
    if not isinstance(index, dict) or "format" not in index:
        raise RecordError(f"{path} does not name the record's format")
    if index["format"] != FORMAT:
        raise RecordError(
            f"{folder} has format {index['format']}, but this wanlab reads {FORMAT}",
            "read it with the version of wanlab that its provenance.json names",
        )
    refuse_unknown(str(path), index, _INDEX_KEYS)
    if missing := sorted(_INDEX_KEYS - index.keys()):
        raise RecordError(f"{path} is damaged: it lacks {', '.join(missing)}")
    try:
        return msgspec.convert(index, _Index)
    except msgspec.ValidationError as error:
        raise RecordError(f"{path} is malformed: {problem_of(error)}") from None


def _read_raw(folder: Path, names: Iterable[str], allowance: Allowance) -> dict[str, bytes]:
    """Return the raw outputs. RecordError for a link, a device, or too much data."""
    raw: dict[str, bytes] = {}
    for name in names:
        path = _raw_path(folder, name)
        with _opened(path) as file:
            raw[name] = file.read(allowance.left_bytes + 1)
        allowance.take(len(raw[name]))
    return raw


def _opened(path: Path) -> BinaryIO:
    """Open a part of a record. RecordError if it is a device; OSError if it is a link.

    A link may lead to a file that is not part of the record, or to a device without end.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise RecordError(f"{path} is not a file")
    return file


def _refuse_unlisted(folder: Path, index: _Index) -> None:
    """Raise RecordError for tables and raw outputs that the index does not list."""
    unlisted = {path.stem for path in folder.glob("*.parquet")} - set(map(str, index["tables"]))
    unlisted |= {f"raw/{path.name}" for path in folder.glob("raw/*")} - {
        f"raw/{name}" for name in index["raw"]
    }
    if unlisted:
        raise RecordError(
            f"{folder} has parts that its {_INDEX} does not list: {', '.join(sorted(unlisted))}",
            "they are not part of the record: move them elsewhere",
        )


def _table(path: Path, allowance: Allowance) -> Table:
    with _opened(path) as file:
        return read_table(file, path, allowance)


def _table_path(folder: Path, name: str) -> Path:
    check_name("table", name)
    return folder / f"{name}.parquet"


def _raw_path(folder: Path, name: str) -> Path:
    check_name("raw output", name)
    return folder / "raw" / name
