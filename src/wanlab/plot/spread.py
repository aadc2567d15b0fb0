"""Draw many runs in one figure, with the uncertainty of the results.

    spread   mean over x, a line per group, with a confidence band                      ___/~~~
    heat     mean over two parameters, as colours with numbers                          [][][]
    boxes    median, quartiles and extremes per x and group                             -[|]-
    shares   the empirical CDF of the values                                            __/--

**The band** is the 95 % confidence interval of the mean, from n runs with different seeds:
mean +- t(n-1) s / sqrt(n), with Student's t because n is small (Jain, The Art of Computer Systems
Performance Analysis, ch. 13). It shows how much another set of seeds would move the mean, and nothing
about errors that all runs share. A single run has no band; identical runs have one of width zero.
Where the interval contains impossible values, as it may with few runs, the band is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, NullFormatter
from numpy.typing import NDArray

from wanlab.errors import WanlabError
from wanlab.plot.figure import LINE_STYLES, MARKERS, Drawing, draw_legend, draw_warnings, style

WIDTH, HEIGHT = 6.4, 3.6
BAND_ALPHA = 0.18
BOXES_WIDTH = 0.8
GROUP_OFFSET = 0.12
LOGARITHMIC_FROM = 16.0
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""
VALUES_LOGARITHMIC_FROM = 30.0
MAX_NUMBERS = 200
"""A heat map with more cells than this has no numbers in them."""
LIGHT_FROM = 0.55
HEADROOM = 1.06
# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
STUDENT = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)
NORMAL = 1.960

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """The ticks of an axis, in order."""

    label: str
    places: tuple[float, ...]
    """The positions: the values themselves if they are numbers, otherwise 0, 1, 2, ..."""
    texts: tuple[str, ...]
    is_measured: bool
    """Whether the values are numbers, so that distances on the axis mean something."""

    @property
    def is_logarithmic(self) -> bool:
        low, high = min(self.places), max(self.places)
        return self.is_measured and low > 0 and high / low >= LOGARITHMIC_FROM


Groups = Mapping[str, Sequence[Sequence[float]]]
"""For each group, and each tick of the axis, the values of the runs."""


Bounds = Mapping[str, Sequence[tuple[float, float]]]
"""For each group, and each tick of the axis, the lowest and the highest possible value."""
EVERYTHING = (float("-inf"), float("inf"))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % confidence interval; NaN if undefined."""
    known = np.asarray([value for value in values if np.isfinite(value)], np.float64)
    if not known.size:
        return float("nan"), float("nan")
    mean = float(known.mean())
    if known.size == 1:
        return mean, float("nan")
    freedom = known.size - 1
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
    return mean, float(quantile * known.std(ddof=1) / np.sqrt(known.size))


def format_interval(mean: float, half: float) -> str:
    """Return a mean with four digits, and half the width of its confidence interval if there is one."""
    if mean != mean:
        return "-"
    digits = f"{mean:.4g}" if mean == round(mean) else f"{mean:#.4g}".rstrip(".")
    return digits if half != half else f"{digits} ± {half:.2g}"


def spread(
    groups: Groups,
    x: Scale,
    *,
    label: str,
    title: str = "",
    warnings: Sequence[str] = (),
    bounds: Bounds | None = None,
) -> Figure:
    """Draw a line through each group's means, with confidence bands.

    If the ticks are words, draw points with error bars instead. The bands end at the `bounds` of their
    group and tick, such as the link's rate for a throughput.
    """
    figure, axes = _figure(groups, title, warnings)
    with style():
        for number, (name, cells) in enumerate(groups.items()):
            possible = np.asarray((bounds or {}).get(name) or [EVERYTHING] * len(cells), np.float64)
            known, means, low, high = _band(cells, possible)
            places = np.asarray(x.places)[known]
            line = LINE_STYLES[number % len(LINE_STYLES)]
            marker = MARKERS[number % len(MARKERS)]
            colour = line["color"]
            if not x.is_measured:  # no line: there are no values between two words
                offset = (number - (len(groups) - 1) / 2) * GROUP_OFFSET
                axes.errorbar(
                    places + offset,
                    means,
                    np.stack([means - low, high - means]),
                    fmt=marker,
                    color=colour,
                    label=name,
                    fillstyle="none",
                    markersize=5,
                    capsize=3,
                )
                continue
            axes.plot(
                places,
                means,
                label=name,
                marker=marker,
                fillstyle="none",
                markersize=4,
                **line,
            )
            axes.fill_between(places, low, high, color=colour, alpha=BAND_ALPHA, linewidth=0)
        _finish(axes, x, label)
        _begin_at_zero(axes, [interval(values)[0] for cells in groups.values() for values in cells])
        draw_legend(axes, WIDTH)
    return figure


def _band(
    cells: Sequence[Sequence[float]], possible: Numbers
) -> tuple[NDArray[np.bool_], Numbers, Numbers, Numbers]:
    """Return which ticks have a mean, and their means and the low and high ends of the bands.

    The bands end at the `possible` range of each tick, of shape (ticks, 2), or at the mean if that is
    outside.
    """
    intervals = [interval(values) for values in cells]
    means, halves = (np.asarray(part, np.float64) for part in zip(*intervals, strict=True))
    known = np.isfinite(means)
    means, half, possible = means[known], np.nan_to_num(halves[known]), possible[known]
    low = np.maximum(means - half, np.minimum(possible[:, 0], means))
    high = np.minimum(means + half, np.maximum(possible[:, 1], means))
    return known, means, low, high


