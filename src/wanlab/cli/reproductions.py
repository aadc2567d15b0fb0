"""`wanlab reproduce`: runs the experiments of published figures and prints what they show."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.gallery import pages, unit_file
from wanlab.gallery.judgement import Judgement, judge
from wanlab.gallery.measure import Measuring
from wanlab.gallery.measurement import MeasuredFigure
from wanlab.gallery.unit import FULL, QUICK, GalleryUnit
from wanlab.gallery.wrapping import wrapped
from wanlab.network import MachineChoice
from wanlab.text_table import aligned

from . import sweeps

ALL = "all"
WIDTH = 100
UNCERTAIN = (
    "The means decide the verdict. ± is half the 95 % confidence interval over the seeds; where it"
    " reaches across an end of the band, other seeds might decide otherwise. The full design (--full)"
    " has more seeds."
)


def show_list(folder: Path | None, *, as_json: bool) -> int:
    """Print the figures with their sources."""
    units = _units(folder)
    if as_json:
        print(json.dumps([{"name": unit.name, "title": unit.title} for unit in units], indent=2))
        return 0
    rows = [(unit.name, unit.title, unit.sources[0].venue_and_year) for unit in units]
    for line in aligned(rows, "<<<"):
        print(line)
    return 0


def show(name: str, folder: Path | None, *, as_json: bool) -> int:
    """Print the published values and the predictions."""
    unit = unit_file.find(name, folder or unit_file.UNITS)
    if as_json:
        print(json.dumps({**asdict(unit), "folder": str(unit.folder)}, indent=2))
        return 0
    print("\n".join(_description(unit)))
    return 0


def _description(unit: GalleryUnit) -> Iterator[str]:
    yield unit.title + "\n"
    for source in unit.sources:
        yield from (_wrapped(source.citation.replace("*", "")), f"  {source.link}")
    yield f"\n{wrapped(unit.page).strip().replace('## ', '')}"
    yield "\nPredictions\n"
    for each in unit.predictions:
        yield _wrapped(f"* {each.claim}: {pages.band(each)} (published: {each.published})", "  ")
        yield _wrapped(f"  Why this band: {each.reason}", "  ")
    yield f"\nPublished points\n\n{_wrapped(unit.how_read.strip())}\n"
    for point in unit.points:
        line = f", {unit.axes.by} {point.series}" if unit.axes.by else ""
        place = f"{unit.axes.over} {point.x}{line}"
        yield _wrapped(f"* {place}: {point.value:g} ({point.origin})", "  ")
    yield "\nHow to run it\n"
    for size, option in ((QUICK, ""), (FULL, " --full")):
        design = unit.design(size)
        count = len(list(design.runs()))
        command = f"wanlab reproduce run {unit.name}{option}"
        yield f"    {command:50} {count} runs over {design.repeats} seeds"
    yield "\nTo run it with other parameters (the results are then in the folder results):\n"
    yield f"    wanlab sweep {unit.experiment_file} --set NAME=VALUE\n"
    defaults = (f"{name}={value}" for name, value in unit.experiment.parameters.items())
    yield _wrapped(f"  Parameters and defaults: {', '.join(defaults)}", "  ")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def run(
    names: Sequence[str],
    *,
    full: bool,
    jobs: int | None,
    scheduler: str,
    output: Path,
    units: Path | None,
    no_cache: bool,
    choice: MachineChoice,
    as_json: bool,
) -> int:
    """Perform the figures' sweeps and print their verdicts; return 1 if a run failed."""
    known = units or unit_file.UNITS
    chosen = [
        unit_file.find(name, known)
        for name in (unit_file.names(known) if ALL in names else dict.fromkeys(names))
    ]
    measuring = Measuring(output, known, jobs, scheduler, not no_cache, choice)
    measured = {unit.name: _measure(unit, FULL if full else QUICK, measuring) for unit in chosen}
    _print(chosen, measured, output, as_json=as_json)
    return 1 if any(each.failed for each in measured.values()) else 0


def report(folder: Path, units: Path | None, *, as_json: bool) -> int:
    """Write all pages again and print the verdicts."""
    all_units = _units(units)
    measured = pages.measured_units(folder, all_units, FULL)
    measured |= pages.measured_units(folder, all_units)
    if not measured:
        raise WanlabError(f"{folder} has no measurements", "make some: wanlab reproduce run all")
    pages.write_pages(folder, all_units)
    _print([unit for unit in all_units if unit.name in measured], measured, folder, as_json=as_json)
    if not as_json:
        print(f"index: {folder / pages.INDEX}")
    return 0


def _units(folder: Path | None) -> list[GalleryUnit]:
    known = folder or unit_file.UNITS
    return [unit_file.find(name, known) for name in unit_file.names(known)]


def _measure(unit: GalleryUnit, size: str, measuring: Measuring) -> MeasuredFigure:
    """Measure a figure, and show the progress."""
    with sweeps.shown(measuring.sweep(unit, size), unit.name) as listener:
        measured, lines = measuring.measure(unit, size, listener)
    for line in lines:
        print(line, file=sys.stderr)
    return measured


def _print(
    units: Sequence[GalleryUnit],
    measured: dict[str, MeasuredFigure],
    folder: Path,
    *,
    as_json: bool,
) -> None:
    judged = {unit.name: judge(unit, measured[unit.name]) for unit in units}
    if as_json:
        print(json.dumps([_as_json(unit, judged[unit.name], folder) for unit in units], indent=2))
        return
    for unit in units:
        for line in _lines(unit, judged[unit.name], folder):
            print(line)
    if any(not each.is_certain for one in judged.values() for each in one.predictions):
        print(_wrapped(UNCERTAIN))


def _lines(unit: GalleryUnit, judgement: Judgement, folder: Path) -> Iterator[str]:
    verdict = judgement.verdict.removesuffix(" because")
    yield f"{unit.name}: {verdict} ({judgement.count} predictions hold)"
    for each in judgement.predictions:
        band = pages.band(each.prediction)
        line = f"  {each.prediction.claim}: {each.measured_text} (band {band}): {each.words}"
        yield _wrapped(line, "    ")
    yield from (_wrapped(f"  cause: {cause}", "    ") for cause in judgement.causes)
    yield f"  page: {folder / unit.name}.md, figure: {folder / unit.name}.svg"


def _as_json(unit: GalleryUnit, judgement: Judgement, folder: Path) -> dict[str, object]:
    return {
        "name": unit.name,
        "verdict": judgement.verdict,
        "causes": list(judgement.causes),
        "predictions": [
            {
                "claim": each.prediction.claim,
                "band": [each.prediction.low, each.prediction.high],
                "measured": None if each.measured is None else asdict(each.measured),
                "holds": each.holds,
                "is_certain": each.is_certain,
            }
            for each in judgement.predictions
        ],
        "page": str(folder / f"{unit.name}.md"),
    }
