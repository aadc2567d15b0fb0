"""`wanlab reproduce`: runs the experiments of published figures and prints what they show."""

from __future__ import annotations

import json
import resource
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from wanlab import Sweep
from wanlab.errors import WanlabError
from wanlab.experiments import SweepProgress
from wanlab.gallery import pages, unit_file
from wanlab.gallery.judgement import Judgement, judge
from wanlab.gallery.measurement import MeasuredFigure, measurement_of, read_measurement
from wanlab.gallery.unit import FULL, QUICK, GalleryUnit
from wanlab.gallery.wrapping import wrapped
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
    as_json: bool,
) -> int:
    """Perform the figures' sweeps and print their verdicts; return 1 if a run failed."""
    known = units or unit_file.UNITS
    chosen = [
        unit_file.find(name, known)
        for name in (unit_file.names(known) if ALL in names else dict.fromkeys(names))
    ]
    measured = {
        unit.name: _measure(unit, FULL if full else QUICK, jobs, scheduler, output, no_cache, known)
        for unit in chosen
    }
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


def _measure(
    unit: GalleryUnit,
    size: str,
    jobs: int | None,
    scheduler: str,
    output: Path,
    no_cache: bool,
    known: Path,
) -> MeasuredFigure:
    """Perform one figure's sweep; keep its measurement, its page and its figure."""
    design = unit.design(size)
    runs = output / "runs" / f"{unit.name}-{size}"
    task = Sweep(unit.experiment, design, output=runs)
    began_s, cpu_began_s = time.monotonic(), _processor_s()
    cached = 0
    with sweeps.shown(task, unit.name) as listener:

        def note(state: SweepProgress) -> None:
            nonlocal cached
            cached = state.cached
            listener(state)

        results = task.run(
            jobs=jobs,
            uses_cache=not no_cache,
            retry_failed=True,
            scheduler=scheduler,
            progress=note,
        )
    for failure in results.failures:
        print(f"failed: {failure.title(results.varied)}: {failure}", file=sys.stderr)
    measurement = measurement_of(
        unit.name,
        size,
        results,
        seeds=design.repeats,
        real_s=None if cached else time.monotonic() - began_s,
        processor_s=None if cached or scheduler else _processor_s() - cpu_began_s,
    )
    path = pages.measurement_path(output, unit.name, size)
    if cached:
        measurement = _with_earlier_times(measurement, path)
        if measurement.real_s is None:
            print(
                f"{unit.name}: {cached} of {measurement.runs} runs were performed earlier, so the page"
                f" gives no time (to measure it, delete {runs} and use --no-cache)",
                file=sys.stderr,
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(measurement.to_json(), encoding="utf-8")
    if results.results:
        pages.write_pages(output, [unit_file.find(unit.name, known)], index=False)
    return measurement


def _with_earlier_times(measurement: MeasuredFigure, path: Path) -> MeasuredFigure:
    """Add how long the same measurement took when it was performed, if `path` says so."""
    with suppress(WanlabError):
        earlier = read_measurement(path)
        if earlier.points == measurement.points:
            return replace(measurement, real_s=earlier.real_s, processor_s=earlier.processor_s)
    return measurement


def _processor_s() -> float:
    """Return the processor time of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
