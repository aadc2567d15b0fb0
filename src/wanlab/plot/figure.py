"""Draw panels with matplotlib: stacked over one time axis, or with runs side by side.

       Throughput | ~~~~~~~          1 BDP            10 BDP
              RTT | ~~~~~~~          ~~~~~~~  ~~~~~~~
            Queue | ~~~~~~~          ~~~~~~~  ~~~~~~~
                   time                   same scale
             timeline                     comparison

Nothing here uses pyplot: a figure is an object, and drawing it leaves no global state behind. The
look of a figure does not depend on the user's matplotlibrc. Lines differ in dashes as well as in
colour, so that they can be distinguished in black and white.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter
from numpy.typing import NDArray

from wanlab.errors import WanlabError
from wanlab.plot.panel import Limit, Line, Panel, cumulative, decimate
from wanlab.shared_folder import file_error, output_folder, write_output

LineStyle = dict[str, Any]
"""Arguments or settings of matplotlib, by name."""

_STYLE: LineStyle = {
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "0.85",
    "axes.axisbelow": True,
    "lines.linewidth": 1.0,
    "svg.fonttype": "path",  # the same look where the font is missing
    "svg.hashsalt": "wanlab",  # reproducible ids
    "savefig.dpi": 150,
}
# Okabe and Ito's colours, which most colour-blind readers can tell apart. In black and white the lines
# differ by their dashes, and by a few markers where the dashes are too dense to see.
LINE_STYLES: tuple[LineStyle, ...] = (
    {"color": "black", "linestyle": "-"},
    {"color": "#0072B2", "linestyle": (0, (5, 1.5))},
    {"color": "#D55E00", "linestyle": (0, (1.2, 1.2))},
    {"color": "#009E73", "linestyle": (0, (5, 1.2, 1.2, 1.2))},
    {"color": "#56B4E9", "linestyle": (0, (9, 2))},
    {"color": "#E69F00", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#CC79A7", "linestyle": (0, (1, 3))},
    {"color": "0.5", "linestyle": (0, (12, 2, 3, 2))},
)
MARKERS = ("o", "s", "^", "D", "v", "x", "+", "*")
_MARKERS_PER_LINE = 12
_MAX_MARKED_POINTS = 400  # more points than this are drawn as dots
_LIMIT: LineStyle = {"color": "0.35", "linestyle": (0, (6, 4)), "linewidth": 0.9}

_PANEL_HEIGHT = 1.55  # inches
_TIMELINE_WIDTH = 7.5
_RUN_WIDTH = 3.4
_DISTRIBUTION_HEIGHT = 2.4
_LEGEND_HANDLE_WIDTH = 0.55
_LEGEND_LETTER_WIDTH = 0.065
_LEGEND_ROW_HEIGHT = 11  # points
_TITLE_PAD = 4
_MARGIN = 0.01
_MAX_START_SHARE = 0.2  # a time axis that starts within this share of its end starts at 0
_MAX_LEGEND_ENTRIES = 8

# No dates and versions, so that the same figure gives the same file.
_METADATA: dict[str, dict[str, object]] = {
    ".pdf": {"Creator": "wanlab", "Producer": None, "CreationDate": None},
    ".svg": {"Creator": "wanlab", "Date": None},
    ".png": {"Software": "wanlab"},
}


class Drawing(Figure):
    """A figure that a notebook can display."""

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        with style():
            self.savefig(text, format="svg", metadata=_METADATA[".svg"])
        return text.getvalue()


def timeline(panels: Sequence[Panel], *, title: str = "", height: float = _PANEL_HEIGHT) -> Figure:
    """Draw panels above each other over one time axis; each is `height` inches high."""
    return _draw({title: panels}, width=_TIMELINE_WIDTH, height=height)


def comparison(
    runs: Mapping[str, Sequence[Panel]], *, title: str = "", same_scale: bool = True
) -> Figure:
    """Draw a column of panels for each run; every run has the same panels, in the same order.

    With `same_scale` the panels of a row also share their vertical axis.
    """
    width = max(_TIMELINE_WIDTH, _RUN_WIDTH * len(runs))
    return _draw(runs, width=width, title=title, same_scale=same_scale)


def distribution(
    panels: Sequence[Panel], *, title: str = "", is_logarithmic: bool = False
) -> Figure:
    """Draw the empirical CDF of each panel's lines; with `is_logarithmic`, over a logarithmic axis."""
    if not panels:
        raise WanlabError("there is nothing to draw", "pass at least one panel")
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    with style():
        size = (_TIMELINE_WIDTH, _DISTRIBUTION_HEIGHT * rows + 0.6)
        figure = Drawing(figsize=size)
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            lines = [cumulative(line) for line in panel.lines]
            _draw_lines(axes, lines, _TIMELINE_WIDTH / columns)
            for limit in panel.limits:
                label = f"{limit.label} {limit.value:.3g} {panel.unit}"
                axes.axvline(limit.value, label=label, **_LIMIT)
            axes.set_ylim(0, 1.02)
            if is_logarithmic:
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.set_xlabel(f"{panel.title} ({panel.unit or 'count'})")
            draw_legend(axes, _TIMELINE_WIDTH / columns)
        for axes in grid[::columns]:
            axes.set_ylabel("Share of readings")
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        if title:
            figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
        draw_warnings(figure, _warnings(panels), _TIMELINE_WIDTH)
    return figure


