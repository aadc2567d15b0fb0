"""The gallery's units are well-formed, can be measured, and match the pages in docs/evidence/gallery."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

from wanlab.gallery import pages
from wanlab.gallery.judgement import judge
from wanlab.gallery.unit import FULL, QUICK, GalleryUnit
from wanlab.gallery.unit_file import UNITS, find, names
from wanlab.standard_tests import flent

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "gallery"
NAMES = names()


def units() -> list[GalleryUnit]:
    return [find(name) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_is_well_formed(name: str) -> None:
    unit = find(name)
    experiment = unit.experiment
    assert experiment.full is not None
    assert experiment.name == name.replace("-", "_")
    assert unit.points
    assert unit.page.startswith("## What is claimed\n")
    assert "\n## What we do\n" in unit.page
    assert {unit.axes.over, unit.axes.by or unit.axes.over} <= set(experiment.parameters)
    for source in unit.sources:
        assert source.link.startswith(("http://", "https://"))
        assert source.year is None or 1980 < source.year < 2027
    for size in (QUICK, FULL):
        design = unit.design(size)
        assert design.repeats >= 2
        points = [experiment.resolve(parameters) for parameters, _ in design.runs()]
        for prediction in unit.predictions:
            for wanted in filter(None, (prediction.at, prediction.relative_to)):
                assert set(wanted) <= set(experiment.parameters)
                matching = {
                    repr(point)
                    for point in points
                    if all(str(point[key]) == str(value) for key, value in wanted.items())
                }
                assert len(matching) == 1, f"{prediction.claim} in the {size} design"


@pytest.mark.parametrize("name", NAMES)
def test_every_number_in_a_unit_has_a_source(name: str) -> None:
    for path in (UNITS / name).iterdir():
        if path.is_file():
            assert "from memory" not in path.read_text(encoding="utf-8")


def test_the_pages_agree_with_the_units_and_their_measurements() -> None:
    quick, full = pages.measured_units(DOCS, units()), pages.measured_units(DOCS, units(), FULL)
    assert (DOCS / pages.INDEX).read_text(encoding="utf-8") == pages.index_page(
        units(), quick, full, pages.costs_of(DOCS, units())
    )
    for unit in units():
        if unit.name in quick:
            page = (DOCS / f"{unit.name}.md").read_text(encoding="utf-8")
            assert page == pages.unit_page(unit, quick[unit.name], full.get(unit.name))
            assert (DOCS / f"{unit.name}.svg").stat().st_size < 60_000
    stray = {path.stem for path in DOCS.iterdir() if path.is_file()}
    assert stray - {unit.name for unit in units()} == {"README"}
    assert all(measurement.size == FULL for measurement in full.values())


def test_the_links_of_pages_work_in_every_folder(tmp_path: Path) -> None:
    shutil.copy(DOCS / "mathis.json", tmp_path)
    pages.write_pages(tmp_path, [find("mathis")])
    for page in ("mathis.md", pages.INDEX):
        links = re.findall(r"\]\((?!http)([^)]+)\)", (tmp_path / page).read_text(encoding="utf-8"))
        assert links
        assert [link for link in links if not (tmp_path / unquote(link)).exists()] == []


@pytest.mark.long
@pytest.mark.machine
def test_a_short_run_of_a_unit_gives_a_number_of_the_predicted_size() -> None:
    result = find("mathis").experiment.run(cache=False, loss="1%", seconds=20)
    assert 1.4 < result["goodput"] < 5.7  # between half and twice Mathis' formula
    assert result.metrics["goodput"].unit == "Mbit/s"
    assert result["retransmitted"] > 10


def test_a_cause_is_given_only_for_results_that_differ() -> None:
    """A cause is found in the records of a run that differs; it must not be claimed in advance."""
    by_size = [pages.measured_units(DOCS, units(), size) for size in (QUICK, FULL)]
    stale = [
        f"{unit.name}: {prediction.claim}"
        for unit in units()
        for number, prediction in enumerate(unit.predictions)
        if prediction.cause
        and all(
            judged.holds and judged.is_certain
            for measured in by_size
            if unit.name in measured
            for judged in [judge(unit, measured[unit.name]).predictions[number]]
        )
    ]
    assert stale == []


def test_what_is_measured_does_not_depend_on_flent(monkeypatch: pytest.MonkeyPatch) -> None:
    designs = []
    for is_here in (True, False):
        monkeypatch.setattr(flent, "is_installed", lambda is_here=is_here: is_here)
        unit = find("rrul")
        designs.append((unit.design(QUICK), unit.design(FULL)))
    assert designs[0] == designs[1]
    assert "flent" not in str(designs)
