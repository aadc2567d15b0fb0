"""Figures of a sweep, each described by a sentence.

    lines QUANTITY over PARAMETER [by PARAMETER]      means with confidence bands
    box QUANTITY over PARAMETER [by PARAMETER]        medians, quartiles, extremes
    heat QUANTITY over PARAMETER and PARAMETER        means as colours
    cdf QUANTITY [by PARAMETER]                       shares

A QUANTITY is a metric; or several metrics of one unit ("sent,received"), for `lines`; or a column of a
table of the records ("flow.completion_ms"), of which `box` and `cdf` draw all values. It is an error if
a parameter varies that the sentence does not name, because the figure would silently average over it.
A sentence that ends in "over all" allows that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from wanlab.errors import WanlabError, did_you_mean
from wanlab.plot import spread
from wanlab.run.design import Value
from wanlab.run.result import Result
from wanlab.run.run import KERNEL
from wanlab.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

from .captions import KINDS_OF_UNIT, axis_label, capitalised, spelled, title, words
from .result_set import ResultSet
from .sentence import Chart, check_chart, parse_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN_UNITS = {"ns": ("ms", 1e-6), "us": ("ms", 1e-3)}
"""The unit in which a column with a small unit is drawn, and the factor of its values."""
ValuesOf = Callable[[Result], list[float]]
"""Returns the values of a quantity in one run."""
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(\D*)")


def draw(sentence: str, results: ResultSet) -> Figure:
    """Draw the figure that a sentence describes, with a title in words (see `captions`).

    Raises WanlabError if there are no results, or if they lack a quantity or parameter of the sentence.
    """
    chart = parse_chart(sentence)
    if not results.results:
        raise WanlabError("there is nothing to draw", "no run has succeeded")
    check_chart(chart, results.experiment, results.results[0].parameters, results.varied)
    unit, values_of = _quantity(chart, results.results)
    texts = _Texts(
        label=axis_label(chart.quantity, unit, results.labels),
        title=title(chart, results.labels),
        warnings=_warnings(results),
    )
    draw_kind = {"lines": _lines, "box": _boxes, "heat": _heat, "cdf": _cdf}[chart.kind]
    return draw_kind(chart, results, values_of, texts)


def missing_figures(results: ResultSet) -> Iterator[str]:
    """Yield a line for each figure of the experiment that cannot be drawn, with the reason.

    The metrics of an experiment are known only when there are results.
    """
    for sentence in results.plots if results.results else ():
        try:
            _quantity(parse_chart(sentence), results.results)
        except WanlabError as error:
            yield f'"{sentence}": {error}'


def default_figures(results: ResultSet) -> list[str]:
    """Return the figures of an experiment that names none: each metric over the varied parameters."""
    metrics = list(results.results[0].metrics) if results.results else []
    first, *rest = [*results.varied, ""]
    others = [name for name in rest if name]
    by = f" by {' and '.join(others)}" if others else ""
    return [f"lines {name} over {first}{by}" if first else f"cdf {name}" for name in metrics]


# -- kinds of figure -----------------------------------------------------------------------------


class _Texts(TypedDict):
    """The texts that every kind of figure has; `label` is that of the axis with the values."""

    label: str
    title: str
    warnings: Sequence[str]


def _lines(chart: Chart, results: ResultSet, values_of: ValuesOf, texts: _Texts) -> Figure:
    (x,) = chart.over
    x_values = _distinct(results.results, x)
    lines: dict[str, list[list[float]]] = {}
    bounds: dict[str, list[tuple[float, float]]] = {}
    for group_name, group in _groups(results.results, chart.by):
        cells = [_at(group, {x: value}) for value in x_values]
        for quantity, values_of_quantity in _each_quantity(chart, results.results, values_of):
            text = words(quantity, results.labels) if quantity else ""
            name = ", ".join(filter(None, [text, group_name]))
            lines[name] = [_values(cell, values_of_quantity) for cell in cells]
            bounds[name] = [_bounds(cell, quantity or chart.quantity) for cell in cells]
    return spread.spread(lines, axis(x, x_values, results.labels), bounds=bounds, **texts)


def _boxes(chart: Chart, results: ResultSet, values_of: ValuesOf, texts: _Texts) -> Figure:
    (x,) = chart.over
    x_values = _distinct(results.results, x)
    boxes = {
        name: [_values(_at(group, {x: value}), values_of) for value in x_values]
        for name, group in _groups(results.results, chart.by)
    }
    return spread.boxes(boxes, axis(x, x_values, results.labels), **texts)


def _heat(chart: Chart, results: ResultSet, values_of: ValuesOf, texts: _Texts) -> Figure:
    x, y = chart.over
    x_values, y_values = _distinct(results.results, x), _distinct(results.results, y)
    cells = [
        [_values(_at(results.results, {x: x_value, y: y_value}), values_of) for x_value in x_values]
        for y_value in y_values
    ]
    x_scale, y_scale = axis(x, x_values, results.labels), axis(y, y_values, results.labels)
    return spread.heat(cells, x_scale, y_scale, **texts)


def _cdf(chart: Chart, results: ResultSet, values_of: ValuesOf, texts: _Texts) -> Figure:
    groups = {name: _values(group, values_of) for name, group in _groups(results.results, chart.by)}
    return spread.shares(groups, **texts)


# -- quantities ----------------------------------------------------------------------------------


def _quantity(chart: Chart, results: Sequence[Result]) -> tuple[str, ValuesOf]:
    """Return the unit of the chart's quantity, and the function that reads its values."""
    name, *others = chart.quantity.split(",")
    if others:
        units = {_quantity(replace(chart, quantity=each), results)[0] for each in (name, *others)}
        if chart.kind != "lines" or len(units) > 1:
            raise WanlabError(
                f"{chart.quantity} cannot be in one figure",
                "only lines can show several metrics, and only in the same unit",
            )
    table, dot, column = name.partition(".")
    if dot:
        if chart.kind in ("lines", "heat"):
            raise WanlabError(
                f"{name} has many values in each run",
                "draw it with box or cdf, or compute a metric in the experiment",
            )
        stored_unit = results[0].record[table].column(column).unit
        unit, factor = DRAWN_UNITS.get(stored_unit, (stored_unit, 1.0))
        return unit, lambda result: [
            float(value) * factor for value in np.asarray(result.record[table][column])
        ]
    units_of = {key: metric.unit for result in results for key, metric in result.metrics.items()}
    if name not in units_of:
        raise WanlabError(f"there is no metric {name!r}", did_you_mean(name, units_of))
    return (
        units_of[name],
        lambda result: [result.metrics[name].value] if name in result.metrics else [],
    )


