"""Experiments that can be run and swept, and the decorator that makes one of a function.

@experiment(design=Design.grid({"buffer": ["0.5bdp", "1bdp", "2bdp"]}, repeats=3),
            plots=["lines goodput over buffer"])
def buffers(run: Run, *, rate: str = "100Mbps", buffer: str = "1bdp") -> None:
    \"\"\"Goodput over the size of the bottleneck's buffer.\"\"\"
    with run.network(shapes.dumbbell(pairs=1, rate=rate)) as net:
        ...
    run.metric("goodput", 95.3, "Mbit/s")

result = buffers.run(buffer="2bdp", seed=3)      one run: result.metrics, result.record
results = buffers.sweep()                        its design, on all cores: results.table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import overload

from wanlab.errors import WanlabError
from wanlab.jobs.progress import Listener
from wanlab.run.definition import Definition, Function
from wanlab.run.design import Design, Value
from wanlab.run.loading import load_definition
from wanlab.run.result import Result
from wanlab.run.source import YAML

from .results import Results
from .sentence import parse_chart
from .single import run_once
from .sweep import Sweep


class Experiment(Definition):
    """A definition that can be run; made by `experiment`, or from a YAML file."""

    def run(
        self,
        *,
        seed: int = 1,
        cache: bool = True,
        here: bool = False,
        **parameters: Value,
    ) -> Result:
        """Return the result of one run, which is performed unless it is in the cache.

        It is performed in a separate process; with `here` in this one, so that a debugger can be used.
        Raises WanlabError if the run fails.
        """
        return run_once(self, self.resolve(parameters), seed, uses_cache=cache, is_here=here)

    def sweep(
        self,
        design: Design | None = None,
        *,
        output: str | Path | None = None,
        jobs: int | None = None,
        cache: bool = True,
        retry_failed: bool = False,
        scheduler: str = "",
        progress: Listener | None = None,
    ) -> Results:
        """Perform the runs of `design`, or of the experiment's own design.

        The folder `output` (results/NAME by default) keeps the runs and their table; a sweep that was
        interrupted resumes from it. `progress` is called whenever something has changed (see `Sweep`).
        """
        return Sweep(self, design or self.design, output=output).run(
            jobs=jobs,
            uses_cache=cache,
            retry_failed=retry_failed,
            scheduler=scheduler,
            progress=progress,
        )


@overload
def experiment(function: Function, /) -> Experiment: ...


@overload
def experiment(
    *,
    design: Design | None = None,
    full: Design | None = None,
    plots: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    files: Sequence[str] = (),
    programs: Sequence[str] = (),
) -> Callable[[Function], Experiment]: ...


def experiment(
    function: Function | None = None,
    /,
    *,
    design: Design | None = None,
    full: Design | None = None,
    plots: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    files: Sequence[str] = (),
    programs: Sequence[str] = (),
) -> Experiment | Callable[[Function], Experiment]:
    """Make an experiment of a function, which has `run` and then its parameters, each with a default.

    design    the parameters and seeds of a sweep
    full      a larger design, for when there is more time
    plots     the figures of a sweep (see `charts`)
    labels    words for metrics and parameters in figures
    files     files that the experiment reads besides its source
    programs  programs that it starts besides ping, iperf3 and the like
    """

    def decorate(function: Function) -> Experiment:
        return Experiment.of_function(
            function,
            design=design,
            full=full,
            plots=plots,
            labels=labels,
            files=files,
            programs=programs,
        )

    return decorate if function is None else decorate(function)


def load_experiment(path: str | Path, name: str = "") -> Experiment:
    """Return the experiment in a file; if there are several, the one with this name."""
    loaded = load_definition(path, name, Experiment)
    if Path(path).suffix in YAML:
        _check_plots(loaded, Path(path))
    return loaded


def _check_plots(loaded: Experiment, path: Path) -> None:
    for sentence in loaded.plots:
        try:
            parse_chart(sentence)
        except WanlabError as error:
            raise WanlabError(f"{path.name}: {error.what}", error.hint) from None
