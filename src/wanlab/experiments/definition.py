"""The recipe of a measurement, and how a function becomes one.

    @experiment(design=Design.grid({"buffer": ["0.5bdp", "1bdp", "2bdp"]}, repeats=3),
                plots=["lines goodput over buffer"])
    def buffers(run: Run, *, rate: str = "100Mbps", buffer: str = "1bdp") -> None:
        \"\"\"Goodput over the size of the bottleneck's buffer.\"\"\"
        with run.network(shapes.dumbbell(pairs=1, rate=rate)) as net:
            ...
        run.metric("goodput", 95.3, "Mbit/s")

    result = buffers.run(buffer="2bdp", seed=3)      one run: result.metrics, result.record
    results = buffers.sweep()                        its design, on all cores: results.table

**A run is a pure function** of the experiment's source, its parameters, the seed, wanlab's code, the
kernel and the programs: what it left once is its answer for ever (see `cache`). An experiment must
therefore not read clocks, files that it does not name, or random numbers other than `run.random`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from wanlab.errors import WanlabError

from .design import Design, Parameters, Value
from .run import Run, check_parameters
from .source import Source, of_file, of_function

if TYPE_CHECKING:
    from .result import Result
    from .sweep import Listener, Results

Function = Callable[..., None]
KINDS = (str, int, float, bool)
RESERVED = {"run", "seed", "cache", "here", "warnings"}
KERNEL = "kernel"
"""A parameter of this name is the folder of the kernel's image that the run boots; "": the usual one."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is done, and with which parameters; made by `experiment`, or of a YAML file."""

    name: str
    function: Callable[..., None] = field(repr=False)
    parameters: Mapping[str, Value]
    """With their defaults."""
    about: str = ""
    design: Design = field(default_factory=Design)
    """What a sweep varies unless told otherwise."""
    full: Design | None = None
    """The same at full size, for who has the time: `wanlab sweep --full`."""
    plots: tuple[str, ...] = ()
    """"lines goodput over buffer by algorithm"; see `charts`."""
    files: tuple[str, ...] = ()
    """Beside its own: what `run.file` gives it."""
    programs: tuple[str, ...] = ()
    """That it starts besides the usual ones (see `origin`): a new version of them is another result."""
    origin_file: Path | None = None

    def __call__(self, run: Run, **parameters: Value) -> None:
        """Performs it as a part of another one."""
        self.function(run, **check_parameters(self.parameters, parameters, self.name))

    def resolve(self, given: Parameters) -> dict[str, Value]:
        """All parameters with their values. WanlabError for one that it does not have."""
        return check_parameters(self.parameters, given, self.name)

    @cached_property
    def source(self) -> Source:
        """Its code, as it travels."""
        if self.origin_file is not None:
            return of_file(self.origin_file, self.name, self.files)
        if self.files:
            raise WanlabError(
                f"{self.name} names files, and is in no file itself", "put it into one"
            )
        made = f"_experiment(programs={self.programs!r})({self.name})"
        lines = ["from wanlab import experiment as _experiment", f"{self.name} = {made}"]
        return of_function(self.function, self.name, "\n".join(lines))

    def run(
        self,
        *,
        seed: int = 1,
        cache: bool = True,
        here: bool = False,
        **parameters: Value,
    ) -> Result:
        """One run. `here`: in this process, for a debugger; otherwise in one of its own. What has ended
        before is answered from the cache. A run that fails is a WanlabError."""
        from .single import run_once

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
        """Many runs: those of `design`, or its own. `output` keeps them and their table; what is there
        is gone on with. By default it is results/NAME. `progress` is told of each run (see `sweep`)."""
        from .sweep import Sweep

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
    files: Sequence[str] = (),
    programs: Sequence[str] = (),
) -> Experiment | Callable[[Function], Experiment]:
    """Makes an experiment of a function: `run` first, then its parameters, each with a default.

    `design`: what a sweep varies; `full`: the same at full size; `plots`: figures of a sweep; `files`:
    what it reads, beside its own file; `programs`: what it starts besides ping, iperf3 and the like.
    """

    def make(function: Function) -> Experiment:
        made = Experiment(
            name=function.__name__,
            function=function,
            parameters=_parameters_of(function),
            about=inspect.getdoc(function) or "",
            design=design or Design(),
            full=full,
            plots=tuple(plots),
            files=tuple(files),
            programs=tuple(programs),
            origin_file=_file_of(function),
        )
        for chosen in filter(None, (made.design, made.full)):
            for parameters, _ in chosen.runs():
                made.resolve(parameters)
        return made

    return make if function is None else make(function)


def _parameters_of(function: Function) -> dict[str, Value]:
    given = list(inspect.signature(function).parameters.values())
    if not given:
        raise WanlabError(
            f"{function.__name__} takes no run", f"def {function.__name__}(run: Run, *, ...)"
        )
    found: dict[str, Value] = {}
    for parameter in given[1:]:
        if not isinstance(parameter.default, KINDS):
            raise WanlabError(
                f"the parameter {parameter.name} of {function.__name__} has no default that is a text, "
                "a number or true or false",
                f'as in {parameter.name}: str = "10ms"',
            )
        found[parameter.name] = parameter.default
    check_names(found)
    return found


def check_names(parameters: Mapping[str, Value]) -> None:
    """WanlabError for parameters that would be taken for something else."""
    if odd := sorted(RESERVED & set(parameters)):
        raise WanlabError(f"a parameter cannot be called {odd[0]}", "rename it")


def _file_of(function: Function) -> Path | None:
    """Where it stands, if that is a file's first level; a notebook's cell is none."""
    path = Path(function.__code__.co_filename)
    is_inner = "<locals>" in function.__qualname__
    return path.resolve() if not is_inner and path.suffix == ".py" and path.is_file() else None