def overlay(runs: Mapping[str, Sequence[Panel]]) -> list[Panel]:
    """Merge the panels of all runs, for `timeline`; labels begin with the run's name."""
    return [
        Panel(
            rows[0].title,
            rows[0].unit,
            tuple(
                Line(_join(run, line.label if len(panel.lines) > 1 else ""), *_data(line))
                for run, panel in zip(runs, rows, strict=True)
                for line in panel.lines
            ),
            tuple(
                Limit(_join(run, limit.label), limit.value)
                for run, panel in zip(runs, rows, strict=True)
                for limit in panel.limits
            ),
            _warnings(rows),
        )
        for rows in _rows(runs)
    ]


def save(figure: Figure, path: str | os.PathLike[str], *, quick: bool = False) -> None:
    """Write the figure as .pdf, .svg or .png; the same figure always gives the same bytes.

    A `quick` PDF takes a third of the time. It embeds Type 3 fonts, which look the same, but drawing
    programs and some publishers do not accept them.
    """
    path = Path(path)
    if path.suffix not in _METADATA:
        raise WanlabError(
            f"{path}: cannot write a figure as {path.suffix!r}",
            f"use one of {', '.join(_METADATA)}",
        )
    # If the disk is full, matplotlib's PDF writer hides the error behind an AttributeError.
    picture = io.BytesIO()
    with style(), matplotlib.rc_context({"pdf.fonttype": 3 if quick else 42}):
        figure.savefig(picture, format=path.suffix[1:], metadata=_METADATA[path.suffix])
    try:
        output_folder(path.parent).make()
        write_output(path, picture.getvalue())
    except OSError as error:
        raise file_error("write", path, error) from error


def _draw(
    runs: Mapping[str, Sequence[Panel]],
    *,
    width: float,
    height: float = _PANEL_HEIGHT,
    title: str = "",
    same_scale: bool = False,
) -> Figure:
    rows = _rows(runs)
    with style():
        figure = Drawing(figsize=(width, height * len(rows) + 0.6))
        grid = figure.subplots(
            len(rows),
            len(runs),
            squeeze=False,
            sharex=True,
            sharey="row" if same_scale else False,
        )
        top_legend_rows = [0]
        for index, (axes_row, panels) in enumerate(zip(grid, rows, strict=True)):
            for axes, panel in zip(axes_row, panels, strict=True):
                legend_rows = _draw_panel(axes, panel, width / len(runs))
                top_legend_rows += [legend_rows] if index == 0 else []
                _scale([axes], [panel])
            if same_scale:
                _scale(axes_row, panels)
            axes_row[0].set_ylabel(f"{panels[0].title}\n({panels[0].unit or 'count'})")
        for axes, name in zip(grid[0], runs, strict=True):
            pad = _TITLE_PAD + _LEGEND_ROW_HEIGHT * max(top_legend_rows)
            axes.set_title(name, fontweight="bold", loc="left", pad=pad)
        for axes in grid[-1]:
            axes.set_xlabel("Time (s)")
        _begin_at_zero(grid[0, 0], [panel for panels in rows for panel in panels])
        figure.align_ylabels(grid[:, 0])
        if title:
            figure.suptitle(title)
        draw_warnings(figure, _warnings([panel for panels in rows for panel in panels]), width)
    return figure


def _draw_panel(axes: Axes, panel: Panel, width: float) -> int:
    """Draw a panel; return the number of rows of its legend."""
    _draw_lines(axes, panel.lines, width)
    for limit in panel.limits:
        label = f"{limit.label} {limit.value:.3g} {panel.unit}"
        axes.axhline(limit.value, label=label, **_LIMIT)
    return draw_legend(axes, width)