def boxes(
    groups: Groups, x: Scale, *, label: str, title: str = "", warnings: Sequence[str] = ()
) -> Figure:
    """Draw the quartiles of each tick and group as a box, with the median and the extremes."""
    figure, axes = _figure(groups, title, warnings)
    width = BOXES_WIDTH / len(groups)
    with style():
        for number, (name, cells) in enumerate(groups.items()):
            colour = LINE_STYLES[number % len(LINE_STYLES)]["color"]
            known = [[value for value in values if np.isfinite(value)] for values in cells]
            places = [
                tick + (number - (len(groups) - 1) / 2) * width for tick in range(len(x.texts))
            ]
            drawn = axes.boxplot(
                known,
                positions=places,
                widths=width * 0.8,
                whis=(0, 100),
                manage_ticks=False,
                patch_artist=True,
            )
            for part in ("boxes", "whiskers", "caps", "medians"):
                for artist in drawn[part]:
                    artist.set_color(colour)
            for artist in drawn["boxes"]:
                artist.set_facecolor("white")
            axes.plot([], [], color=colour, label=name)
        _finish(axes, Scale(x.label, tuple(range(len(x.texts))), x.texts, False), label)
        _begin_at_zero(axes, [value for cells in groups.values() for v in cells for value in v])
        draw_legend(axes, WIDTH)
    return figure


def shares(
    groups: Mapping[str, Sequence[float]],
    *,
    label: str,
    title: str = "",
    warnings: Sequence[str] = (),
) -> Figure:
    """Draw the empirical CDF of each group."""
    figure, axes = _figure(groups, title, warnings)
    with style():
        lowest, highest = float("inf"), 0.0
        for number, (name, values) in enumerate(groups.items()):
            known = np.sort(np.asarray([value for value in values if np.isfinite(value)]))
            if not known.size:
                continue
            lowest, highest = min(lowest, float(known[0])), max(highest, float(known[-1]))
            steps = np.arange(known.size + 1) / known.size
            line = LINE_STYLES[number % len(LINE_STYLES)]
            axes.plot(np.repeat(known, 2), np.repeat(steps, 2)[1:-1], label=name, **line)
        if lowest > 0 and highest / lowest >= VALUES_LOGARITHMIC_FROM:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(label)
        axes.set_ylabel("Share of values")
        draw_legend(axes, WIDTH)
    return figure


def heat(
    cells: Sequence[Sequence[Sequence[float]]],
    x: Scale,
    y: Scale,
    *,
    label: str,
    title: str = "",
    warnings: Sequence[str] = (),
) -> Figure:
    """Draw the mean of each cell as a colour; the first row is at the bottom."""
    means = np.asarray([[interval(values)[0] for values in row] for row in cells])
    if not np.isfinite(means).any():
        raise WanlabError("there is nothing to draw", "no run has this metric")
    with style():
        figure = Drawing(figsize=(WIDTH, HEIGHT))
        axes = figure.subplots()
        axes.grid(visible=False)
        image = axes.imshow(means, origin="lower", aspect="auto", cmap="viridis")
        figure.colorbar(image, ax=axes, label=label)
        axes.set_xticks(range(len(x.texts)), x.texts)
        axes.set_yticks(range(len(y.texts)), y.texts)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        if means.size <= MAX_NUMBERS:
            _write_numbers(axes, means)
        _head(figure, title, warnings)
    return figure


def _write_numbers(axes: Axes, means: Numbers) -> None:
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    for (row, column), mean in np.ndenumerate(means):
        if np.isfinite(mean):
            is_light = high > low and (mean - low) / (high - low) > LIGHT_FROM
            colour = "black" if is_light else "white"
            axes.text(
                column, row, f"{mean:.3g}", ha="center", va="center", color=colour, fontsize=7
            )


def _figure(
    groups: Mapping[str, object], title: str, warnings: Sequence[str]
) -> tuple[Figure, Axes]:
    if not groups:
        raise WanlabError("there is nothing to draw", "no run has succeeded")
    with style():
        figure = Drawing(figsize=(WIDTH, HEIGHT))
        axes = figure.subplots()
        _head(figure, title, warnings)
    return figure, axes


def _head(figure: Figure, title: str, warnings: Sequence[str]) -> None:
    if title:
        figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
    draw_warnings(figure, warnings, WIDTH)


def _finish(axes: Axes, x: Scale, label: str) -> None:
    if x.is_logarithmic:
        axes.set_xscale("log")
    axes.set_xticks(x.places, x.texts)
    axes.minorticks_off()
    axes.set_xlabel(x.label)
    axes.set_ylabel(label)


def _begin_at_zero(axes: Axes, values: Sequence[float]) -> None:
    """Start the axis of non-negative values at 0, or make it logarithmic if they are far apart."""
    known = [value for value in values if np.isfinite(value)]
    if not known or min(known) < 0:
        return
    if min(known) > 0 and max(known) / min(known) >= VALUES_LOGARITHMIC_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(min(known) / 2, max(known) * 2)
    else:
        axes.set_ylim(0, max(axes.get_ylim()[1], max(known) * HEADROOM))
