"""`wanlab sweep` and `wanlab run`: run experiments."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from wanlab import Design, Sweep
from wanlab.errors import WanlabError
from wanlab.experiments import (
    Experiment,
    Result,
    Results,
    SweepProgress,
    forget_runs,
    load_experiment,
    run_once,
)
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.text_table import aligned

LINE_INTERVAL_S = 10.0
MAX_FAILURES_SHOWN = 5


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
    stop_after: int,
    no_cache: bool,
    plots: Sequence[str],
    no_report: bool,
    as_json: bool,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Perform the runs that are not done and print the results; return 1 if a run failed."""
    experiment = _find(file)
    if plots:
        experiment = replace(experiment, plots=tuple(plots))
    design = _design(experiment, values, repeats, full)
    task = Sweep(experiment, design, output=output, choice=choice)
    try:
        with shown(task) as listener:
            results = task.run(
                jobs=jobs,
                uses_cache=not no_cache,
                retry_failed=retry_failed,
                scheduler=scheduler,
                limit_s=limit_s,
                stop_after=stop_after,
                progress=listener,
            )
    except BaseException as error:
        if not isinstance(error, WanlabError):
            done = task.results()
            error.add_note(
                f"{len(done.results)} of {len(task.tasks)} runs are done and kept in {done.folder}; "
                "the same command resumes from there"
            )
        raise
    page = None if no_report else results.report()
    for reason in () if no_report else results.missing_figures():
        print(f"Warning: figure not drawn: {reason}", file=sys.stderr)
    if as_json:
        print(json.dumps(results_as_json(results, page), indent=2))
    else:
        _print(results, page)
    return 1 if results.failures or results.missing else 0


def forget(file: str | None) -> int:
    """Empty the cache, or remove its results of one experiment."""
    name = _find(file).name if file else ""
    count = forget_runs(name)
    print(f"removed {count} runs{f' of {name}' if name else ''} from the cache")
    return 0


