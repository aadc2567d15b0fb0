"""An HTML page about a sweep: its runs, figures, means, failures, and warnings.

The page is a single file that contains its figures as SVG. They are also written to separate files, as
SVG and as PDF for papers. The page contains no real times, so the same results give the same page.
"""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab import plot
from wanlab.errors import RecordError, WanlabError
from wanlab.jobs.store import replace_text
from wanlab.plot.spread import format_interval, interval
from wanlab.record import Provenance
from wanlab.run.run import KERNEL

from .charts import default_figures, draw, file_name
from .result_set import ResultSet, group_by_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "report.html"
MAX_ROWS = 500
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5em 0; } figure svg { max-width: 100%; height: auto; }
.warning { color: #b00000; } pre { background: #f5f5f5; padding: .6em;
  white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def write_report(results: ResultSet) -> Path:
    """Write the figures and the page; return the page's path."""
    sections = [*_head(results), *_figures(results), *_means(results), *_failures(results)]
    sections += provenance_section(results)
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(results.experiment)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )
    path = results.folder / PAGE
    replace_text(path, text)
    return path


def _head(results: ResultSet) -> Iterator[str]:
    yield f"<h1>{html.escape(results.experiment)}</h1>"
    for part in results.about.split("\n\n"):
        yield f"<p>{html.escape(part)}</p>"
    counts = [f"{len(results.results)} runs"]
    if results.failures:
        counts.append(f'<span class="warning">{len(results.failures)} failed</span>')
    if results.missing:
        counts.append(f'<span class="warning">{results.missing} missing</span>')
    yield f"<p>{', '.join(counts)}. The table: <code>results.parquet</code>.</p>"


def _figures(results: ResultSet) -> Iterator[str]:
    if not results.results:
        return
    for number, sentence in enumerate(results.plots or default_figures(results), start=1):
        try:
            figure = draw(sentence, results)
        except WanlabError as error:
            yield f'<p class="warning">{html.escape(str(error))}</p>'
            continue
        base = results.folder / "figures" / file_name(sentence, number)
        for ending in (".svg", ".pdf"):
            plot.save(figure, base.with_suffix(ending))
        yield f"<figure>{svg_text(figure)}</figure>"


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG element of a page."""
    from wanlab.plot.figure import style

    output = io.StringIO()
    with style():
        figure.savefig(output, format="svg", metadata={"Creator": "wanlab", "Date": None})
    text = output.getvalue()
    return text[text.index("<svg") :]


def _means(results: ResultSet) -> Iterator[str]:
    """Yield a table with a row per point: means over its seeds, with confidence intervals."""
    if not results.results:
        return
    units = {name: metric.unit for result in results for name, metric in result.metrics.items()}
    names = results.varied or tuple(results.results[0].parameters)
    head = [
        *names,
        "runs",
        *(f"{name} {f'({unit})' if unit else ''}" for name, unit in units.items()),
    ]
    yield "<h2>Means</h2><table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    groups = group_by_parameters(results.results, names)
    for point, group in list(groups.items())[:MAX_ROWS]:
        cells = [*map(str, point), str(len(group))]
        for name in units:
            values = [each.metrics[name].value for each in group if name in each.metrics]
            cells.append(format_interval(*interval(values)))
        yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    yield "</table>"
    if any(len(group) > 1 for group in groups.values()):
        what = "half the width of the 95 % confidence interval of the mean over the seeds"
        yield f"<p>± gives {what}.</p>"


def _failures(results: ResultSet) -> Iterator[str]:
    if results.failures:
        yield "<h2>Failed runs</h2>"
    for failure in results.failures:
        title = html.escape(failure.title(results.varied or tuple(failure.parameters)))
        yield f"<p><b>{title}</b></p><pre>{html.escape(str(failure))}</pre>"


def _provenances(results: ResultSet) -> dict[object, Provenance]:
    """Return for each kernel the provenance of its first run whose record can be read."""
    provenances: dict[object, Provenance] = {}
    for result in results.results:
        name = result.parameters.get(KERNEL, "")
        if name not in provenances:
            with contextlib.suppress(RecordError):
                provenances[name] = result.record.provenance
    return provenances


def provenance_section(results: ResultSet) -> Iterator[str]:
    """Yield warnings, and the provenance: only parameters, seeds and kernels differ between runs."""
    warnings = sorted({warning for result in results for warning in result.warnings})
    warnings += filter(None, [results.seeds_without_effect()])
    if warnings:
        yield "<h2>Warnings</h2>"
        yield from (f'<p class="warning">{html.escape(warning)}</p>' for warning in warnings)
    provenances = _provenances(results)
    if not provenances:
        return
    provenance = next(iter(provenances.values()))
    fixed = [
        f"{name} = {value}"
        for name, value in results.results[0].parameters.items()
        if name not in results.varied
    ]
    tools = [f"{name}: {version}" for name, version in provenance.tools.items()]
    kernels = {each.kernel_manifest: each.kernel_release for each in provenances.values()}
    lines = [
        f"wanlab {provenance.wanlab}, {provenance.machine} machine",
        *(f"kernel {release}, manifest {name or '-'}" for name, release in kernels.items()),
        f"clock {provenance.clock}, wire {provenance.wire}",
        *tools,
    ]
    if fixed:
        yield f"<h2>Constant parameters</h2><pre>{html.escape(chr(10).join(fixed))}</pre>"
    yield f"<h2>Provenance</h2><pre>{html.escape(chr(10).join(lines))}</pre>"