def _draw_lines(axes: Axes, lines: Sequence[Line], width: float) -> None:
    pixels = int(width * _STYLE["savefig.dpi"])
    for number, line in enumerate(lines):
        times_s, values = decimate(line.times_s, line.values, pixels)
        style = _line_style(number, len(lines), points=len(values) if line.points else 0)
        if not np.isfinite(values).any():
            style.pop("markevery", None)  # matplotlib cannot place markers along an empty line
        axes.plot(times_s, values, label=line.label, **style)
    axes.margins(x=_MARGIN)


def draw_legend(axes: Axes, width: float) -> int:
    """Draw the legend above the panel, where it hides nothing; return its number of rows."""
    entries, labels = axes.get_legend_handles_labels()
    named = [(entry, label) for entry, label in zip(entries, labels, strict=True) if label]
    if not 1 < len(named) <= _MAX_LEGEND_ENTRIES:
        return 0
    longest = max(len(label) for _, label in named)
    columns = max(1, int(width / (_LEGEND_HANDLE_WIDTH + _LEGEND_LETTER_WIDTH * longest)))
    axes.legend(
        *zip(*named, strict=True),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.01),
        ncols=columns,
        borderpad=0,
        borderaxespad=0,
        handlelength=2.4,
        columnspacing=1.2,
    )
    return -(-len(named) // columns)


def _line_style(number: int, count: int, *, points: int) -> LineStyle:
    """Return the style of line `number` of `count`; `points` is 0 if its readings are joined."""
    style = LINE_STYLES[number % len(LINE_STYLES)]
    marker: LineStyle = {"marker": MARKERS[number % len(MARKERS)], "fillstyle": "none"}
    if points:
        size = 3 if points <= _MAX_MARKED_POINTS else 1.2
        return style | marker | {"linestyle": "", "markersize": size}
    if count == 1:
        return style
    # Offset the markers of each line, so that lines on top of each other do not hide them.
    offset = (number + 0.5) / count / _MARKERS_PER_LINE
    return style | marker | {"markersize": 3.5, "markevery": (offset, 1 / _MARKERS_PER_LINE)}


def _scale(group: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Give all axes the same vertical scale, from 0 (or below) to a little above the highest value."""
    lines = [line.values for panel in panels for line in panel.lines]
    limits = [limit.value for panel in panels for limit in panel.limits]
    values = np.concatenate([[0.0], limits, *lines])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    for axes in group:
        axes.set_ylim(low, high + (high - low) / 16 if high > low else 1.0)


def _begin_at_zero(axes: Axes, panels: Sequence[Panel]) -> None:
    """Start the time axis at 0 if the first reading is early, as one at an interval's end is."""
    times = np.concatenate([[np.nan], *(line.times_s for panel in panels for line in panel.lines)])
    if np.isnan(times).all():
        return
    first, last = float(np.nanmin(times)), float(np.nanmax(times))
    if 0 < first <= _MAX_START_SHARE * last:
        axes.set_xlim(left=-_MARGIN * last)


def draw_warnings(figure: Figure, warnings: Sequence[str], width: float) -> None:
    """Write the warnings below the figure."""
    if warnings:
        text = "Warning: " + "; ".join(warnings)
        figure.supxlabel(
            fill(text, width=int(16 * width)), fontsize=7.5, x=0.01, ha="left", color="#B00000"
        )


def _rows(runs: Mapping[str, Sequence[Panel]]) -> list[tuple[Panel, ...]]:
    """Return the panels by row; a row holds the same quantity of every run."""
    if not runs or not all(runs.values()):
        raise WanlabError("there is nothing to draw", "pass at least one run with one panel")
    first, *others = runs
    for other in others:
        for expected, panel in zip(runs[first], runs[other], strict=False):
            if (expected.title, expected.unit) != (panel.title, panel.unit):
                raise WanlabError(
                    f"{other!r} has {panel.title} ({panel.unit}) where"
                    f" {first!r} has {expected.title} ({expected.unit})"
                )
        if len(runs[first]) != len(runs[other]):
            raise WanlabError(
                f"{first!r} has {len(runs[first])} panels and {other!r} has {len(runs[other])}"
            )
    return list(zip(*runs.values(), strict=True))


def _warnings(panels: Sequence[Panel]) -> tuple[str, ...]:
    """Return each warning once, in order."""
    return tuple(dict.fromkeys(warning for panel in panels for warning in panel.warnings))


def _data(line: Line) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    return line.times_s, line.values, line.points


def _join(run: str, label: str) -> str:
    return f"{run} {label}".strip()


@contextmanager
def style() -> Iterator[None]:
    """Use wanlab's matplotlib settings inside the block."""
    with matplotlib.style.context(["default", _STYLE]):
        yield
