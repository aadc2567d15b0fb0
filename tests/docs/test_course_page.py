"""docs/evidence/course.md is what `wanlab lab run all --table` wrote: no number was changed by hand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from handbook import course_numbers

from wanlab.labs import catalog
from wanlab.labs.agreement import COMPARED, manual_range, ratio

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "course.md"
TEXT = PAGE.read_text(encoding="utf-8")


def rows(text: str, pattern: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if re.match(pattern, line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def units() -> dict[str, list[str]]:
    """Return the row of each unit in the overview, by its title."""
    return {row[0].strip("| "): row for row in rows(TEXT, r"\| (?:Lab|Exercise|Problem) .*\d+ of")}


def numbers() -> dict[str, list[list[str]]]:
    """Return the rows of numbers of each unit that has any."""
    parts = re.split(r"^### (.*)$", TEXT.partition("\n## Numbers\n")[2], flags=re.M)
    titles, tables = parts[1::2], parts[2::2]
    return {title: rows(table, r"\| \d+ \| ") for title, table in zip(titles, tables, strict=True)}


def test_the_counts_of_each_unit_are_those_of_its_rows() -> None:
    known = units()
    assert len(known) == 31
    found = numbers()
    for title, row in known.items():
        listed = Counter(cells[6] for cells in found.get(title, []))
        assert [listed[status] for status in COMPARED] == [*map(int, row[4:8])], title


def test_the_totals_are_the_sums_of_the_units() -> None:
    (total,) = rows(TEXT, r"\| total ")
    columns = [[int(row[index]) for row in units().values()] for index in range(4, len(total) + 1)]
    sums = [sum(column) for column in columns]
    assert sums[:5] == [*map(int, total[3:8])]
    for written, summed in zip(map(int, total[8:]), sums[5:], strict=True):
        assert abs(written - summed) <= len(units()) / 2, "seconds are rounded"
    intro = re.findall(r"^\* \*([a-z ]+)\* \((\d+)\)", TEXT, re.M)
    assert intro == [
        (status, str(number)) for status, number in zip(COMPARED, sums[:4], strict=True)
    ]
    assert f"prints {sum(sums[:4])} numbers" in " ".join(TEXT.split())


def test_the_numbers_to_look_at_before_class_are_those_of_the_page() -> None:
    counts = Counter(cells[6] for unit_rows in numbers().values() for cells in unit_rows)
    lines = course_numbers.table().splitlines()[2:]
    assert len(lines) == counts["contradicts"] + counts["cause unknown"]
    assert "| Lab 20 | FIFO, h1, throughput |" in "\n".join(lines)


def test_each_ratio_follows_from_the_numbers_beside_it() -> None:
    checked = 0
    units = [catalog.find(name) for name in catalog.names()]
    steps = [step for unit in units for step in unit.steps]
    reworded = {one.what for step in steps for one in step.expect if one.means}
    for title, unit_rows in numbers().items():
        for _, what, manual, ours, printed, *_ in unit_rows:
            number = re.match(r"-?[\d,]*\.?\d+(?:e-?\d+)?", ours)
            expected = number and ratio(manual_range(manual), float(number[0].replace(",", "")))
            if expected is None or what in reworded or not re.fullmatch(r"[\d.]+", printed):
                continue  # lab.yaml says what the manual's words mean, or the ratio is "-"
            # Our number is rounded to four digits; a ratio from 10 on has no decimals.
            rounding = 0.5 if expected >= 10 else 0.005
            assert abs(float(printed) - expected) <= rounding + 0.001 * expected, (title, what)
            checked += 1
    assert checked > 400