def run(
    file: str,
    *,
    values: Sequence[str],
    seed: int,
    output: Path | None,
    no_cache: bool,
    here: bool,
    compares_traps: bool = False,
    as_json: bool,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Perform one run and print its metrics."""
    experiment = _find(file)
    settings = _parse_settings(values)
    for name, texts in settings.items():
        if len(texts) > 1:
            raise WanlabError(
                f"{name} has {len(texts)} values, but a single run takes one", "use: wanlab sweep"
            )
    parameters = experiment.resolve({name: texts[0] for name, texts in settings.items()})
    perform = partial(run_once, experiment, parameters, seed, is_here=here)
    if compares_traps:
        from .compare_traps import compare

        kernel = settings.get("kernel", [choice.kernel])[0]
        return compare(partial(perform, uses_cache=False), replace(choice, kernel=kernel))
    result = perform(uses_cache=not no_cache, choice=choice)
    if output is not None:
        _copy(result, output)
    if as_json:
        print(json.dumps(_run_as_json(result, output), indent=2))
        return 0
    for line in _metric_lines(result):
        print(line)
    for warning in (*result.warnings, *result.computing_warnings):
        print(f"Warning: {warning}")
    if no_cache and output is None:
        print("the record is not kept; use --output FOLDER to keep it")
        return 0
    cached = " (cached)" if result.is_cached else ""
    print(f"the record is in {output or result.folder / 'record'}{cached}")
    return 0


def _find(file: str) -> Experiment:
    """Load the experiment that FILE or FILE:NAME names."""
    path, colon, name = file.rpartition(":")
    if colon and path and not Path(file).exists():
        return load_experiment(path, name)
    return load_experiment(file)


def _parse_settings(values: Sequence[str]) -> dict[str, list[str]]:
    """Parse values of --set: "rtt=10ms,50ms" becomes {"rtt": ["10ms", "50ms"]}."""
    settings: dict[str, list[str]] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WanlabError(f'--set "{text}" is not NAME=VALUE', "as in --set rtt=10ms,50ms")
        settings.setdefault(name, []).extend(part.strip() for part in value.split(","))
    return settings


def _design(
    experiment: Experiment, values: Sequence[str], repeats: int | None, full: bool
) -> Design:
    design = experiment.full if full else experiment.design
    if design is None:
        raise WanlabError(
            f"{experiment.name} has no larger set of parameter values for --full",
            "set parameters with --set",
        )
    for name, texts in _parse_settings(values).items():
        design = design.with_values(name, [experiment.resolve({name: t})[name] for t in texts])
    return design if repeats is None else replace(design, repeats=repeats)


# -- output ---------------------------------------------------------------------------------------


@contextmanager
def shown(task: Sweep, name: str = "") -> Iterator[Callable[[SweepProgress], None]]:
    """Show progress on standard error: a bar on a terminal, lines elsewhere.

    `name` is written before the bar (default: that of the experiment).
    """
    if not sys.stderr.isatty():
        yield _ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    console = Console(stderr=True, highlight=False)
    with Bars(*columns, console=console, auto_refresh=False, transient=True) as bars:
        bar = bars.add_task(name or task.experiment.name, total=len(task.tasks), state="")

        def show(state: SweepProgress) -> None:
            if state.event:
                console.print(state.event, markup=False)
            bars.update(bar, completed=state.done, state=state.text())
            bars.refresh()

        yield show


class _ProgressLines:
    """Prints a line when a run ends, but at most one in ten seconds."""

    def __init__(self) -> None:
        self._last_s = 0.0
        self._shown: tuple[int, str] | None = None

    def __call__(self, state: SweepProgress) -> None:
        done = state.done
        now_s = time.monotonic()
        is_over = done == state.total
        if state.event:
            print(state.event, file=sys.stderr, flush=True)
        current = (done, state.note)
        if current != self._shown and (is_over or now_s - self._last_s >= LINE_INTERVAL_S):
            print(f"[{state.real_s:7.1f} s] {state.text()}", file=sys.stderr, flush=True)
            self._shown, self._last_s = current, now_s


def _print(results: Results, page: Path | None) -> None:
    count = len(results.results)
    done = f"{count} run{'' if count == 1 else 's'} done"
    print(f"{done}; the table is in {results.folder / 'results.parquet'}")
    if page is not None:
        print(f"the report is in {page}")
    for warning in filter(None, [results.seeds_without_effect(), results.computing_warning()]):
        print(f"Warning: {warning}")
    for failure in results.failures[:MAX_FAILURES_SHOWN]:
        print(f"failed: {failure.title(results.varied)}: {failure}")
    more = len(results.failures) - MAX_FAILURES_SHOWN
    if more > 0:
        print(f"and {more} more: see {results.folder / 'failed'}")
    if results.failures:
        print(f"{len(results.failures)} runs failed; to repeat them, use --retry-failed")
    if results.skipped:
        print(
            f"{results.skipped} runs were not started, because others with their values had failed "
            "for the same reason; correct the values, or use --stop-after 0"
        )
    if unknown := results.missing - results.skipped:
        print(
            f"{unknown} runs failed, but the reason could not be written; "
            "the same command repeats them"
        )


def results_as_json(results: Results, page: Path | None) -> dict[str, object]:
    return {
        "experiment": results.experiment,
        "folder": str(short(results.folder)),
        "table": str(short(results.folder / "results.parquet")),
        "report": None if page is None else str(short(page)),
        "runs": [_run_as_json(result, None) for result in results],
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


def _run_as_json(result: Result, output: Path | None) -> dict[str, object]:
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
        "record": str(output or short(result.folder / "record")),
    }


def short(path: Path) -> Path:
    """Return the path relative to the current folder, if it is in that folder.

    What two people print is then the same.
    """
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _metric_lines(result: Result) -> list[str]:
    rows = [(name, f"{each.value:.6g} {each.unit}") for name, each in result.metrics.items()]
    return aligned(rows, "<<")


def _copy(result: Result, output: Path) -> None:
    from wanlab import record

    record.write(result.record, output)
