"""The table that `wanlab test` prints: means over the seeds, with 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator

from wanlab.experiments import Result, Results
from wanlab.plot import spread
from wanlab.standard_tests.catalog import find
from wanlab.standard_tests.figures import by_variant
from wanlab.text_table import aligned

NAMES = {
    "download": "Download",
    "upload": "Upload",
    "fairness": "Jain's fairness index",
    "ping_alone": "Ping without load, median",
}
PARTS = {"p95": "95th percentile", "p99": "99th percentile"}


def text(results: Results) -> str:
    """Return the heading and a table with a column for each variant."""
    variants = by_variant(results)
    first = results.results[0]
    rows = [["", *variants, "unit"]] if len(variants) > 1 else []
    for name, metric in first.metrics.items():
        cells = [
            spread.format_interval(*spread.interval([run[name] for run in runs]))
            for runs in variants.values()
        ]
        rows.append([title(name), *cells, metric.unit])
    table = aligned(rows, f"<{'>' * len(variants)}<")
    return "\n".join([*_heading(first, results), "", *table]) + "\n"


def title(metric: str) -> str:
    """Return the words for a metric: "Ping EF under load, 95th percentile"."""
    if metric in NAMES:
        return NAMES[metric]
    subject, _, part = metric.rpartition("_")
    kind, _, mark = subject.partition("_")
    words = {"ping": "Ping", "voice": "Call", "udp": "Datagrams", "pages": "Pages"}.get(kind, kind)
    mark = f" {mark.upper() if kind == 'ping' else mark}" if mark else ""
    under = " under load" if kind == "ping" else ""
    return f"{words}{mark}{under}, {PARTS.get(part, part)}"


def _heading(first: Result, results: Results) -> Iterator[str]:
    parameters = first.parameters
    test = find(str(parameters["test"]))
    yield f"{test.name}: {test.about}"
    path = "the given topology"
    if not parameters["topology"]:
        path = ", ".join(
            f"{parameters[name]}{' each way' if name == 'delay' else ''}"
            for name in ("rate", "delay", "queue", "buffer")
            if parameters[name] and name not in results.varied
        )
    if "cpu" in parameters and "cpu" not in results.varied:
        path += f", processor {parameters['cpu']}"
    seeds = len({result.seed for result in results})
    count = f"{seeds} seeds (mean ± half the 95 % interval)" if seeds > 1 else "1 seed"
    yield f"{path}; {parameters['seconds']} s of load; {count}"
