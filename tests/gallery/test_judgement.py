"""Verdicts follow from predictions and measurements, and from nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.gallery.figure import draw
from wanlab.gallery.judgement import AGREES, DIFFERS, NOT_REPRODUCED, judge
from wanlab.gallery.measurement import Estimate, MeasuredFigure, MeasuredPoint, read_measurement
from wanlab.gallery.unit import GalleryUnit
from wanlab.gallery.unit_file import GalleryUnitError, find, read

UNITS = Path(__file__).with_name("units")


@pytest.fixture
def unit() -> GalleryUnit:
    return find("round-trip", UNITS)


def measured(first: Estimate, second: Estimate, *, failed: int = 0) -> MeasuredFigure:
    points = (
        MeasuredPoint({"delay": "5ms"}, {"rtt": first}),
        MeasuredPoint({"delay": "10ms"}, {"rtt": second}),
    )
    return MeasuredFigure(
        unit="round-trip",
        size="quick",
        runs=2,
        seeds=1,
        failed=failed,
        wanlab="0",
        kernel="6.12",
        points=points,
    )


def ms(mean: float, half: float | None = None) -> Estimate:
    return Estimate(mean, half, "ms")


def test_a_unit_agrees_if_all_predictions_hold(unit: GalleryUnit) -> None:
    judgement = judge(unit, measured(ms(20), ms(40)))
    assert judgement.verdict == AGREES
    assert judgement.causes == ()
    assert judgement.predictions[1].measured == Estimate(2.0, None, "")


def test_a_result_that_differs_for_a_known_cause_has_the_verdict_differs_because(
    unit: GalleryUnit,
) -> None:
    judgement = judge(unit, measured(ms(20), ms(60)))
    assert judgement.verdict == DIFFERS
    assert judgement.causes == ("The moon was full.",)


def test_a_result_that_differs_without_a_cause_is_not_reproduced(unit: GalleryUnit) -> None:
    assert judge(unit, measured(ms(30), ms(60))).verdict == NOT_REPRODUCED


def test_failed_runs_and_missing_points_are_not_reproduced(unit: GalleryUnit) -> None:
    assert judge(unit, measured(ms(20), ms(40), failed=1)).verdict == NOT_REPRODUCED
    whole = measured(ms(20), ms(40))
    first_only = replace(whole, points=whole.points[:1])
    judgement = judge(unit, first_only)
    assert [each.words for each in judgement.predictions] == ["in the band", "not measured"]
    assert not judgement.predictions[1].holds


def test_an_interval_across_the_end_of_a_band_is_marked(unit: GalleryUnit) -> None:
    inside, ratio = judge(unit, measured(ms(20, 3), ms(40, 0.1))).predictions
    assert (inside.holds, inside.is_certain) == (True, False)
    assert inside.words == "in the band, but the interval reaches beyond it"
    assert ratio.measured is not None
    assert ratio.measured.half == pytest.approx(2 * 3 / 20, rel=1e-2)
    outside = judge(unit, measured(ms(30, 1), ms(40))).predictions[0]
    assert (outside.words, outside.is_certain) == ("above the band", True)
    near = judge(unit, measured(ms(23, 2), ms(40))).predictions[0]
    assert near.words == "above the band, but the interval reaches into it"


def test_an_interval_across_an_impossible_value_is_certain(unit: GalleryUnit) -> None:
    prediction = replace(unit.predictions[0], low=0, high=30)
    low = judge(replace(unit, predictions=(prediction,)), measured(ms(2, 5), ms(40)))
    assert low.predictions[0].is_certain
    high = judge(replace(unit, predictions=(prediction,)), measured(ms(29, 5), ms(40)))
    assert not high.predictions[0].is_certain
    bounded = measured(Estimate(29, 5, "ms", most=30), ms(40))
    assert judge(replace(unit, predictions=(prediction,)), bounded).predictions[0].is_certain


def test_a_mean_just_outside_a_band_is_not_rounded_into_it(unit: GalleryUnit) -> None:
    shown = [
        judge(unit, measured(ms(mean, 3), ms(40))).predictions[0].measured_text
        for mean in (21.96, 22.02, 22.002, 30.02)
    ]
    assert shown == ["22 ± 3 ms", "22.02 ± 3 ms", "22.002 ± 3 ms", "30 ± 3 ms"]


def test_large_values_have_no_exponent() -> None:
    assert str(Estimate(1372.4, 1580.1, "ms")) == "1370 ± 1600 ms"
    assert str(Estimate(0.00012, None, "")) == "0.00012"


def test_a_judgement_counts_the_predictions_that_hold(unit: GalleryUnit) -> None:
    assert judge(unit, measured(ms(20), ms(60))).count == "1 of 2"


def test_a_measurement_is_read_back_as_it_was_written(unit: GalleryUnit, tmp_path: Path) -> None:
    written = measured(Estimate(20.5, 0.25, "ms", most=50), ms(40))
    path = tmp_path / "round-trip.json"
    path.write_text(written.to_json())
    assert read_measurement(path) == written
    path.write_text("{}")
    with pytest.raises(WanlabError, match="is not a measurement"):
        read_measurement(path)


def test_the_figure_shows_published_points_beside_ours(unit: GalleryUnit) -> None:
    axes = draw(unit, measured(ms(20, 1), ms(40, 2))).axes[0]
    shown = {str(line.get_label()): list(line.get_ydata()) for line in axes.lines}  # type: ignore[arg-type]
    assert shown == {"measured": [20, 40], "published": [20, 40]}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Delay (ms)", "RTT (ms)")


def test_a_line_named_by_a_number_gets_the_name_of_its_parameter() -> None:
    points = tuple(
        MeasuredPoint({"servers": 4, "rto_min": rto}, {"goodput": Estimate(900, 10, "Mbit/s")})
        for rto in ("200ms", "1ms")
    )
    axes = draw(find("incast"), replace(measured(ms(1), ms(1)), points=points)).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert labels[:2] == ["minimum RTO 200ms", "minimum RTO 1ms"]


def test_every_mistake_in_a_unit_is_reported_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "wrong"
    shutil.copytree(UNITS / "round-trip", folder)
    (folder / "round_trip.py").unlink()
    text = (folder / "unit.yaml").read_text()
    text = text.replace("band: [18, 22]", "band: [22, 18]").replace(
        "title: A round", "headline: A round"
    )
    (folder / "unit.yaml").write_text(text)
    with pytest.raises(GalleryUnitError) as caught:
        read(folder)
    message = str(caught.value)
    for part in ("a band is [low, high]", '"title" is missing', 'unknown field "headline"'):
        assert part in message
    assert "there is no wrong.py" in message


def test_the_error_for_an_unknown_unit_suggests_the_nearest_one() -> None:
    with pytest.raises(WanlabError, match='the gallery has no figure "round-tripp"') as caught:
        find("round-tripp", UNITS)
    assert "did you mean round-trip" in str(caught.value)
