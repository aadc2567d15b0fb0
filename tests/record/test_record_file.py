import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import RecordError
from wanlab.record import Provenance, Record, Table, read, write
from wanlab.record.file import is_complete
from wanlab.record.parquet import Allowance, read_table
from wanlab.record.provenance import as_text, without_mode
from wanlab.record.record import FORMAT, content_digest
from wanlab.shared_folder import SharedFolder

RECORD = Record(
    Provenance(wanlab="0.1.0", seed=1, warnings=("look at this",), parameters={"limit": 2}),
    {
        "qdisc": Table.of(
            {
                "time_ns": np.arange(1000) * 10_000_000,
                "device": ["s1-eth2", "s1-eth3"] * 500,
                "rtt_ms": np.where(np.arange(1000) % 3, 20.5, np.nan),
                "full": np.arange(1000) % 2 == 0,
            }
        ),
        "empty": Table(),
        "no-rows": Table.of({"device": ["x"]}).where(device="y"),
    },
    {"ping.txt": b"PING \xff\x00"},
)


WRONG = '{"format": 1, "tables": 3, "raw": [], "digest": "", "provenance": {}}'


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_record_is_read_back_unchanged(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "run=1")  # the "=" must not be mistaken for a partition's name
    assert read(tmp_path / "run=1") == RECORD


