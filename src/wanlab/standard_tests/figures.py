"""Figures of a test: throughput and ping over time, and the distribution of the pings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wanlab import plot
from wanlab.experiments import Result, Results
from wanlab.plot import Line, Panel
from wanlab.standard_tests.catalog import find
from wanlab.standard_tests.curves import panels, ping_panel
from wanlab.standard_tests.experiment import ALONE_S, flows_in

MAX_COLUMNS = 4
LOGARITHMIC_FROM = 8.0


def draw(results: Results, base: Path, ending: str = ".png") -> list[Path]:
    """Write the figures of all variants; return their paths. The time series are those of one seed."""
    variants = by_variant(results)
    rows = {name: _panels(runs[0]) for name, runs in list(variants.items())[:MAX_COLUMNS]}
    test = find(str(results.results[0].parameters["test"]))
    title = f"{test.name}: {test.about}"
    if len(rows) == 1:
        (only,) = rows.values()
        over_time = plot.timeline(only, title=title)
    else:
        over_time = plot.comparison(rows, title=title)
    paths = [base.with_name(f"{base.name}{part}{ending}") for part in ("", "-cdf")]
    plot.save(over_time, paths[0])
    pings = _pooled(variants)
    values = np.concatenate([line.values for line in pings.lines])
    is_wide = len(values) > 0 and values.max() >= LOGARITHMIC_FROM * values.min() > 0
    title = f"Distribution of ping under load, {test.name}"
    plot.save(plot.distribution([pings], title=title, is_logarithmic=bool(is_wide)), paths[1])
    return paths


def by_variant(results: Results) -> dict[str, list[Result]]:
    """Return the runs of each combination of varied parameters; the label is "" if there is one."""
    variants: dict[str, list[Result]] = {}
    for result in results:
        label = ", ".join(str(result.parameters[name]) for name in results.varied)
        variants.setdefault(label, []).append(result)
    return variants


def _panels(result: Result) -> list[Panel]:
    return panels(result.record, flows_in(result.record))


def _pooled(variants: Mapping[str, Sequence[Result]]) -> Panel:
    """Return the pings that were sent under load, of all seeds of each variant."""
    lines: list[Line] = []
    warnings: dict[str, None] = {}
    for name, runs in variants.items():
        # With several variants, the classes would hide each other: best effort stands for all.
        shown = ping_panel(runs[0].record).lines[: 1 if len(variants) > 1 else None]
        for number, first in enumerate(shown):
            parts = [ping_panel(run.record).lines[number] for run in runs]
            loaded = [_is_loaded(part, run) for part, run in zip(parts, runs, strict=True)]
            values = np.concatenate(
                [part.values[keep] for part, keep in zip(parts, loaded, strict=True)]
            )
            label = name or first.label
            lines.append(Line(label, np.arange(len(values), dtype=np.float64), values))
        for run in runs:
            warnings |= dict.fromkeys(run.record.provenance.warnings)
    return Panel("Ping under load", "ms", tuple(lines), (), tuple(warnings))


def _is_loaded(line: Line, run: Result) -> NDArray[np.bool_]:
    end_s = ALONE_S + int(run.parameters["seconds"])
    return np.asarray((line.times_s >= ALONE_S) & (line.times_s < end_s))
