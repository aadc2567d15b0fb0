"""Store a record as a folder that other programs can read without wanlab.

    1-bdp/
        provenance.json      the origin, the names of the parts, the format's version, the digest
        qdisc.parquet        one Parquet file per table, units in the metadata of its fields
        raw/ping.txt         unmodified outputs of the tools

Writing is atomic: the folder is written under a temporary name beside the final one, and renamed when
it is complete. The same record gives the same bytes with the same version of pyarrow, which Parquet
records in each file. Reading verifies the digest: a damaged, missing or edited part is an error.

pyarrow is imported where it is used, because importing it takes longer than many networks run.
"""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from wanlab.errors import RecordError, reason_of
from wanlab.record.provenance import Provenance, as_text, refuse_unknown
from wanlab.record.record import (
    FORMAT,
    FORMAT_KEY,
    UNIT_KEY,
    Column,
    Record,
    Table,
    check_name,
    content_digest,
)

if TYPE_CHECKING:
    import pyarrow

PARQUET_MARK = b"PAR1"
_INDEX = "provenance.json"
_INDEX_KEYS = {"format", "digest", "provenance", "tables", "raw"}


def write(record: Record, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Write a record to `folder`, completely or not at all.

    Raise RecordError if the folder exists, unless it is a record and `replace` is true.
    """
    folder = Path(folder)
    if folder.exists() and not replace:
        raise RecordError(f"{folder} already exists", "choose another name, or remove it first")
    if folder.exists() and not (folder / _INDEX).exists():
        raise RecordError(f"{folder} is not a record, so it is not replaced")
    # In the same parent folder, because a rename works within one file system only.
    unfinished = folder.with_name(f".{folder.name}.unfinished.{os.getpid()}")
    replaced = folder.with_name(f".{folder.name}.replaced.{os.getpid()}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _write_parts(record, unfinished)
        if folder.exists():
            folder.rename(replaced)
        unfinished.rename(folder)
    except OSError as error:
        raise RecordError(f"cannot write {folder}: {reason_of(error)}") from error
    finally:
        if replaced.exists() and not folder.exists():
            replaced.rename(folder)  # interrupted between the two renames
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def read(folder: str | os.PathLike[str]) -> Record:
    """Read a record; raise RecordError if a part of the folder was changed, added or removed."""
    folder = Path(folder)
    index = _read_index(folder)
    _refuse_unlisted(folder, index)
    try:
        record = Record(
            Provenance.from_data(index["provenance"]),
            {name: _read_table(_table_path(folder, name)) for name in index["tables"]},
            {name: _raw_path(folder, name).read_bytes() for name in index["raw"]},
        )
        # The digest is over the provenance as written: an older wanlab knew fewer keys.
        written = as_text(index["provenance"])
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
    with path.open("rb") as file:
        first = file.read(len(PARQUET_MARK))
        file.seek(-len(PARQUET_MARK), os.SEEK_END)
        return first == file.read() == PARQUET_MARK


def from_arrow(arrow: "pyarrow.Table") -> Table:
    """Convert a table from `Table.to_arrow` back."""
    version = (arrow.schema.metadata or {}).get(FORMAT_KEY, b"none").decode()
    if version != str(FORMAT):
        raise RecordError(f"the table has format {version}, but this wanlab reads {FORMAT}")
    unknown = [f"{field.name} ({field.type})" for field in arrow.schema if not _is_known(field)]
    if unknown:
        raise RecordError(
            f"the table has columns that format {FORMAT} does not allow: {', '.join(unknown)}"
        )
    return Table(
        tuple(
            Column(
                field.name,
                (field.metadata or {}).get(UNIT_KEY, b"").decode(),
                tuple(column.to_pylist())
                if str(field.type) == "string"
                else np.array(column.to_numpy()),
            )
            for field, column in zip(arrow.schema, arrow.columns, strict=True)
        )
    )


def _is_known(field: "pyarrow.Field") -> bool:
    return str(field.type) in ("int64", "double", "bool", "string") and not field.nullable


def write_table(table: Table, path: Path) -> None:
    """Write a table as a Parquet file; the same table gives the same bytes."""
    import pyarrow.parquet

    # Every option that affects the bytes is explicit, so that a new default cannot change them.
    pyarrow.parquet.write_table(
        table.to_arrow(),
        path,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        row_group_size=1 << 20,
        use_dictionary=True,
        write_statistics=True,
        write_page_checksum=True,
    )


def _write_parts(record: Record, folder: Path) -> None:
    folder.mkdir()
    index = {
        "format": FORMAT,
        "digest": record.digest(),
        "provenance": json.loads(record.provenance.to_json()),
        "tables": sorted(record.tables),
        "raw": sorted(record.raw),
    }
    (folder / _INDEX).write_text(as_text(index) + "\n", encoding="utf-8")
    for name, table in record.tables.items():
        write_table(table, _table_path(folder, name))
    for name, output in record.raw.items():
        path = _raw_path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(output)


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
        index = json.loads(path.read_bytes())
    except OSError as error:
        raise RecordError(
            f"{folder} is not a record: {error.strerror}: {path.name}",
            "a record is a folder that contains a provenance.json",
        ) from error
    except ValueError as error:
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
    for name in ("tables", "raw"):
        if not isinstance(index[name], list):
            raise RecordError(f'{path} is malformed: "{name}" is not a list')
    return cast("_Index", index)


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


def _read_table(path: Path) -> Table:
    import pyarrow
    import pyarrow.parquet

    try:
        # Not read_table, which interprets "a=b" in the path as a partition column.
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return from_arrow(file.read())
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # the latter in names of columns
        raise RecordError(f"{path} is damaged: {error}") from error


def _table_path(folder: Path, name: str) -> Path:
    check_name("table", name)
    return folder / f"{name}.parquet"


def _raw_path(folder: Path, name: str) -> Path:
    check_name("raw output", name)
    return folder / "raw" / name
