"""Write the pages of units and their index in Markdown, with the figures as SVG beside them.

A page follows from the unit's folder and its measurements. It contains no date and no time that a
computer took, so equal measurements give equal pages. A folder has NAME.json, from the quick design,
and full/NAME.json, from the full one. Only the index shows times, from computer/NAME.json beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from wanlab.shared_folder import output_folder
from wanlab.text_table import markdown, markdown_row

from .cost import UNKNOWN, Cost, estimated_full_s, read_cost
from .figure import draw
from .judgement import Judgement, judge
from .measurement import Estimate, MeasuredFigure, read_measurement
from .unit import FULL, QUICK, GalleryUnit, Prediction, PublishedPoint
from .unit_file import UNITS
from .wrapping import wrapped

INDEX = "README.md"
HEADS = (
    "figure",
    "prediction",
    "published",
    "band",
    "measured",
    "verdict",
    "seeds",
    "quick",
    "full",
)
DOCS = UNITS.parents[3] / "docs" / "evidence" / "gallery"
"""The folder of the pages that belong to a checkout."""
INTRODUCTION = """\
# The gallery: published figures, run again

How far do published results hold on today's Linux? `wanlab reproduce run NAME` repeats a published
figure on your computer and compares it with the publication. Each figure has a folder in {units}
with the experiment, the published points and predictions. A prediction states a quantity and a
*band*, the range that counts as agreement. The bands and their reasons were written down before the
first run, or the figure's page says what was known by then. A band may be wider than the published
range; the page says why. The verdict is computed from the predictions:

* **agrees**: for every prediction, the mean over the seeds is in the band.
* **differs because**: for some predictions, the mean is outside the band, and the figure's page
  names the cause, which was found in {records} of the runs. (The table says *differs*.)
* **not reproduced**: for some predictions, the mean is outside the band and we do not know why, or
  runs failed.

