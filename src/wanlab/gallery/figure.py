"""Draw published and measured values in one figure.

Lines with bands are ours: means over the seeds with their 95 % confidence intervals. Open squares are
the published points, in the colour of the line that they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wanlab.errors import WanlabError
from wanlab.sweep.captions import capitalised, words

from .measurement import Estimate, MeasuredFigure
from .unit import GalleryUnit

if TYPE_CHECKING:
    from matplotlib.axes import Axes as MatplotlibAxes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 5.6, 3.2
LOGARITHMIC_FROM = 16.0
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""
BAND_ALPHA = 0.18
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(\D*)")

Line = dict[str, Estimate]
"""Measured values, by the value of the parameter on the horizontal axis."""


@dataclass(frozen=True)
class _Ticks:
    """The values on the horizontal axis, in order."""

    positions: dict[str, float]
    texts: list[str]
    unit: str
    is_numeric: bool
    """Whether the values are numbers of one unit, so that lines may join them."""

    @property
    def is_logarithmic(self) -> bool:
        low, high = min(self.positions.values()), max(self.positions.values())
        return self.is_numeric and low > 0 and high / low >= LOGARITHMIC_FROM


def draw(unit: GalleryUnit, measurement: MeasuredFigure) -> Figure:
    """Draw a unit. Raises WanlabError if nothing was measured."""
    from wanlab.plot.figure import LINE_STYLES, Drawing, draw_legend, style

    lines = _lines(unit, measurement)
    if not lines:
        raise WanlabError(f"{unit.name}: there is nothing to draw", "no run has succeeded")
    published: dict[str, list[tuple[str, float]]] = {}
    for each in unit.points:
        published.setdefault(each.series, []).append((each.x, each.value))
    ticks = _ticks(
        [*(x for line in lines.values() for x in line), *(each.x for each in unit.points)]
    )
    with style():
        figure = Drawing(figsize=(WIDTH, HEIGHT))
        axes = figure.subplots()
        for number, name in enumerate(dict.fromkeys([*lines, *published])):
            line_style = LINE_STYLES[number % len(LINE_STYLES)]
            label = _line_label(unit, name)
            if name in lines:
                _draw_line(axes, label, lines[name], ticks, line_style)
            if name in published:
                axes.plot(
                    [ticks.positions[x] for x, _ in published[name]],
                    [value for _, value in published[name]],
                    linestyle="",
                    marker="s",
                    markersize=6,
                    fillstyle="none",
                    color=line_style["color"],
                    label=f"{label}, published".removeprefix(", "),
                )
        if ticks.is_logarithmic:
            axes.set_xscale("log")
        axes.set_xticks(list(ticks.positions.values()), ticks.texts)
        axes.minorticks_off()
        name = capitalised(words(unit.axes.over, unit.experiment.labels))
        axes.set_xlabel(f"{name} ({ticks.unit})" if ticks.unit else name)
        axes.set_ylabel(unit.axes.label)
        shown = [estimate.mean for line in lines.values() for estimate in line.values()]
        _scale_values(axes, [*shown, *(each.value for each in unit.points)])
        draw_legend(axes, WIDTH)
    return figure


def _line_label(unit: GalleryUnit, name: str) -> str:
    """Return the name of a line. A number alone does not say of what, so its parameter is added."""
    if unit.axes.by and name[:1].isdigit():
        return f"{words(unit.axes.by, unit.experiment.labels)} {name}"
    return name


def _lines(unit: GalleryUnit, measurement: MeasuredFigure) -> dict[str, Line]:
    lines: dict[str, Line] = {}
    for point in measurement.points:
        if unit.axes.metric in point.metrics:
            name = str(point.parameters[unit.axes.by]) if unit.axes.by else ""
            x = str(point.parameters[unit.axes.over])
            lines.setdefault(name, {})[x] = point.metrics[unit.axes.metric]
    return lines


def _ticks(values: Sequence[str]) -> _Ticks:
    """Return positions: the values themselves if they are numbers of one unit, otherwise 0, 1, ..."""
    distinct = list(dict.fromkeys(values))
    matches = [_WITH_UNIT.fullmatch(text) for text in distinct]
    numbers = {
        text: float(match[1]) for text, match in zip(distinct, matches, strict=True) if match
    }
    units = {match[2] for match in matches if match}
    if len(numbers) < len(distinct) or len(units) > 1:
        positions = {text: float(index) for index, text in enumerate(distinct)}
        return _Ticks(positions, distinct, "", False)
    order = dict(sorted(numbers.items(), key=lambda item: item[1]))
    return _Ticks(order, [f"{number:g}" for number in order.values()], units.pop(), True)


def _draw_line(
    axes: MatplotlibAxes, name: str, line: Line, ticks: _Ticks, line_style: dict[str, Any]
) -> None:
    in_order = sorted(
        ((ticks.positions[x], estimate) for x, estimate in line.items()), key=lambda item: item[0]
    )
    positions = [position for position, _ in in_order]
    means = np.asarray([estimate.mean for _, estimate in in_order])
    halves = np.asarray([estimate.half or 0.0 for _, estimate in in_order])
    label = name or "measured"
    if not ticks.is_numeric:
        colour = line_style["color"]
        axes.errorbar(positions, means, halves, fmt="o", color=colour, capsize=3, label=label)
        return
    axes.plot(positions, means, label=label, marker="o", markersize=3, **line_style)
    axes.fill_between(
        positions,
        means - halves,
        means + halves,
        color=line_style["color"],
        alpha=BAND_ALPHA,
        linewidth=0,
    )


def _scale_values(axes: MatplotlibAxes, values: Sequence[float]) -> None:
    """Start the vertical axis at 0, or make it logarithmic if the values are far apart."""
    from matplotlib.ticker import FormatStrFormatter, NullFormatter

    known = [value for value in values if np.isfinite(value)]
    if min(known) > 0 and max(known) / min(known) >= LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(min(known) / 2, max(known) * 2)
    elif min(known) >= 0:
        axes.set_ylim(0, max(axes.get_ylim()[1], max(known) * 1.06))
