import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import RecordError
from wanlab.record import Provenance, Record, Table, read, write
from wanlab.record.file import from_arrow, is_complete
from wanlab.record.provenance import as_text
from wanlab.record.record import content_digest

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

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RecordError, match=r"cannot write .*No space left on device"):
        write(RECORD, tmp_path / "a", replace=True)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert read(tmp_path / "a") == RECORD


def test_an_interrupt_while_replacing_keeps_the_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(RECORD, tmp_path / "a")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if ".unfinished." in path.name:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
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
    index["digest"] = content_digest(as_text(index["provenance"]), RECORD.tables, RECORD.raw)
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


def test_an_unknown_kind_of_column_is_refused() -> None:
    import pyarrow

    odd = pyarrow.field("time_ns", pyarrow.timestamp("ns"), nullable=False)
    schema = pyarrow.schema([odd], metadata={b"wanlab.format": b"1"})
    table = pyarrow.Table.from_arrays([pyarrow.array([1], odd.type)], schema=schema)
    with pytest.raises(RecordError, match=r"format 1 does not allow: time_ns .timestamp.ns.."):
        from_arrow(table)


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
    assert from_arrow(table.to_arrow()) == table


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
