from dataclasses import replace

import pytest

from wanlab.record import Provenance, Record, Table, differences

ORIGIN = Provenance(wanlab="1", seed=1)
ONE = Record(
    ORIGIN,
    {
        "ping": Table.from_rows(
            [{"time_ns": 1, "rtt_ms": 2.5}, {"time_ns": 2, "rtt_ms": float("nan")}]
        )
    },
    {"out.txt": b"a\nb\n"},
)


def with_ping(rows: list[dict[str, object]]) -> Record:
    return replace(ONE, tables={"ping": Table.from_rows(rows)})


@pytest.mark.parametrize(
    ("other", "line"),
    [
        (replace(ONE, provenance=replace(ORIGIN, seed=2)), "provenance, seed: 1 and 2"),
        (replace(ONE, tables={}), "table ping: only one record has it"),
        (replace(ONE, raw={}), "output out.txt: only one record has it"),
        (replace(ONE, raw={"out.txt": b"a\nc\n"}), "output out.txt: line 2: 'b' and 'c'"),
        (replace(ONE, raw={"out.txt": b"a\nb"}), "output out.txt: its bytes"),
        (
            with_ping([{"time_ns": 1, "rtt_ms": 2.5}, {"time_ns": 2, "rtt_ms": 3.5}]),
            "table ping: rtt_ms in row 1: nan and 3.5",
        ),
        (
            with_ping([{"time_ns": 1, "rtt_ms": 2.5}]),
            "table ping: time_ns in row 1: 2 and missing",
        ),
        (with_ping([{"time_ns": 1}]), "table ping: columns time_ns, rtt_ms and time_ns"),
    ],
)
def test_the_first_difference_of_each_part_is_named(other: Record, line: str) -> None:
    assert differences(ONE, other) == [line]


def test_records_that_differ_only_in_the_mode_of_the_kernel_do_not_differ() -> None:
    other = replace(ONE, provenance=replace(ORIGIN, traps="inprocess"))
    assert differences(ONE, other) == []