Only the means decide. ± is half the 95 % confidence interval over the seeds (Student's t). With two
seeds, it is nine times their standard deviation. *all seeds* means that all seeds give the same
value. If an end of the band lies inside this interval, other seeds might lead to another verdict.

Each experiment has two designs. A design is a set of parameter values and a number of seeds.
`wanlab reproduce run NAME` runs the *quick* one, and with `--full` the *full* one, which has more
seeds, mostly longer runs, and often more parameter values. `wanlab reproduce show NAME` prints the
predictions before you run a figure.

The table shows the first prediction of each figure, measured with the quick design, and in brackets
how many of its predictions hold. *quick* and *full* are the processor times of the two designs; on
two idle cores, a design takes half that real time. If a full design was run, its time is *measured*
and its verdict stands beside the time. (The time is missing if some of the runs came from the
cache.) Otherwise the time is *estimated*: scaled up from the quick design.

{table}

## How to add a figure

Copy one of the folders, and pass the folder that contains your copy as `--units FOLDER`. A figure's
folder holds

* `NAME.py`: the experiment, with a quick and a full design ({sweeps});
* `published.csv`: the published points, each with its origin;
* `unit.yaml`: sources, axes and predictions. Write each band and its reason before the first run.
  If a prediction fails, find out why from the records and write the `cause` beside it, but do not
  change the band;
* `page.md`: what the publication claims, and how the experiment tests it.

The pages in `docs/evidence/gallery` of a checkout are written by `wanlab reproduce run all --output
docs/evidence/gallery` (with `--full` for the full designs) and then `wanlab reproduce report
docs/evidence/gallery`.
"""
CAPTION = (
    "Dots: means over the seeds. Shaded areas and error bars: their 95 % confidence intervals. On a"
    " logarithmic axis, an interval that includes 0 is drawn down to the axis. Open squares: published"
    " values, or values for comparison where nothing was published; their origin is given below."
)


Measurements = Mapping[str, MeasuredFigure]
"""Measurements by the names of their units."""
Costs = Mapping[tuple[str, str], Cost]
"""Costs by the names of their units, and quick or full."""


def measurement_path(folder: Path, name: str, size: str) -> Path:
    """Return the file with a unit's measurement."""
    return (folder / FULL if size == FULL else folder) / f"{name}.json"


def measured_units(
    folder: Path, units: Sequence[GalleryUnit], size: str = QUICK
) -> dict[str, MeasuredFigure]:
    """Return the measurements of the quick or the full designs that a folder has."""
    return {
        unit.name: read_measurement(path)
        for unit in units
        if (path := measurement_path(folder, unit.name, size)).is_file()
    }


def write_pages(folder: Path, units: Sequence[GalleryUnit], *, index: bool = True) -> None:
    """Write the page and the figure of each unit that was measured, and the index of all."""
    from wanlab import plot

    quick, full = measured_units(folder, units), measured_units(folder, units, FULL)
    for unit in units:
        if measurement := quick.get(unit.name) or full.get(unit.name):
            text = unit_page(unit, measurement, full.get(unit.name), folder=folder)
            output_folder(folder).write(f"{unit.name}.md", text.encode())
            plot.save(draw(unit, measurement), folder / f"{unit.name}.svg")
    if index:
        text = index_page(units, quick, full, costs_of(folder, units), folder=folder)
        output_folder(folder).write(INDEX, text.encode())


def costs_of(folder: Path, units: Sequence[GalleryUnit]) -> Costs:
    """Return the costs that a folder has."""
    return {
        (unit.name, size): read_cost(measurement_path(folder, unit.name, size))
        for unit in units
        for size in (QUICK, FULL)
    }


def index_page(
    units: Sequence[GalleryUnit],
    quick: Measurements,
    full: Measurements,
    costs: Costs,
    *,
    folder: Path = DOCS,
) -> str:
    """Return the page with the table of all units, whose links work in this folder."""
    page = INTRODUCTION.format(
        units=_link("src/wanlab/gallery/units", UNITS, folder),
        records=_link("the records", DOCS.parents[1] / "reference" / "record.md", folder),
        sweeps=_link("sweeps", DOCS.parents[1] / "how-to" / "sweeps.md", folder),
        table="\n".join(_index_table(units, quick, full, costs)),
    )
    return wrapped(page)


def _link(text: str, target: Path, folder: Path) -> str:
    """Return a relative link from a page in the folder; only the text if there is no such file."""
    return f"[{text}]({quote(os.path.relpath(target, folder))})" if target.exists() else text


def _index_table(
    units: Sequence[GalleryUnit], quick: Measurements, full: Measurements, costs: Costs
) -> Iterator[str]:
    """Yield the first prediction of each unit, the verdict, seeds and times."""
    yield from markdown(HEADS, ())
    for unit in units:
        head = f"[{unit.title}]({unit.name}.md) ({unit.sources[0].venue_and_year})"
        measurement = quick.get(unit.name) or full.get(unit.name)
        if measurement is None:
            yield f"| {unit.title} | | | | | not measured | | | |"
            continue
        judgement = judge(unit, measurement)
        first = judgement.predictions[0]
        cells = [
            head,
            first.prediction.claim,
            first.prediction.published,
            band(first.prediction),
            first.measured_text,
            f"{_word(judgement)} ({judgement.count})",
            str(measurement.seeds),
            _seconds(costs.get((unit.name, QUICK), UNKNOWN).processor_s),
            _full_time(unit, full.get(unit.name), costs),
        ]
        yield markdown_row(cells)


def _full_time(unit: GalleryUnit, full: MeasuredFigure | None, costs: Costs) -> str:
    """Return the cell of the full design: its time and verdict, or an estimate of its time."""
    if full is not None:
        judgement = judge(unit, full)
        verdict = f"{_word(judgement)} ({judgement.count})"
        processor_s = costs.get((unit.name, FULL), UNKNOWN).processor_s
        return f"{_seconds(processor_s)} measured: {verdict}".strip()
    estimate = estimated_full_s(unit, costs.get((unit.name, QUICK), UNKNOWN))
    return "" if estimate is None else f"{_seconds(estimate)} estimated"


def _word(judgement: Judgement) -> str:
    return judgement.verdict.removesuffix(" because")


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def unit_page(
    unit: GalleryUnit,
    measurement: MeasuredFigure,
    full: MeasuredFigure | None = None,
    *,
    folder: Path = DOCS,
) -> str:
    """Return the page of a unit, whose full design may have been measured too.

    The links of the page work in this folder.
    """
    if full is None or full == measurement:
        lines = [*_page(unit, measurement, judge(unit, measurement), None)]
    else:
        of_full = judge(unit, full)
        lines = [*_page(unit, measurement, judge(unit, measurement), of_full)]
        lines += _full_section(unit, full, of_full)
    return wrapped("\n".join([*lines, *_repetition(unit, measurement, folder)]))


def _page(
    unit: GalleryUnit,
    measurement: MeasuredFigure,
    judgement: Judgement,
    judgement_of_full: Judgement | None,
) -> Iterator[str]:
    yield f"# {unit.title}\n"
    yield from (f"* {source.citation}: <{source.link}>" for source in unit.sources)
    yield f"\n**Verdict: {judgement.verdict}**"
    yield from (f"\n* {cause}" for cause in judgement.causes)
    if judgement_of_full is not None and judgement_of_full.verdict != judgement.verdict:
        yield f"\nWith the [full design](#the-full-design), the verdict is: {_word(judgement_of_full)}."
    yield f"\n![{unit.title}]({unit.name}.svg)\n"
    yield CAPTION + "\n"
    yield unit.page.strip() + "\n"
    yield "## Predictions\n"
    yield from _predictions(judgement)
    yield "\nWhy the bands end where they do:\n"
    yield from (f"* {each.claim}: {each.reason}" for each in unit.predictions)
    yield "\n## The published points\n"
    yield unit.how_read.strip() + "\n"
    if unit.points:
        yield "The differences are for comparison; only the predictions decide the verdict.\n"
        axes = unit.axes
        series = [axes.by or "series"] if _has_series(unit) else []
        heads = (*series, axes.over, "published", "measured", "difference", "origin")
        yield from markdown(
            heads, [_point_cells(point, unit, measurement) for point in unit.points]
        )


def _point_cells(
    point: PublishedPoint, unit: GalleryUnit, measurement: MeasuredFigure
) -> tuple[str, ...]:
    """Return the cells of a published point, without the series if the figure has only one."""
    measured = estimate_of(point, unit, measurement)
    shown = "-" if measured is None else str(measured)
    value, difference = f"{point.value:g}", _difference(measured, point)
    series = [point.series] if _has_series(unit) else []
    return (*series, point.x, value, shown, difference, point.origin)


def _has_series(unit: GalleryUnit) -> bool:
    return any(point.series for point in unit.points)


def _predictions(judgement: Judgement) -> Iterator[str]:
    yield "| prediction | published | band | measured | the mean is |"
    yield "|---|---|---|---|---|"
    for each in judgement.predictions:
        prediction = each.prediction
        claim, published = prediction.claim, prediction.published
        yield markdown_row((claim, published, band(prediction), each.measured_text, each.words))


def _full_section(
    unit: GalleryUnit, measurement: MeasuredFigure, judgement: Judgement
) -> Iterator[str]:
    yield "\n## The full design\n"
    yield (
        f"Verdict: {_word(judgement)}. {measurement.runs} runs over {measurement.seeds} seeds, "
        f"{_conditions(unit, measurement)}. To repeat it:"
        f" `wanlab reproduce run {unit.name} --full`.\n"
    )
    yield from _predictions(judgement)
    if judgement.causes:
        some = any(not (one.holds or one.prediction.cause) for one in judgement.predictions)
        yield f"\n{'Known causes' if some else 'Why it differs'}:\n"
        yield from (f"* {cause}" for cause in judgement.causes)


def _repetition(unit: GalleryUnit, measurement: MeasuredFigure, folder: Path) -> Iterator[str]:
    yield "\n## How to repeat it\n"
    full = " --full" if measurement.size == FULL else ""
    yield f"    wanlab reproduce run {unit.name}{full}\n"
    yield (
        f"{measurement.runs} runs over {measurement.seeds} seeds, {_conditions(unit, measurement)}."
        " The experiment is"
        f" {_link(unit.experiment_file.name, unit.experiment_file, folder)}. To run it with other"
        " parameters, use `wanlab sweep FILE --set NAME=VALUE`;"
        f" `wanlab reproduce show {unit.name}` prints the path of FILE and the parameters."
    )


def estimate_of(
    point: PublishedPoint, unit: GalleryUnit, measurement: MeasuredFigure
) -> Estimate | None:
    """Return the measurement at a published point; None if the design has no such point."""
    axes = unit.axes
    parameters = {axes.over: point.x, **({axes.by: point.series} if axes.by else {})}
    measured = measurement.at(parameters)
    return None if measured is None else measured.metrics.get(axes.metric)


def _difference(measured: Estimate | None, point: PublishedPoint) -> str:
    if measured is None or not point.value:
        return "-"
    return f"{measured.mean / point.value - 1:+.0%}"


def band(prediction: Prediction) -> str:
    return f"{prediction.low:g} to {prediction.high:g}"


def _conditions(unit: GalleryUnit, measurement: MeasuredFigure) -> str:
    """Return the versions, and the parameters that the whole design sets."""
    versions = [f"wanlab {measurement.wanlab}", f"kernel {measurement.kernel}"]
    return ", ".join([*versions, *_fixed_parameters(unit, measurement)])


def _fixed_parameters(unit: GalleryUnit, measurement: MeasuredFigure) -> Iterator[str]:
    """Yield the parameters that have the same value in all runs, and not their default."""
    for name, default in unit.experiment.parameters.items():
        values = {str(point.parameters.get(name, default)) for point in measurement.points}
        if len(values) == 1 and values != {str(default)}:
            yield f"{name} = {values.pop()}"
