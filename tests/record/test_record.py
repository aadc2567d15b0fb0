import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wanlab.errors import RecordError, RequirementError
from wanlab.record import Column, Provenance, Record, Table, unit_of

ROWS = [
    {"time_ns": 0, "device": "s1-eth2", "backlog_bytes": 0, "rtt_ms": 20.5, "full": False},
    {"time_ns": 10, "device": "s1-eth1", "backlog_bytes": 3, "rtt_ms": None, "full": False},
    {"time_ns": 20, "device": "s1-eth2", "backlog_bytes": 9, "rtt_ms": 21.0, "full": True},
]
ORIGIN = Provenance(wanlab="0.1.0")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("time_ns", "ns"),
        ("rtt_us", "us"),
        ("backlog_bytes", "B"),
        ("bytes_acked", "B"),
        ("snd_cwnd_packets", "packets"),
        ("rate_bps", "bit/s"),
        ("loss_fraction", "1"),
        ("drops", ""),
        ("status", ""),
    ],
)
def test_the_unit_of_a_column_is_in_its_name(name: str, unit: str) -> None:
    assert unit_of(name) == unit


def test_rows_become_columns_of_the_right_kind() -> None:
    table = Table.from_rows(ROWS)
    assert [(column.name, column.kind, column.unit) for column in table.columns] == [
        ("time_ns", "int64", "ns"),
        ("device", "text", ""),
        ("backlog_bytes", "int64", "B"),
        ("rtt_ms", "float64", "ms"),
        ("full", "bool", ""),
    ]
    assert table["device"] == ("s1-eth2", "s1-eth1", "s1-eth2")
    assert np.array_equal(table["rtt_ms"], [20.5, np.nan, 21.0], equal_nan=True)


def test_a_unit_may_be_given_where_the_name_has_none() -> None:
    table = Table.of({"bits_per_second": [1.0]}, {"bits_per_second": "bit/s"})
    assert table.column("bits_per_second").unit == "bit/s"


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Table.from_rows(ROWS)["time_ns"][0] = 1  # type: ignore[index]


