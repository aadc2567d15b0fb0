"""A page with all that is known of a sweep: what was done, figures, means, failures, warnings.

One HTML file that needs nothing else: figures are in it as SVG. They are beside it, too, as SVG and PDF
for papers. The page holds no times of the computer's: the same results are the same page.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab import plot
from wanlab.errors import WanlabError
from wanlab.plot.spread import interval

from .charts import draw, groups_of, name_of, usual
from .folder import replace_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .sweep import Results

PAGE = "report.html"
MOST_ROWS = 500
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5em 0; } figure svg { max-width: 100%; height: auto; }
.warning { color: #b00000; } pre { background: #f5f5f5; padding: .6em; overflow-x: auto; }
"""


def write_report(results: Results) -> Path:
    """Figures and the page; returns its path."""
    sections = [*_head(results), *_figures(results), *_means(results), *_failures(results)]
    sections += _origin(results)
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(results.experiment)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )
    path = results.folder / PAGE
    replace_text(path, text)
    return path


def _head(results: Results) -> Iterator[str]:
    yield f"<h1>{html.escape(results.experiment)}</h1>"
    for part in results.about.split("\n\n"):
        yield f"<p>{html.escape(part)}</p>"
    said = [f"{len(results.results)} runs"]
    if results.failures:
        said.append(f'<span class="warning">{len(results.failures)} have failed</span>')
    if results.missing:
        said.append(f'<span class="warning">{results.missing} are missing</span>')
    yield f"<p>{', '.join(said)}. The table: <code>results.parquet</code>.</p>"


def _figures(results: Results) -> Iterator[str]:
    if not results.results:
        return
    for number, sentence in enumerate(results.plots or usual(results), start=1):
        try:
            figure = draw(sentence, results)
        except WanlabError as error:
            yield f'<p class="warning">{html.escape(str(error))}</p>'
            continue
        base = results.folder / "figures" / name_of(sentence, number)
        for ending in (".svg", ".pdf"):
            plot.save(figure, base.with_suffix(ending))
        yield f"<figure>{svg_text(figure)}</figure>"


def svg_text(figure: Figure) -> str:
    """A figure as an element of a page."""
    from wanlab.plot.figure import style

    made = io.StringIO()
    with style():
        figure.savefig(made, format="svg", metadata={"Creator": "wanlab", "Date": None})
    text = made.getvalue()
    return text[text.index("<svg") :]


def _means(results: Results) -> Iterator[str]:
    """A row per point: means over its seeds, with half the width of their confidence interval."""
    if not results.results:
        return
    metrics = {name: one.unit for result in results for name, one in result.metrics.items()}
    names = results.varied or tuple(results.results[0].parameters)
    head = [
        *names,
        "runs",
        *(f"{name} {f'({unit})' if unit else ''}" for name, unit in metrics.items()),
    ]
    yield "<h2>Means</h2><table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    for point, group in groups_of(results.results, names)[:MOST_ROWS]:
        cells = [*map(str, point), str(len(group))]
        for name in metrics:
            values = [one.metrics[name].value for one in group if name in one.metrics]
            cells.append(_with_interval(*interval(values)))
        yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    yield "</table>"
    yield "<p>After ± stands half the width of the mean's 95 % confidence interval over the seeds.</p>"


def _with_interval(mean: float, half: float) -> str:
    if mean != mean:
        return "-"
    return f"{mean:.4g}" if half != half else f"{mean:.4g} ± {half:.2g}"


def _failures(results: Results) -> Iterator[str]:
    if results.failures:
        yield "<h2>Failed runs</h2>"
    for failure in results.failures:
        title = html.escape(failure.title(results.varied or tuple(failure.parameters)))
        yield f"<p><b>{title}</b></p><pre>{html.escape(str(failure))}</pre>"


def _origin(results: Results) -> Iterator[str]:
    """Of the first run; what differs between runs are parameters and seeds."""
    warnings = sorted({warning for result in results for warning in result.warnings})
    if warnings:
        yield "<h2>Warnings</h2>"
        yield from (f'<p class="warning">{html.escape(warning)}</p>' for warning in warnings)
    if not results.results:
        return
    origin = results.results[0].record.provenance
    fixed = [
        f"{name} = {value}"
        for name, value in results.results[0].parameters.items()
        if name not in results.varied
    ]
    tools = [f"{name}: {version}" for name, version in origin.tools.items()]
    lines = [
        f"wanlab {origin.wanlab}, {origin.machine} machine, kernel {origin.kernel_release}",
        f"kernel manifest {origin.kernel_manifest or '-'}",
        f"clock {origin.clock}, wire {origin.wire}",
        *tools,
    ]
    if fixed:
        yield f"<h2>What was the same in all runs</h2><pre>{html.escape(chr(10).join(fixed))}</pre>"
    yield f"<h2>Origin</h2><pre>{html.escape(chr(10).join(lines))}</pre>"
