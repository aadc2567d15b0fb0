"""docs/reference/record.md describes the whole format and nothing else."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from wanlab.record import Provenance, Record, Table, write
from wanlab.record.record import FORMAT, UNITS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "record.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_every_key_is_described(tmp_path: Path) -> None:
    write(Record(Provenance(wanlab="1"), {"t": Table.of({"time_ns": [1]})}), tmp_path / "r")
    index = json.loads((tmp_path / "r" / "provenance.json").read_bytes())
    described = first_cells(section("provenance.json"))
    assert sorted(described) == sorted([*index, *(field.name for field in fields(Provenance))])
    assert set(index["provenance"]) == {field.name for field in fields(Provenance)}


def test_every_unit_is_named() -> None:
    for unit in UNITS.values():
        assert f"`{unit}`" in section("Tables")


def test_the_page_describes_the_current_version() -> None:
    assert f"This page describes format **{FORMAT}**." in PAGE
    assert f"\n| {FORMAT} | since" not in PAGE
    assert re.search(rf"^\| {FORMAT} \|", section("Versions of the format"), re.MULTILINE)


@pytest.mark.parametrize("name", ["pandas.read_parquet", "polars.read_parquet", "to_arrow"])
def test_the_page_shows_how_to_read_a_record_with_other_programs(name: str) -> None:
    assert name in section("Reading one")