def test_the_array_a_table_was_made_of_is_not_frozen_with_it() -> None:
    array = np.array([1, 2])
    table = Table.of({"time_ns": array})
    array[0] = 7
    assert list(table["time_ns"]) == [1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Table.of({"a": [1, 2], "b": [1]}), "different lengths: {'a': 2, 'b': 1}"),
        (lambda: Table.of({"a": [1]}, {"b": "ms"}), "a unit but no column for b"),
        (lambda: Table.from_rows([{"a": 1}, {"b": 1}]), "row 1 .* does not fit .*: a, b"),
        (lambda: Table.of({"a": ["x", 1]}), "'a' mixes text with other values"),
        (lambda: Table.of({"a": [1 << 70]}), "'a' cannot be kept"),
        (lambda: Table.of({"a": [object()]}), "'a' cannot be kept"),
        (lambda: Table((Column.of("a", [1]), Column.of("a", [2]))), "have one name"),
    ],
)
def test_an_invalid_table_is_refused(make: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        make()


def test_where_keeps_the_rows_that_fit_and_their_kinds() -> None:
    table = Table.from_rows(ROWS)
    assert table.where(device="s1-eth2", full=True) == Table.from_rows(ROWS).rows(
        np.array([False, False, True])
    )
    nothing = table.where(device="s9-eth9")
    assert len(nothing) == 0
    assert [column.kind for column in nothing.columns] == [column.kind for column in table.columns]


def test_distinct_values_come_in_the_order_of_their_appearance() -> None:
    assert Table.from_rows(ROWS).distinct("device") == ["s1-eth2", "s1-eth1"]


def test_a_series_has_its_times_in_seconds() -> None:
    series = Table.of({"time_ns": [0, 500_000_000], "rtt_us": [10, 20]}).series("rtt_us")
    assert (series.unit, list(series.times_s), list(series.values)) == ("us", [0.0, 0.5], [10, 20])


def test_the_rate_of_a_counter_of_bytes_is_in_bits_per_second() -> None:
    rate = Table.of({"time_s": [0.0, 1.0, 3.0], "bytes": [0, 1000, 5000]}).series("bytes").rate()
    assert (rate.unit, list(rate.times_s), list(rate.values)) == ("bit/s", [1, 3], [8000, 16000])


def test_the_rate_takes_the_last_of_several_readings_at_one_moment() -> None:
    rate = Table.of({"time_s": [0, 1, 1, 2], "drops": [0, 1, 5, 6]}).series("drops").rate()
    assert (rate.unit, list(rate.times_s), list(rate.values)) == ("1/s", [1, 2], [5, 1])


@pytest.mark.parametrize("length", [0, 1])
def test_a_single_reading_has_no_rate(length: int) -> None:
    series = Table.of({"time_s": [0.0], "bytes": [1]}).rows(np.ones(1, bool) * bool(length))
    assert len(series.series("bytes").rate().values) == 0


def test_times_that_go_back_are_refused() -> None:
    table = Table.of({"time_ns": [0, 10, 0, 10], "rtt_us": [1, 1, 2, 2]})
    with pytest.raises(RecordError, match="the times in 'time_ns' are not in ascending order"):
        table.series("rtt_us")


def test_text_is_no_series() -> None:
    with pytest.raises(RecordError, match="'device' holds text"):
        Table.from_rows(ROWS).series("device")


def test_the_error_for_a_misspelt_name_suggests_the_nearest_one() -> None:
    record = Record(ORIGIN, {"qdisc": Table.from_rows(ROWS)})
    with pytest.raises(RecordError, match=r"no table 'qdiscs' .did you mean qdisc"):
        record["qdiscs"]
    with pytest.raises(RecordError, match=r"no column 'backlog' .did you mean backlog_bytes"):
        record["qdisc"]["backlog"]


@pytest.mark.parametrize("name", ["", "Qdisc", "a/b", "../a", "a b", "x.y"])
def test_a_table_has_a_name_that_can_be_a_file(name: str) -> None:
    with pytest.raises(RecordError, match="cannot be the name of a table"):
        Record(ORIGIN, {name: Table()})


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", ".."])
def test_a_raw_output_has_a_name_that_can_be_a_file(name: str) -> None:
    with pytest.raises(RecordError, match="cannot be the name of a raw output"):
        Record(ORIGIN, raw={name: b""})


def test_the_digest_is_that_of_the_content_on_every_computer() -> None:
    record = Record(ORIGIN, {"qdisc": Table.from_rows(ROWS)}, {"ping.txt": b"PING"})
    assert record.digest() == "e087046367fe7475a44ca58542b1cc12020aa6f9fd85b1554959c5085b14abf0"


def test_the_order_of_tables_does_not_change_the_digest() -> None:
    tables = {"a": Table.of({"x": [1]}), "b": Table.of({"x": [2]})}
    turned = dict(reversed(tables.items()))
    assert Record(ORIGIN, tables).digest() == Record(ORIGIN, turned).digest()


def test_the_mode_of_the_machines_kernel_changes_neither_equality_nor_the_digest() -> None:
    one, other = (Record(replace(ORIGIN, traps=mode)) for mode in ("ptrace", "inprocess"))
    assert one == other
    assert one.digest() == other.digest()


def test_every_change_changes_the_digest() -> None:
    def record(
        *,
        seed: int = 1,
        name: str = "t",
        values: Any = (1, 2),
        column: str = "x",
        unit: str = "",
        raw: bytes = b"",
    ) -> Record:
        table = Table.of({column: values}, {column: unit})
        return Record(Provenance(wanlab="0.1.0", seed=seed), {name: table}, {"raw": raw})

    records = [
        record(),
        record(seed=2),
        record(name="u"),
        record(values=(2, 1)),
        record(values=(1.0, 2.0)),
        record(values=("1", "2")),
        record(values=("12", "")),
        record(values=()),
        record(column="y"),
        record(unit="ms"),
        record(raw=b"x"),
    ]
    assert len({record.digest() for record in records}) == len(records)


def test_pandas_gets_the_columns_and_their_units() -> None:
    frame = Table.from_rows(ROWS).to_pandas()
    assert list(frame["backlog_bytes"]) == [0, 3, 9]
    assert frame.attrs["units"]["backlog_bytes"] == "B"


def test_a_table_goes_to_polars_and_pandas_with_its_values() -> None:
    table = Table.from_rows(ROWS)
    for library in ("polars", "pandas"):
        pytest.importorskip(library)
        frame = getattr(table, f"to_{library}")()
        assert list(frame.columns) == list(table.names)
        assert list(frame["device"]) == list(table["device"])
        assert list(frame["backlog_bytes"]) == [0, 3, 9]


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_the_error_for_a_missing_library_says_how_to_install_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RequirementError, match=rf"{library} is not installed .pip install 'wanlab"):
        getattr(Table.from_rows(ROWS), f"to_{library}")()


def test_a_record_is_printed_in_one_short_line() -> None:
    table = Table.from_rows(ROWS)
    origin = Provenance(
        wanlab="1", topology="x" * 9999, commands=("y" * 999,), seed=7, warnings=("look",)
    )
    record = Record(origin, {"qdisc": table, "ping": Table()}, {"out.txt": b"z" * 90_000})
    assert repr(record) == str(record)
    assert repr(record) == (
        "Record(qdisc 3 rows, ping 0 rows; 1 raw outputs of 90000 bytes; seed 7; 1 warnings)"
    )
    assert repr(Record(ORIGIN)) == "Record(no tables)"
    assert repr(table.column("backlog_bytes")) == "Column(backlog_bytes: 3 values in B, int64)"
