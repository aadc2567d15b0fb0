"""Figures of a sweep, asked for in a sentence.

    lines QUANTITY over PARAMETER [by PARAMETER]      means with confidence bands
    box QUANTITY over PARAMETER [by PARAMETER]        medians, quartiles, extremes
    heat QUANTITY over PARAMETER and PARAMETER        means as colours
    cdf QUANTITY [by PARAMETER]                       shares

A QUANTITY is a metric, or several of one unit ("sent,received": lines), or a column of a table of the
records ("flow.completion_ms"): then all its values are drawn, by `box` and `cdf`. A parameter that
varies and is not named would be averaged over in silence: that is refused, unless the sentence ends in
"over all".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wanlab.errors import WanlabError, did_you_mean
from wanlab.plot import spread
from wanlab.record.record import UNITS
from wanlab.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

from .design import Value
from .result import Result
from .sentence import Chart, check_chart, parse_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .sweep import Results

SHOWN = {"ns": ("ms", 1e-6), "us": ("ms", 1e-3)}
"""How columns of tables are drawn that are kept in small units."""
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(\D*)")


def draw(sentence: str, results: Results) -> Figure:
    """The figure that a sentence asks for; its title is the experiment's name and the sentence."""
    chart = parse_chart(sentence)
    if not results.results:
        raise WanlabError("there is nothing to draw", "no run has ended well")
    check_chart(chart, results.experiment, results.results[0].parameters, results.varied)
    unit, values_of = _quantity(chart, results.results)
    label = f"{_words(chart.quantity)} ({unit})" if unit else _words(chart.quantity)
    warnings = _warnings(results.results)
    if chart.kind == "cdf":
        groups = {
            name: [value for one in group for value in values_of(one)]
            for name, group in _groups(results.results, chart.by)
        }
        return spread.shares(groups, label=label, title=sentence, warnings=warnings)
    scale = axis(chart.over[0], [result.parameters[chart.over[0]] for result in results.results])
    x_values = _distinct(results.results, chart.over[0])
    if chart.kind == "heat":
        y_values = _distinct(results.results, chart.over[1])
        y_scale = axis(chart.over[1], y_values)
        cells = [
            [
                _values(results.results, values_of, {chart.over[0]: x, chart.over[1]: y})
                for x in x_values
            ]
            for y in y_values
        ]
        return spread.heat(cells, scale, y_scale, label=label, title=sentence, warnings=warnings)
    rows = {
        ", ".join(filter(None, [quantity, name])): [
            _values(group, values, {chart.over[0]: x}) for x in x_values
        ]
        for name, group in _groups(results.results, chart.by)
        for quantity, values in _each_quantity(chart, results.results, values_of)
    }
    make = spread.spread if chart.kind == "lines" else spread.boxes
    return make(rows, scale, label=label, title=sentence, warnings=warnings)


def undrawn(results: Results) -> Iterator[str]:
    """Why figures that are asked for cannot be drawn: metrics are known when there are runs."""
    for sentence in results.plots if results.results else ():
        try:
            _quantity(parse_chart(sentence), results.results)
        except WanlabError as error:
            yield f'"{sentence}": {error}'


def usual(results: Results) -> list[str]:
    """Figures of a sweep that asks for none: each metric over the first parameters that vary."""
    metrics = list(results.results[0].metrics) if results.results else []
    first, *rest = [*results.varied, ""]
    others = [name for name in rest if name]
    by = f" by {' and '.join(others)}" if others else ""
    return [f"lines {name} over {first}{by}" if first else f"cdf {name}" for name in metrics]


# -- what is drawn --------------------------------------------------------------------------------


def _quantity(
    chart: Chart, results: Sequence[Result]
) -> tuple[str, Callable[[Result], list[float]]]:
    """Its unit, and how a run's values are had."""
    name, *others = chart.quantity.split(",")
    if others:
        units = {_quantity(replace(chart, quantity=one), results)[0] for one in (name, *others)}
        if chart.kind != "lines" or len(units) > 1:
            raise WanlabError(
                f"{chart.quantity} cannot be in one figure", "metrics of one unit can, as lines"
            )
    table, dot, column = name.partition(".")
    if dot:
        if chart.kind in ("lines", "heat"):
            raise WanlabError(
                f"{name} has many values in each run",
                "draw it as a box or as a cdf, or make a metric",
            )
        kept = results[0].record[table].column(column).unit
        unit, factor = SHOWN.get(kept, (kept, 1.0))
        return unit, lambda one: [float(v) * factor for v in np.asarray(one.record[table][column])]
    known = {metric: one.unit for result in results for metric, one in result.metrics.items()}
    if name not in known:
        raise WanlabError(f"there is no metric {name!r}", did_you_mean(name, known))
    return known[name], lambda one: [one.metrics[name].value] if name in one.metrics else []


