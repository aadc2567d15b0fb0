"""`wanlab sweep` and `wanlab run`."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from wanlab import Design, Sweep
from wanlab.errors import WanlabError
from wanlab.experiments import (
    Experiment,
    Result,
    Results,
    SweepProgress,
    forget_runs,
    load_experiment,
)

LINE_EVERY_S = 10.0
MOST_FAILURES = 5


def sweep(
    file: str,
    *,
    values: Sequence[str],
    repeats: int | None,
    full: bool,
    jobs: int | None,
    output: Path | None,
    retry_failed: bool,
    scheduler: str,
    limit_s: float | None,
    no_cache: bool,
    plots: Sequence[str],
    no_report: bool,
    as_json: bool,
) -> int:
    """Performs what is not done, and says what came of it; 1 if a run has failed."""
    experiment = _find(file)
    if plots:
        experiment = replace(experiment, plots=tuple(plots))
    design = _design(experiment, values, repeats, full)
    one = Sweep(experiment, design, output=output)
    try:
        with _shown(one) as listener:
            results = one.run(
                jobs=jobs,
                uses_cache=not no_cache,
                retry_failed=retry_failed,
                scheduler=scheduler,
                limit_s=limit_s,
                progress=listener,
            )
    except BaseException as error:
        if not isinstance(error, WanlabError):
            done = one.results()
            error.add_note(
                f"{len(done.results)} of {len(one.tasks)} runs are done and kept in {done.folder}; "
                "the same command goes on from there"
            )
        raise
    page = None if no_report else results.report()
    for reason in () if no_report else results.missing_figures():
        print(f"Warning: not drawn: {reason}", file=sys.stderr)
    if as_json:
        print(json.dumps(_told(results, page), indent=2))
    else:
        _print(results, page)
    return 1 if results.failures else 0


def forget(file: str | None) -> int:
    name = _find(file).name if file else ""
    count = forget_runs(name)
    print(f"{count} runs{f' of {name}' if name else ''} are forgotten")
    return 0


def run(
    file: str,
    *,
    values: Sequence[str],
    seed: int,
    output: Path | None,
    no_cache: bool,
    here: bool,
    as_json: bool,
) -> int:
    """One run, and its metrics."""
    experiment = _find(file)
    given = _given(values)
    for name, texts in given.items():
        if len(texts) > 1:
            raise WanlabError(f"{name} has {len(texts)} values: one run has one", "wanlab sweep")
    parameters = {name: texts[0] for name, texts in given.items()}
    result = experiment.run(seed=seed, cache=not no_cache, here=here, **parameters)
    if output is not None:
        _copy(result, output)
    if as_json:
        print(json.dumps(_told_run(result, output), indent=2))
        return 0
    for line in _metric_lines(result):
        print(line)
    for warning in result.warnings:
        print(f"Warning: {warning}")
    if no_cache and output is None:
        print("its record is not kept: --output FOLDER keeps it")
        return 0
    known = " (known from before)" if result.is_cached else ""
    print(f"its record is in {output or result.folder / 'record'}{known}")
    return 0


def _find(file: str) -> Experiment:
    """FILE or FILE:NAME."""
    path, colon, name = file.rpartition(":")
    if colon and path and not Path(file).exists():
        return load_experiment(path, name)
    return load_experiment(file)


def _given(values: Sequence[str]) -> dict[str, list[str]]:
    """ "rtt=10ms,50ms" """
    found: dict[str, list[str]] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WanlabError(f'"{text}" sets nothing', "as in --set rtt=10ms,50ms")
        found.setdefault(name, []).extend(part.strip() for part in value.split(","))
    return found


def _design(
    experiment: Experiment, values: Sequence[str], repeats: int | None, full: bool
) -> Design:
    design = experiment.full if full else experiment.design
    if design is None:
        raise WanlabError(f"{experiment.name} has no full size", "set parameters with --set")
    for name, texts in _given(values).items():
        design = design.with_values(name, [experiment.resolve({name: t})[name] for t in texts])
    return design if repeats is None else replace(design, repeats=repeats)


# -- what is shown --------------------------------------------------------------------------------


@contextmanager
def _shown(one: Sweep) -> Iterator[Any]:
    """Progress on standard error: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    console = Console(stderr=True, highlight=False)
    with Bars(*columns, console=console, auto_refresh=False, transient=True) as bars:
        bar = bars.add_task(one.experiment.name, total=len(one.tasks), said="")

        def show(state: SweepProgress) -> None:
            if state.event:
                console.print(state.event, markup=False)
            bars.update(bar, completed=state.finished + state.failed, said=_state(state))
            bars.refresh()

        yield show


class _Lines:
    """A line when something happens, and every ten seconds."""

    def __init__(self) -> None:
        self._last_s = 0.0
        self._told: tuple[int, str] | None = None

    def __call__(self, state: SweepProgress) -> None:
        done = state.finished + state.failed
        now_s = time.monotonic()
        is_over = done == state.total
        if state.event:
            print(state.event, file=sys.stderr, flush=True)
        told = (done, state.note)
        if told != self._told and (is_over or now_s - self._last_s >= LINE_EVERY_S):
            said = f"[{state.real_s:7.1f} s] {_state(state)}"
            print(said, file=sys.stderr, flush=True)
            self._told, self._last_s = told, now_s


def _state(state: SweepProgress) -> str:
    parts = [f"{state.finished} of {state.total} done"]
    if state.cached:
        parts.append(f"{state.cached} known from before")
    if state.running:
        parts.append(f"{len(state.running)} running")
    if state.failed:
        parts.append(f"{state.failed} failed")
    if state.left_s is not None:
        parts.append(f"{_duration(state.left_s)} left")
    if state.note:
        parts.append(state.note)
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _print(results: Results, page: Path | None) -> None:
    print(f"{len(results.results)} runs done; the table is {results.folder / 'results.parquet'}")
    if page is not None:
        print(f"the report is {page}")
    for failure in results.failures[:MOST_FAILURES]:
        print(f"failed: {failure.title(results.varied)}: {failure}")
    more = len(results.failures) - MOST_FAILURES
    if more > 0:
        print(f"and {more} more: see {results.folder / 'failed'}")
    if results.failures:
        print(f"{len(results.failures)} runs have failed; --retry-failed performs them again")


def _told(results: Results, page: Path | None) -> dict[str, Any]:
    return {
        "experiment": results.experiment,
        "folder": str(results.folder),
        "table": str(results.folder / "results.parquet"),
        "report": None if page is None else str(page),
        "runs": [_told_run(result, None) for result in results],
        "failures": [
            {
                "parameters": dict(failure.parameters),
                "seed": failure.seed,
                "what": failure.what,
                "hint": failure.hint,
            }
            for failure in results.failures
        ],
    }


def _told_run(result: Result, output: Path | None) -> dict[str, Any]:
    return {
        "parameters": dict(result.parameters),
        "seed": result.seed,
        "metrics": {
            name: {
                "value": None if math.isnan(metric.value) else metric.value,
                "unit": metric.unit,
            }
            for name, metric in result.metrics.items()
        },
        "warnings": list(result.warnings),
        "record": str(output or result.folder / "record"),
    }


def _metric_lines(result: Result) -> Iterator[str]:
    width = max((len(name) for name in result.metrics), default=0)
    for name, metric in result.metrics.items():
        yield f"{name:{width}}  {metric.value:.6g} {metric.unit}".rstrip()


def _copy(result: Result, output: Path) -> None:
    from wanlab import record

    record.write(result.record, output)
