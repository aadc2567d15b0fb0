"""Write the pages of units and their index in Markdown, with the figures as SVG beside them.

A page follows from the unit's folder and the measurement; it holds no date, so the same measurement
gives the same page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .figure import draw
from .judgement import JudgedPrediction, Judgement, judge
from .measurement import Estimate, MeasuredFigure, read_measurement
from .unit import GalleryUnit, Prediction, PublishedPoint

INDEX = "README.md"
INTRODUCTION = """\
# The gallery: published figures, run again

How far do published results hold on today's Linux? `wanlab reproduce run NAME` repeats a published
figure on your computer and compares it with the publication. Each figure has a folder in
[src/wanlab/gallery/units](../../src/wanlab/gallery/units) with the experiment, the published points
and predictions. A prediction states a quantity and a *band*, the range that agrees with the
publication; it was written down before the first run. The verdict is computed from the predictions:

* **agrees**: for every prediction, the mean over the seeds is in the band.
* **differs because**: for some it is not, and the figure's page names the cause, found in the
  records. (The table says *differs*.)
* **not reproduced**: for some it is not, and we do not know why; or runs failed.

`wanlab reproduce show NAME` prints the predictions before you run a figure. The table below shows one
prediction of each figure. ± is half the 95 % confidence interval over the seeds. Time is the
processor time of the quick design; two idle cores take half as long. To write this folder again, use
`wanlab reproduce run all --output docs/gallery` and then `wanlab reproduce report docs/gallery`.

To add a figure of your own, copy one of the folders, and give the folder that contains your copy with
`--units FOLDER`. A figure's folder holds

* `NAME.py`: the experiment, with a quick and a full design ([sweeps](../sweeps.md));
* `published.csv`: the published points, each with its origin;
* `unit.yaml`: sources, axes and predictions. Write each band and its reason before the first run. If
  a prediction fails, find out why from the records and write the `cause` beside it, but do not change
  the band;
* `page.md`: what the publication claims, and how the experiment tests it.
"""


def measured_units(folder: Path, units: Sequence[GalleryUnit]) -> dict[str, MeasuredFigure]:
    """Return the measurements that a folder has, by the names of their units."""
    return {
        unit.name: read_measurement(path)
        for unit in units
        if (path := folder / f"{unit.name}.json").is_file()
    }


def write_pages(folder: Path, units: Sequence[GalleryUnit], *, index: bool = True) -> None:
    """Write the page and the figure of each unit that was measured, and the index of all."""
    from wanlab import plot

    measurements = measured_units(folder, units)
    for unit in units:
        if measurement := measurements.get(unit.name):
            page = folder / f"{unit.name}.md"
            page.write_text(unit_page(unit, measurement), encoding="utf-8")
            plot.save(draw(unit, measurement), page.with_suffix(".svg"))
    if index:
        (folder / INDEX).write_text(index_page(units, measurements), encoding="utf-8")


def index_page(units: Sequence[GalleryUnit], measurements: Mapping[str, MeasuredFigure]) -> str:
    """Return the table of all units: the first prediction of each, the verdict, seeds and time."""
    lines = [
        INTRODUCTION,
        "| figure | prediction | published | measured | verdict | seeds | time |",
        "|---|---|---|---|---|---|---|",
    ]
    for unit in units:
        head = f"[{unit.title}]({unit.name}.md) ({unit.sources[0].venue_and_year})"
        if unit.name not in measurements:
            lines.append(f"| {unit.title} | | | | not measured | | |")
            continue
        measurement = measurements[unit.name]
        judgement = judge(unit, measurement)
        first = judgement.predictions[0]
        cells = [
            head,
            first.prediction.claim,
            first.prediction.published,
            _measured(first),
            f"{judgement.verdict.removesuffix(' because')} ({_count(judgement)})",
            str(measurement.seeds),
            "" if measurement.processor_s is None else f"{measurement.processor_s:.0f} s",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def unit_page(unit: GalleryUnit, measurement: MeasuredFigure) -> str:
    """Return the page of a unit."""
    return "\n".join(_page(unit, measurement, judge(unit, measurement))) + "\n"


def _page(unit: GalleryUnit, measurement: MeasuredFigure, judgement: Judgement) -> Iterator[str]:
    yield f"# {unit.title}\n"
    yield from (f"* {source.citation}: <{source.link}>" for source in unit.sources)
    yield f"\n**Verdict: {judgement.verdict}**"
    yield from (f"\n* {cause}" for cause in judgement.causes)
    yield f"\n![{unit.title}]({unit.name}.svg)\n"
    yield unit.page.strip() + "\n"
    yield "## Predictions\n"
    yield "| prediction | published | band | measured | |"
    yield "|---|---|---|---|---|"
    for each in judgement.predictions:
        prediction = each.prediction
        yield (
            f"| {prediction.claim} | {prediction.published} | {band(prediction)} |"
            f" {_measured(each)} | {each.words} |"
        )
    yield "\nWhy the bands end where they do:\n"
    yield from (f"* {each.claim}: {each.reason}" for each in unit.predictions)
    yield "\n## The published points\n"
    yield unit.how_read.strip() + "\n"
    if unit.points:
        yield "| series | x | published | measured | error | origin |"
        yield "|---|---|---|---|---|---|"
        for point in unit.points:
            measured = estimate_of(point, unit, measurement)
            error = _error(measured, point)
            shown = "-" if measured is None else str(measured)
            yield (
                f"| {point.series} | {point.x} | {point.value:g} | {shown} | {error} |"
                f" {point.origin} |"
            )
    yield "\n## How to repeat it\n"
    full = " --full" if measurement.size == "full" else ""
    yield f"    wanlab reproduce run {unit.name}{full}\n"
    yield (
        f"{measurement.runs} runs over {measurement.seeds} seeds, {_time(measurement)}wanlab"
        f" {measurement.wanlab}, kernel {measurement.kernel}. The experiment is"
        f" [{unit.experiment_file.name}](../../src/wanlab/gallery/units/{unit.name}/"
        f"{unit.experiment_file.name});"
        f" `wanlab reproduce show {unit.name}` says how to run it with other parameters."
    )


def estimate_of(
    point: PublishedPoint, unit: GalleryUnit, measurement: MeasuredFigure
) -> Estimate | None:
    """Return what was measured at a published point; None if the design has no such point."""
    axes = unit.axes
    parameters = {axes.over: point.x, **({axes.by: point.series} if axes.by else {})}
    measured = measurement.at(parameters)
    return None if measured is None else measured.metrics.get(axes.metric)


def _error(measured: Estimate | None, point: PublishedPoint) -> str:
    if measured is None or not point.value:
        return "-"
    return f"{measured.mean / point.value - 1:+.0%}"


def band(prediction: Prediction) -> str:
    return f"{prediction.low:g} to {prediction.high:g}"


def _measured(judged: JudgedPrediction) -> str:
    return "-" if judged.measured is None else str(judged.measured)


def _count(judgement: Judgement) -> str:
    holding = sum(each.holds for each in judgement.predictions)
    return f"{holding} of {len(judgement.predictions)}"


def _time(measurement: MeasuredFigure) -> str:
    if measurement.processor_s is None:
        return ""
    return f"{measurement.processor_s:.0f} s of processor time, "