def _each_quantity(
    chart: Chart, results: Sequence[Result], values_of: Callable[[Result], list[float]]
) -> Iterator[tuple[str, Callable[[Result], list[float]]]]:
    """Of several quantities each with its name; a single one needs none."""
    names = chart.quantity.split(",")
    if len(names) == 1:
        yield "", values_of
        return
    for name in names:
        yield _words(name), _quantity(replace(chart, quantity=name), results)[1]


def _groups(results: Sequence[Result], by: Sequence[str]) -> Iterator[tuple[str, list[Result]]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        name = ", ".join(_named(name, result.parameters[name]) for name in by)
        groups.setdefault(name, []).append(result)
    yield from groups.items()


def _named(name: str, value: Value) -> str:
    """A word says by itself what it is, a number does not."""
    is_number = isinstance(value, bool | int | float) or _WITH_UNIT.fullmatch(str(value))
    return f"{name} {value}" if is_number else str(value)


def _values(
    results: Sequence[Result],
    values_of: Callable[[Result], list[float]],
    where: dict[str, Value],
) -> list[float]:
    return [
        value
        for result in results
        if all(result.parameters[name] == wanted for name, wanted in where.items())
        for value in values_of(result)
    ]


def _distinct(results: Sequence[Result], name: str) -> list[Value]:
    values = list(dict.fromkeys(result.parameters[name] for result in results))
    measured = _numbers(values)
    if measured is None:
        return values
    order = sorted(range(len(values)), key=lambda place: measured[1][place])
    return [values[place] for place in order]


def axis(name: str, values: Sequence[Value]) -> spread.Scale:
    """The places of a parameter's values on an axis, and what is written there."""
    distinct: list[Value] = list(dict.fromkeys(values))
    measured = _numbers(distinct)
    label = _words(name)
    if measured is None:
        words = tuple(str(value) for value in distinct)
        return spread.Scale(label, tuple(range(len(words))), words, False)
    unit, numbers, texts = measured
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return spread.Scale(
        f"{label} ({unit})" if unit else label,
        tuple(numbers[place] for place in order),
        tuple(texts[place] for place in order),
        True,
    )


def _numbers(values: Sequence[Value]) -> tuple[str, list[float], list[str]] | None:
    """Unit, numbers, and how each is written, if they are quantities of one kind; else None."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "", [float(value) for value in values], [f"{value:g}" for value in values]
    split = [_WITH_UNIT.fullmatch(str(value)) for value in values]
    if any(one is None for one in split):
        return None
    units = {one[2] for one in split if one}
    if len(units) == 1:
        numbers = [float(one[1]) for one in split if one]
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
        return "", [float(one) for one in exact], [write(one) for one in exact]
    return None


def _words(name: str) -> str:
    """As it stands on an axis; the unit at its end is told by itself."""
    words = name.replace(",", ", ").replace("_", " ").replace(".", ": ").split(" ")
    if len(words) > 1 and words[-1] in UNITS:
        words.pop()
    return " ".join(words)


def _warnings(results: Sequence[Result]) -> list[str]:
    """Each once, with how many runs have it."""
    counts: dict[str, int] = {}
    for result in results:
        for warning in result.warnings:
            counts[warning] = counts.get(warning, 0) + 1
    return [f"{warning} (in {count} of {len(results)} runs)" for warning, count in counts.items()]


def name_of(sentence: str, number: int) -> str:
    """Of the figure's file."""
    return f"{number}-{re.sub(r'[^a-z0-9]+', '-', sentence.lower()).strip('-')}"


def groups_of(results: Sequence[Result], varied: Sequence[str]) -> list[tuple[Any, list[Result]]]:
    """The runs of each point together, seeds side by side."""
    found: dict[tuple[Value, ...], list[Result]] = {}
    for result in results:
        found.setdefault(tuple(result.parameters[name] for name in varied), []).append(result)
    return list(found.items())
