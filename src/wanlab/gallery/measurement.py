"""The results of a sweep of a unit's experiment: each metric with its confidence interval.

It is stored as a small JSON file, from which pages and figures can be made without the records. The
file does not depend on the computer; `cost` keeps how long the sweep took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.experiments import Results
from wanlab.plot.spread import interval
from wanlab.run.design import Value
from wanlab.sweep.result_set import group_by_parameters

FILE = "measured.json"
ROUNDING_ERROR = 1e-12
"""The relative error of a mean of equal numbers: a narrower interval means that the seeds agree."""


@dataclass(frozen=True)
class Estimate:
    """The mean of a metric over the seeds, and half the width of its 95 % confidence interval.

    One seed has no interval: `half` is None. `most` is the highest possible value, if there is one.
    """

    mean: float
    half: float | None
    unit: str
    most: float | None = None

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 3) -> str:
        """Return the estimate with this number of significant digits of the mean."""
        text = _without_exponent(self.mean, digits)
        if self.half:
            text += f" ± {_without_exponent(self.half, 2)}"
        agreement = " (all seeds)" if self.half == 0 else ""
        return f"{text} {self.unit}".rstrip() + agreement

    def over(self, other: Estimate) -> Estimate:
        """Return the ratio of two means. Their relative errors add in quadrature."""
        if not other.mean:
            return Estimate(math.nan, None, "")
        ratio = self.mean / other.mean
        if self.half is None or other.half is None or not self.mean:
            return Estimate(ratio, None, "")
        relative = math.hypot(self.half / self.mean, other.half / other.mean)
        return Estimate(ratio, abs(ratio) * relative, "")


@dataclass(frozen=True)
class MeasuredPoint:
    """One point of the design."""

    parameters: Mapping[str, Value]
    """All parameters of the experiment."""
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, kw_only=True)
class MeasuredFigure:
    """All points of a design."""

    unit: str
    size: str
    """quick or full."""
    runs: int
    seeds: int
    failed: int
    """Runs that failed or were not performed."""
    wanlab: str
    kernel: str
    points: tuple[MeasuredPoint, ...]

    def at(self, parameters: Mapping[str, Value]) -> MeasuredPoint | None:
        """Return the first point with these parameters, or None. Other parameters may have any value."""
        wanted = {name: str(value) for name, value in parameters.items()}
        for point in self.points:
            if all(str(point.parameters.get(name)) == value for name, value in wanted.items()):
                return point
        return None

    def to_json(self) -> str:
        fields = asdict(self)
        for estimate in (each for point in fields["points"] for each in point["metrics"].values()):
            if estimate["most"] is None:
                del estimate["most"]
        return json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def measurement_of(unit: str, size: str, results: Results, *, seeds: int) -> MeasuredFigure:
    """Summarise the results of a sweep."""
    names = tuple(results.results[0].parameters) if results.results else ()
    points = []
    for values, group in group_by_parameters(results.results, names).items():
        units = {name: metric.unit for each in group for name, metric in each.metrics.items()}
        metrics = {}
        for name, metric_unit in units.items():
            known = [each.metrics[name] for each in group if name in each.metrics]
            mean, half = interval([metric.value for metric in known])
            if half < ROUNDING_ERROR * abs(mean):
                half = 0.0
            bounds = {metric.most for metric in known}
            metrics[name] = Estimate(
                _rounded(mean),
                None if math.isnan(half) else _rounded(half),
                metric_unit,
                bounds.pop() if len(bounds) == 1 else None,
            )
        points.append(MeasuredPoint(dict(zip(names, values, strict=True)), metrics))
    provenance = results.results[0].record.provenance if results.results else None
    return MeasuredFigure(
        unit=unit,
        size=size,
        runs=len(results.results),
        seeds=seeds,
        failed=len(results.failures) + results.missing,
        wanlab=provenance.wanlab if provenance else "",
        kernel=provenance.kernel_release if provenance else "",
        points=tuple(points),
    )


def read_measurement(path: Path) -> MeasuredFigure:
    """Read a file that `MeasuredFigure.to_json` has written. Raises WanlabError for other content."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        points = tuple(
            MeasuredPoint(
                point["parameters"],
                {name: Estimate(**estimate) for name, estimate in point["metrics"].items()},
            )
            for point in data["points"]
        )
        return MeasuredFigure(**{**data, "points": points})
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise WanlabError(
            f"{path} is not a measurement: {error}", "repeat it: wanlab reproduce run"
        ) from None


def _without_exponent(value: float, digits: int) -> str:
    """Return a value with significant digits; large values have zeros instead of an exponent."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def _rounded(value: float) -> float:
    """Keep five significant digits: more would change with every processor's arithmetic."""
    return float(f"{value:.5g}")
