"""Write and read the tables of a record as Parquet files.

A file that somebody else wrote may claim anything: a few bytes of compressed data become any number
of rows, and one text of a dictionary may stand in every row. So a table is read in batches, each value
is in memory once, and all of it counts against an allowance.

pyarrow is imported where it is used, because importing it takes longer than many networks run.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wanlab.errors import RecordError
from wanlab.record.record import FORMAT, FORMAT_KEY, UNIT_KEY, Column, Table, Values

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

NUMBERS = {"int64": np.int64, "double": np.float64, "bool": np.bool_}
VALUE_BYTES = 8
REFERENCE_BYTES = 16
"""Of a value that is a text: it is in a list, and then in a tuple."""
TEXT_BYTES = 200
"""Of a text in memory, besides its characters, with its entries in the tables that find it."""
TEXT_COPIES = 8
"""The memory for the texts of a column, for each byte of them in the file: its pages, pyarrow's texts
and the tables in which it finds equal ones, and Python's texts."""
MIN_BATCH_ROWS = 1 << 16
MAX_BATCHES = 16
"""Each batch has a copy of the column's dictionary."""
BUFFER_BYTES = 1 << 20


class Allowance:
    """The memory that the parts of a record may still take."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = self.left_bytes = max_bytes

    def take(self, needed_bytes: int) -> None:
        """Account for more memory. RecordError if it is more than is left.

        A negative number, as in a damaged file, counts as 0.
        """
        self.left_bytes -= max(0, needed_bytes)
        if self.left_bytes < 0:
            raise RecordError(
                f"{self._folder} needs more than {self._max_bytes >> 20} MiB of memory",
                "if you trust it: wanlab.record.read(FOLDER, max_bytes=4 << 30)",
            )


def write_table(table: Table, path: Path | BinaryIO) -> None:
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


def read_table(source: BinaryIO, path: Path, allowance: Allowance) -> Table:
    """Read a table from an open file; `path` names it in errors.

    Raise RecordError if the file is damaged, or the table needs more memory than is allowed.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        # Not read_table, which interprets "a=b" in the path as a partition column.
        with pyarrow.parquet.ParquetFile(source) as file:
            schema, metadata = file.schema_arrow, file.metadata
            _check_schema(schema)
            _take_claims(schema, metadata, allowance)
            source.seek(0)
            with pyarrow.parquet.ParquetFile(
                source,
                page_checksum_verification=True,
                pre_buffer=False,
                buffer_size=BUFFER_BYTES,
                read_dictionary=[field.name for field in schema if _is_text(field)],
            ) as table:
                return _Columns(schema, metadata.num_rows, allowance).read(table)
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # the latter in names of columns
        raise RecordError(f"{path} is damaged: {error}") from error


def _check_schema(schema: "pyarrow.Schema") -> None:
    """Raise RecordError for a table of another format."""
    version = (schema.metadata or {}).get(FORMAT_KEY, b"none").decode()
    if version != str(FORMAT):
        raise RecordError(f"the table has format {version}, but this wanlab reads {FORMAT}")
    unknown = [f"{field.name} ({field.type})" for field in schema if not _is_known(field)]
    if unknown:
        raise RecordError(
            f"the table has columns that format {FORMAT} does not allow: {', '.join(unknown)}"
        )


def _column(field: "pyarrow.Field", values: Values) -> Column:
    return Column(field.name, (field.metadata or {}).get(UNIT_KEY, b"").decode(), values)


def _is_known(field: "pyarrow.Field") -> bool:
    return (str(field.type) in NUMBERS or _is_text(field)) and not field.nullable


def _is_text(field: "pyarrow.Field") -> bool:
    return str(field.type) == "string"


def _take_claims(
    schema: "pyarrow.Schema", metadata: "pyarrow.parquet.FileMetaData", allowance: Allowance
) -> None:
    """Account for what a file says about itself, before any of it is read."""
    for number, field in enumerate(schema):
        allowance.take(metadata.num_rows * (REFERENCE_BYTES if _is_text(field) else VALUE_BYTES))
        if _is_text(field):
            for group in range(metadata.num_row_groups):
                column = metadata.row_group(group).column(number)
                allowance.take(TEXT_COPIES * column.total_uncompressed_size)


class _Columns:
    """The values of a table that is read in batches."""

    def __init__(self, schema: "pyarrow.Schema", rows: int, allowance: Allowance) -> None:
        self._schema = schema
        self._rows = max(0, rows)  # a damaged file may claim less than none
        self._batch_rows = max(MIN_BATCH_ROWS, self._rows // MAX_BATCHES)
        self._columns: list[_Texts | NDArray[Any]] = [
            _Texts(allowance) if _is_text(field) else np.empty(self._rows, NUMBERS[str(field.type)])
            for field in schema
        ]

    def read(self, file: "pyarrow.parquet.ParquetFile") -> Table:
        import pyarrow

        start = 0
        for batch in file.iter_batches(self._batch_rows, use_threads=False):
            self._add(start, batch)
            start += batch.num_rows
        if start != self._rows:
            raise pyarrow.ArrowInvalid(f"it has {start} of {self._rows} rows")
        return Table(
            tuple(
                _column(field, values.all() if isinstance(values, _Texts) else values)
                for field, values in zip(self._schema, self._columns, strict=True)
            )
        )

    def _add(self, start: int, batch: "pyarrow.RecordBatch") -> None:
        import pyarrow

        end = start + batch.num_rows
        if end > self._rows or any(array.null_count for array in batch.columns):
            raise pyarrow.ArrowInvalid("rows or values do not fit its description")
        for values, array in zip(self._columns, batch.columns, strict=True):
            if isinstance(values, _Texts):
                values.add(array)
            else:
                values[start:end] = array.to_numpy(zero_copy_only=False)


class _Texts:
    """The values of a column of texts; equal texts are one object."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._values: list[str] = []
        self._known: dict[str, str] = {}
        self._dictionary: pyarrow.Array | None = None
        self._texts: list[str] = []
        """The texts of the dictionary, by index."""

    def add(self, array: "pyarrow.DictionaryArray") -> None:
        if self._dictionary is None or not array.dictionary.equals(self._dictionary):
            self._dictionary = array.dictionary
            self._texts = []
            for start in range(0, len(array.dictionary), MIN_BATCH_ROWS):
                part = array.dictionary.slice(start, MIN_BATCH_ROWS).to_pylist()
                self._texts += [self._shared(text) for text in part]
        texts = self._texts
        for start in range(0, len(array), MIN_BATCH_ROWS):
            indices = array.indices.slice(start, MIN_BATCH_ROWS).to_pylist()
            self._values += [texts[index] for index in indices]

    def _shared(self, text: str) -> str:
        if text not in self._known:
            self._allowance.take(TEXT_BYTES)
            self._known[text] = text
        return self._known[text]

    def all(self) -> tuple[str, ...]:
        return tuple(self._values)