def _each_quantity(
    chart: Chart, results: Sequence[Result], values_of: ValuesOf
) -> Iterator[tuple[str, ValuesOf]]:
    """Yield each quantity of the chart with its name; a single one has the name ""."""
    names = chart.quantity.split(",")
    if len(names) == 1:
        yield "", values_of
        return
    for name in names:
        yield name, _quantity(replace(chart, quantity=name), results)[1]


def _groups(results: Sequence[Result], by: Sequence[str]) -> Iterator[tuple[str, list[Result]]]:
    """Yield the runs of each combination of values, with its label: "cubic", "flows 4"."""
    groups: dict[str, list[Result]] = {}
    numbered = {
        name for name in by if any(_is_number(result.parameters[name]) for result in results)
    }
    for result in results:
        label = ", ".join(
            f"{name} {result.parameters[name]}"
            if name in numbered
            else str(result.parameters[name])
            for name in by
        )
        groups.setdefault(label, []).append(result)
    yield from groups.items()


def _is_number(value: Value) -> bool:
    return isinstance(value, bool | int | float) or bool(_WITH_UNIT.fullmatch(str(value)))


def _values(results: Sequence[Result], values_of: ValuesOf) -> list[float]:
    """Return the values of all these runs."""
    return [value for result in results for value in values_of(result)]


def _at(results: Sequence[Result], point: dict[str, Value]) -> list[Result]:
    """Return the runs with these parameters."""
    return [
        result
        for result in results
        if all(result.parameters[name] == value for name, value in point.items())
    ]


def _bounds(results: Sequence[Result], name: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a metric.

    The experiment may state both. Rates, times, sizes and shares are never below 0.
    """
    metrics = [result.metrics[name] for result in results if name in result.metrics]
    is_physical = all(metric.unit in KINDS_OF_UNIT or metric.most is not None for metric in metrics)
    least = 0.0 if is_physical else float("-inf")
    return (
        min((least if m.least is None else m.least for m in metrics), default=least),
        max((float("inf") if m.most is None else m.most for m in metrics), default=float("inf")),
    )


def _distinct(results: Sequence[Result], name: str) -> list[Value]:
    values = list(dict.fromkeys(result.parameters[name] for result in results))
    numeric = _numbers(name, values)
    if numeric is None:
        return values
    order = sorted(range(len(values)), key=lambda index: numeric[1][index])
    return [values[index] for index in order]


def axis(name: str, values: Sequence[Value], labels: Mapping[str, str] = {}) -> spread.Scale:
    """Return the positions of a parameter's values on an axis, and the texts there."""
    distinct: list[Value] = list(dict.fromkeys(values))
    numeric = _numbers(name, distinct)
    label = capitalised(words(name, labels))
    if numeric is None:
        names = tuple(str(value) for value in distinct)
        return spread.Scale(label, tuple(range(len(names))), names, False)
    unit, numbers, texts = numeric
    order = sorted(range(len(numbers)), key=lambda index: numbers[index])
    return spread.Scale(
        f"{label} ({spelled(unit)})" if unit else label,
        tuple(numbers[index] for index in order),
        tuple(texts[index] for index in order),
        True,
    )


def _numbers(name: str, values: Sequence[Value]) -> tuple[str, list[float], list[str]] | None:
    """Return unit, numbers and texts if all values are quantities of the same kind, else None.

    Versions of a kernel are names: 6.6 comes before 6.12.
    """
    if name == KERNEL:
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "", [float(value) for value in values], [f"{value:g}" for value in values]
    matches = [_WITH_UNIT.fullmatch(str(value)) for value in values]
    if any(match is None for match in matches):
        return None
    units = {match[2] for match in matches if match}
    if len(units) == 1:
        numbers = [float(match[1]) for match in matches if match]
        return units.pop(), numbers, [f"{number:g}" for number in numbers]
    for parse, write in (
        (parse_time, format_time),
        (parse_rate, format_rate),
        (parse_size, format_size),
    ):
        try:
            exact = [parse(str(value)) for value in values]
        except WanlabError:
            continue
        return "", [float(number) for number in exact], [write(number) for number in exact]
    return None


def _warnings(results: ResultSet) -> list[str]:
    """Return each warning once, with the number of runs that have it."""
    counts: dict[str, int] = {}
    for result in results:
        for warning in result.warnings:
            counts[warning] = counts.get(warning, 0) + 1
    counted = [
        f"{warning} (in {count} of {len(results)} runs)" for warning, count in counts.items()
    ]
    return [*counted, *filter(None, [results.seeds_without_effect()])]


def file_name(sentence: str, number: int) -> str:
    """Return the name of a figure's file, without its suffix."""
    return f"{number}-{re.sub(r'[^a-z0-9]+', '-', sentence.lower()).strip('-')}"
