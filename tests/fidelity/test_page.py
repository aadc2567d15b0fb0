"""docs/evidence/fidelity.md contains the tables that the benchmark writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from effects import page
from effects.figure import Figure, binomial, near
from fidelity import GROUPS

TEXT = page.PAGE.read_text(encoding="utf-8")


def rows(group: str) -> list[str]:
    (table,) = re.findall(f"<!-- {group} -->\n(.*?)<!-- /{group} -->", TEXT, re.DOTALL)
    return str(table).splitlines()[2:]


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_has_its_table(group: str) -> None:
    assert rows(group)


def test_there_are_enough_figures_and_each_unmet_one_has_a_section() -> None:
    all_rows = [row for group in GROUPS for row in rows(group)]
    assert len(all_rows) >= 25
    assert [row for row in all_rows if "not met" in row] == []


def test_the_page_says_which_kernel_was_measured() -> None:
    assert re.search(r"kernel\s+manifest\s+`[0-9a-f]{64}`", TEXT)


def test_refreshing_the_page_keeps_everything_else(tmp_path: Path) -> None:
    there = tmp_path / "page.md"
    there.write_text("before\n<!-- a -->\nold\n<!-- /a -->\nafter <!-- b -->\n<!-- /b -->\n")
    figure = near("x", "kernel", 2.0, 2.001, within=0.01, unit="ms")
    page.refresh({"a": [figure]}, "", there)
    table = (
        "| effect | caused by | theory | measured | error | accepted | reason |\n"
        "|---|---|---|---|---|---|---|\n"
        "| x | kernel | 2 ms | 2.001 ms | +0.05 % | 1.98 to 2.02 | 1 % |"
    )
    assert there.read_text() == (
        f"before\n<!-- a -->\n{table}\n<!-- /a -->\nafter <!-- b -->\n<!-- /b -->\n"
    )


def test_another_kernel_is_compared_with_the_default_kernels_page(tmp_path: Path) -> None:
    default, there = tmp_path / "fidelity.md", tmp_path / "kernels.md"
    default.write_text(page.markdown([near("x", "kernel", 2.0, 2.001, within=0.01, unit="ms")]))
    figures = [
        near("x", "kernel", 2.0, 1.999, within=0.01, unit="ms"),
        near("y", "kernel", 5.0, 5.0, within=0.01),
    ]
    page.compare({"aqm": figures[:1]}, "7.3", "", page=there, default_page=default)
    page.compare({"aqm": figures}, "7.3", "Linux 7.3", page=there, default_page=default)
    origin = "<!-- origin -->\nLinux 7.3\n<!-- /origin -->\n"
    assert f"{origin}\n## Active queue management\n" in there.read_text()
    assert there.read_text().splitlines()[-5:-1] == [
        "| effect | theory | 6.12 | 7.3 | accepted |",
        "|---|---|---|---|---|",
        "| x | 2 ms | 2.001 ms | **1.999 ms** | 1.98 to 2.02 |",
        "| y | 5 | - | **5** | 4.95 to 5.05 |",
    ]


def test_a_group_without_a_place_is_refused(tmp_path: Path) -> None:
    there = tmp_path / "page.md"
    there.write_text("nothing\n")
    with pytest.raises(SystemExit, match="no place for 'a'"):
        page.refresh({"a": []}, "", there)


@pytest.mark.parametrize(("measured", "is_met"), [(99.0, True), (98.9, False), (101.1, False)])
def test_a_figure_is_met_in_its_range(measured: float, is_met: bool) -> None:
    assert near("x", "qdisc", 100.0, measured, within=0.01).is_met is is_met


def test_a_figure_with_a_flaw_is_not_met() -> None:
    flawed = Figure(
        effect="x", origin="qdisc", theory=1, measured=1, least=0, most=2, flaws="1 packet lost"
    )
    assert not flawed.is_met
    assert "**not met**: 1 packet lost" in page.markdown([flawed])


def test_a_fraction_may_be_four_standard_deviations_off() -> None:
    """With 10,000 samples at 50 %, one standard deviation is 0.5 %."""
    figure = binomial("x", "qdisc", 0.5, 5200, 10_000)
    assert (figure.theory, figure.measured, figure.least, figure.most) == (50, 52, 48, 52)