def test_the_same_record_is_the_same_bytes(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    write(RECORD, tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_a_record_is_an_index_tables_and_raw_outputs_and_nothing_else(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "results" / "a")
    assert list(files(tmp_path)) == [
        "results/a/empty.parquet",
        "results/a/no-rows.parquet",
        "results/a/provenance.json",
        "results/a/qdisc.parquet",
        "results/a/raw/ping.txt",
    ]


def test_units_are_in_the_metadata_of_parquet(tmp_path: Path) -> None:
    import pyarrow.parquet

    write(RECORD, tmp_path / "a")
    schema = pyarrow.parquet.read_schema(tmp_path / "a" / "qdisc.parquet")
    assert schema.metadata[b"wanlab.format"] == b"1"
    assert schema.field("time_ns").metadata == {b"unit": b"ns"}


def test_an_existing_record_is_replaced_only_on_request(tmp_path: Path) -> None:
    other = Record(Provenance(wanlab="0.2.0"))
    write(RECORD, tmp_path / "a")
    with pytest.raises(RecordError, match="already exists"):
        write(other, tmp_path / "a")
    assert read(tmp_path / "a") == RECORD
    write(other, tmp_path / "a", replace=True)
    assert read(tmp_path / "a") == other
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_is_no_record_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RecordError, match="is not a record, so it is not replaced"):
        write(RECORD, tmp_path, replace=True)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_write_that_fails_leaves_nothing_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(RECORD, tmp_path / "a")

    def full(folder: SharedFolder, name: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SharedFolder, "write", full)
    with pytest.raises(RecordError, match=r"cannot write .*No space left on device"):
        write(RECORD, tmp_path / "a", replace=True)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert read(tmp_path / "a") == RECORD


def test_an_interrupt_while_replacing_keeps_the_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(RECORD, tmp_path / "a")
    rename = SharedFolder.rename

    def interrupted(folder: SharedFolder, old: str, new: str) -> None:
        if ".unfinished." in old:
            raise KeyboardInterrupt
        rename(folder, old, new)

    monkeypatch.setattr(SharedFolder, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(Record(Provenance(wanlab="0.2.0")), tmp_path / "a", replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert read(tmp_path / "a") == RECORD


@pytest.mark.parametrize(
    "name", ["provenance.json", "qdisc.parquet", "no-rows.parquet", "raw/ping.txt"]
)
def test_a_truncated_or_missing_part_is_noticed(tmp_path: Path, name: str) -> None:
    write(RECORD, tmp_path / "a")
    part = tmp_path / "a" / name
    part.write_bytes(part.read_bytes()[:-5])
    with pytest.raises(RecordError, match=r"is damaged|digest differs"):
        read(tmp_path / "a")
    part.unlink()
    with pytest.raises(RecordError, match=r"is not a record|cannot read"):
        read(tmp_path / "a")


@pytest.mark.parametrize("mask", [0x55, 0xD5])  # bit 0x80 makes letters that are not ASCII
def test_every_flipped_byte_of_a_table_is_noticed_or_has_no_effect(
    tmp_path: Path, mask: int
) -> None:
    record = Record(Provenance(wanlab="0.1.0"), {"t": Table.of({"time_ns": [1, 2, 3]})})
    write(record, tmp_path / "a")
    part = tmp_path / "a" / "t.parquet"
    whole = part.read_bytes()
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= mask
        part.write_bytes(changed)
        with contextlib.suppress(RecordError):
            assert read(tmp_path / "a") == record


def test_an_edited_provenance_is_noticed(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    index = tmp_path / "a" / "provenance.json"
    index.write_text(index.read_text().replace("look at this", "all is well"))
    with pytest.raises(RecordError, match="has changed since it was written"):
        read(tmp_path / "a")


def test_a_record_of_another_format_is_refused_with_its_number(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    index = tmp_path / "a" / "provenance.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"format": 2}))
    with pytest.raises(RecordError, match="has format 2, but this wanlab reads 1"):
        read(tmp_path / "a")


def test_unknown_fields_of_a_newer_version_are_refused_by_name(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    path = tmp_path / "a" / "provenance.json"
    index = json.loads(path.read_text())
    path.write_text(json.dumps(index | {"events": []}))
    with pytest.raises(RecordError, match=r"json has keys that this version does not know: events"):
        read(tmp_path / "a")
    path.write_text(json.dumps(index | {"provenance": index["provenance"] | {"moon": "full"}}))
    with pytest.raises(RecordError, match=r"the provenance has keys that .* does not know: moon"):
        read(tmp_path / "a")


def test_a_record_of_an_older_version_may_lack_newer_fields(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    path = tmp_path / "a" / "provenance.json"
    index = json.loads(path.read_text())
    del index["provenance"]["settings"], index["provenance"]["machine"]
    # As the older version wrote it.
    index["digest"] = content_digest(
        as_text(without_mode(index["provenance"])), RECORD.tables, RECORD.raw
    )
    path.write_text(json.dumps(index))
    assert read(tmp_path / "a") == RECORD


def test_a_table_that_is_not_in_the_index_is_refused(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    (tmp_path / "a" / "extra.parquet").write_bytes(b"")
    (tmp_path / "a" / "raw" / "extra.txt").write_bytes(b"")
    with pytest.raises(RecordError, match=r"does not list: extra, raw/extra.txt"):
        read(tmp_path / "a")


def test_other_files_in_the_folder_are_ignored(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "a")
    (tmp_path / "a" / "notes.txt").write_text("seen by eye")
    assert read(tmp_path / "a") == RECORD


def _read_parquet(arrow: pyarrow.Table) -> Table:
    file = io.BytesIO()
    pyarrow.parquet.write_table(arrow, file)
    file.seek(0)
    return read_table(file, Path("t.parquet"), Allowance(Path(), 1 << 20))


def test_an_unknown_kind_of_column_is_refused() -> None:
    odd = pyarrow.field("time_ns", pyarrow.timestamp("ns"), nullable=False)
    schema = pyarrow.schema([odd], metadata={b"wanlab.format": b"1"})
    table = pyarrow.Table.from_arrays([pyarrow.array([1], odd.type)], schema=schema)
    with pytest.raises(RecordError, match=r"format 1 does not allow: time_ns .timestamp.ns.."):
        _read_parquet(table)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 1}', '{"format": 1, "tables": 3}', WRONG])
def test_an_index_of_another_program_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "provenance.json").write_text(text)
    with pytest.raises(RecordError, match=r"provenance.json"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd"])
def test_an_index_cannot_name_a_file_outside_its_folder(tmp_path: Path, name: str) -> None:
    write(Record(Provenance(wanlab="0.1.0")), tmp_path / "a")
    (tmp_path / "outside").write_text("secret")
    index = tmp_path / "a" / "provenance.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"raw": [name]}))
    with pytest.raises(RecordError, match="cannot be the name of a raw output"):
        read(tmp_path / "a")


columns = st.dictionaries(
    st.text(st.characters(categories=["Ll", "Nd"], include_characters="_"), min_size=1),
    st.sampled_from(
        [
            st.integers(-(1 << 63), (1 << 63) - 1),
            st.floats(),
            st.booleans(),
            st.text(st.characters(exclude_categories=["Cs"])),
        ]
    ).flatmap(lambda values: st.lists(values, min_size=3, max_size=3)),
)


@given(columns)
def test_any_table_survives_the_conversion_to_arrow(columns: dict[str, list[object]]) -> None:
    table = Table.of(columns)
    assert _read_parquet(table.to_arrow()) == table


@pytest.mark.parametrize("name", ["provenance.json", "qdisc.parquet", "raw/ping.txt"])
def test_a_record_that_lacks_a_part_is_not_complete(tmp_path: Path, name: str) -> None:
    write(RECORD, tmp_path / "record")
    assert is_complete(tmp_path / "record")
    (tmp_path / "record" / name).unlink()
    assert not is_complete(tmp_path / "record")


@pytest.mark.parametrize("length", [0, 3, 100])
def test_a_truncated_table_is_not_complete(tmp_path: Path, length: int) -> None:
    write(RECORD, tmp_path / "record")
    table = tmp_path / "record" / "qdisc.parquet"
    table.write_bytes(table.read_bytes()[:length])
    assert not is_complete(tmp_path / "record")


def test_a_record_is_not_written_through_a_link(tmp_path: Path) -> None:
    """A program in the network has replaced the folder of records, or the record."""
    (victim := tmp_path / "home").mkdir()
    (work := tmp_path / "work").mkdir()
    (work / "records").symlink_to(victim)
    with pytest.raises(RecordError, match=r"records is a symbolic link \(remove it"):
        write(RECORD, work / "records" / "a", working_folder=work)
    (work / "b").symlink_to(victim)
    with pytest.raises(RecordError, match="b already exists"):
        write(RECORD, work / "b", working_folder=work)
    with pytest.raises(RecordError, match="b is a symbolic link"):
        write(RECORD, work / "b", replace=True, working_folder=work)
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("kind", ["device", "pipe", "file", "provenance"])
def test_a_part_that_is_not_a_file_of_the_record_is_refused(tmp_path: Path, kind: str) -> None:
    """A device without end took 5.7 GB, and a pipe waited for ever."""
    write(Record(Provenance(wanlab="1"), {}, {"ping.txt": b"a"}), tmp_path / "r")
    part = tmp_path / "r" / ("provenance.json" if kind == "provenance" else "raw/ping.txt")
    part.unlink()
    match kind:
        case "device" | "provenance":
            part.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(part)
        case "file":
            (tmp_path / "secret").write_bytes(b"a")
            part.symlink_to(tmp_path / "secret")
    with pytest.raises(RecordError, match=r"ping.txt is not a file|symbolic links|is not a record"):
        read(tmp_path / "r")


def test_raw_outputs_and_tables_with_very_much_data_are_refused(tmp_path: Path) -> None:
    tables = {"t": Table.of({"n": np.zeros(1000, dtype=np.int64)})}
    write(Record(Provenance(wanlab="1"), tables, {"a": b"12", "b": b"345"}), tmp_path / "r")
    for max_bytes in (7_999, 8_004):
        with pytest.raises(RecordError, match="r needs more than 0 MiB of memory"):
            read(tmp_path / "r", max_bytes=max_bytes)
    assert read(tmp_path / "r").raw["b"] == b"345"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("[" * 100_000, "nested more than 64 levels"),
        ('{"format": 1e999}', "number out of range"),
        (
            '{"format": FORMAT, "digest": 1, "provenance": {}, "tables": [], "raw": []}',
            "digest: exp",
        ),
        ('{"format": FORMAT, "digest": "", "provenance": {}, "tables": [1], "raw": []}', "tables"),
        (
            '{"format": FORMAT, "digest": "", "provenance": [], "tables": [], "raw": []}',
            "provenance",
        ),
    ],
)
def test_a_wrong_index_is_refused(tmp_path: Path, index: str, message: str) -> None:
    (tmp_path / "provenance.json").write_text(index.replace("FORMAT", str(FORMAT)))
    with pytest.raises(RecordError, match=message):
        read(tmp_path)


def test_many_texts_and_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    """Several batches, and a dictionary of texts that became too long."""
    rows = 80_000
    tables = {
        "t": Table.of(
            {
                "device": [f"s{row % 7}" for row in range(rows)],
                "line": [f"line {row} " * 3 for row in range(rows)],
                "is_up": np.arange(rows) % 3 == 0,
                "rtt_us": np.arange(rows) / 7,
            }
        )
    }
    write(Record(Provenance(wanlab="1"), tables), tmp_path / "r")
    table = read(tmp_path / "r")["t"]
    assert table == tables["t"]
    devices = table["device"]
    assert devices[0] is devices[-7 - rows % 7]  # equal texts are in memory once


ALLOWED_BYTES = 40 << 20
READ = f"""
import sys
from pathlib import Path
from wanlab.errors import RecordError
from wanlab.record import read

def memory(name):
    status = Path("/proc/self/status").read_text()
    return int(status.partition(name + ":")[2].split()[0]) << 10

for folder in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    try:
        read(folder, max_bytes={ALLOWED_BYTES})
    except RecordError as error:
        print(memory("VmHWM") - before, error)
"""


def test_a_small_record_cannot_take_much_memory(tmp_path: Path) -> None:
    """By default ten times as much is allowed. Files of some megabytes took 0.8 GB and more."""
    zeros = pyarrow.array(np.zeros(100_000, dtype=np.int64))
    _write_foreign(tmp_path / "small", {"n": zeros[:9]})
    _write_foreign(tmp_path / "numbers", {f"n{number}": zeros for number in range(200)})
    _write_foreign(tmp_path / "many tables", {"n": zeros}, tables=120)
    _write_foreign(tmp_path / "one text", {"t": pyarrow.array(["x" * 1_000_000] * 20)}, groups=3)
    long = pyarrow.array([f"{row}" * 40_000 for row in range(200)])
    _write_foreign(tmp_path / "long texts", {"t": long})
    _write_foreign(
        tmp_path / "short texts", {"t": pyarrow.array([f"{row}" for row in range(500_000)])}
    )
    folders = ("small", "numbers", "many tables", "one text", "long texts", "short texts")
    output = subprocess.run(
        [sys.executable, "-c", READ, *(tmp_path / name for name in folders)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name, line in zip(folders, output.splitlines(), strict=True):
        peak_bytes, _, error = line.partition(" ")
        # The first record imports pyarrow. Equal texts are in memory once: 60 MB of "x" are 1 MB.
        assert name == "small" or int(peak_bytes) < ALLOWED_BYTES * 5 / 4, line
        is_small = name in ("small", "one text")
        what = "its digest differs" if is_small else "needs more than 40 MiB of memory"
        assert what in error, line


def _write_foreign(
    folder: Path, columns: dict[str, pyarrow.Array], tables: int = 1, groups: int = 1
) -> None:
    """Write a record as another program can: with one table several times, and a wrong digest."""
    folder.mkdir()
    schema = pyarrow.schema(
        [pyarrow.field(name, values.type, nullable=False) for name, values in columns.items()],
        metadata={b"wanlab.format": str(FORMAT).encode()},
    )
    table = pyarrow.Table.from_arrays(list(columns.values()), schema=schema)
    names = [f"table{number}" for number in range(tables)]
    for name in names:
        with pyarrow.parquet.ParquetWriter(
            folder / f"{name}.parquet",
            schema,
            compression="zstd",
            dictionary_pagesize_limit=4 << 20,
        ) as file:
            for _ in range(groups):
                file.write_table(table)
    index = {"format": FORMAT, "digest": "", "provenance": {"wanlab": "1"}, "raw": []}
    (folder / "provenance.json").write_text(json.dumps({**index, "tables": names}))


def test_a_table_is_not_read_through_a_link(tmp_path: Path) -> None:
    """A program in a network could make a table of another file of the user a part of a record."""
    write(RECORD, tmp_path / "r")
    (tmp_path / "r" / "qdisc.parquet").rename(tmp_path / "secret")
    (tmp_path / "r" / "qdisc.parquet").symlink_to(tmp_path / "secret")
    with pytest.raises(RecordError, match="symbolic links"):
        read(tmp_path / "r")
    assert not is_complete(tmp_path / "r")
