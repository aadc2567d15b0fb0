"""An experiment as data: a function, its parameters, and everything else that decides a run's result.

A run is a pure function of the experiment's source, its parameters, the seed, wanlab's code, the kernel
and the programs. Its result is therefore computed once and then answered from the cache. An experiment
must not read clocks, files that it does not name, or random numbers other than `run.random`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from wanlab.errors import WanlabError
from wanlab.topology.cpu import read_cpu

from .design import Design, Parameters, Value
from .run import COMMON_PARAMETERS, CPU, Run, check_parameters
from .source import SourceCode, of_file, of_function

Function = Callable[..., None]
VALUE_TYPES = (str, int, float, bool)
RESERVED = {"run", "seed", "cache", "here", "warnings"}


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An experiment: its function, its parameters, and the design of its sweep."""

    name: str
    function: Function = field(repr=False)
    parameters: Mapping[str, Value]
    """The default of each parameter."""
    about: str = ""
    design: Design = field(default_factory=Design)
    """The runs of a sweep, unless another design is given."""
    full: Design | None = None
    """A larger design for when there is more time: `wanlab sweep --full`."""
    plots: tuple[str, ...] = ()
    """Figures of a sweep, such as "lines goodput over buffer by algorithm" (see `sweep.charts`)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Words for metrics and parameters in figures: {"share_of_bbr": "BBR's share"}."""
    files: tuple[str, ...] = ()
    """Files that it reads besides its source: `run.file` returns their paths."""
    programs: tuple[str, ...] = ()
    """Programs that it starts besides the usual ones (see `key`); a new version changes the key."""
    origin_file: Path | None = None
    """The file with its source; None for a function in a notebook or inside another function."""

    @classmethod
    def of_function(
        cls,
        function: Function,
        *,
        design: Design | None = None,
        full: Design | None = None,
        plots: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        files: Sequence[str] = (),
        programs: Sequence[str] = (),
    ) -> Self:
        """Make a definition of a function that takes a `Run` and then keyword parameters.

        Raises WanlabError for a parameter without a usable default, and for a design that names a
        parameter that the function does not have.
        """
        definition = cls(
            name=function.__name__,
            function=function,
            parameters=_parameters_of(function),
            about=inspect.getdoc(function) or "",
            design=design or Design(),
            full=full,
            plots=tuple(plots),
            labels=dict(labels or {}),
            files=tuple(files),
            programs=tuple(programs),
            origin_file=_file_of(function),
        )
        definition.check_designs()
        return definition

    def __call__(self, run: Run, **parameters: Value) -> None:
        """Perform this experiment as a part of another one."""
        self.function(run, **check_parameters(self.parameters, parameters, self.name))

    def resolve(self, parameters: Parameters) -> dict[str, Value]:
        """Return the values of all parameters: these, and the defaults of the others.

        Raises WanlabError for a parameter that the experiment does not have, and for an unknown
        processor.
        """
        chosen = dict(parameters)
        common = {
            name: str(chosen.pop(name)) for name in COMMON_PARAMETERS if self.has_set(name, chosen)
        }
        read_cpu(common.get(CPU))
        return check_parameters(self.parameters, chosen, self.name) | common

    def has_set(self, common: str, parameters: Parameters) -> bool:
        """Whether a parameter that every experiment has is set, and the function does not have it."""
        return common in parameters and common not in self.parameters

    def own(self, parameters: Parameters) -> dict[str, Value]:
        """Return those parameters that the function has."""
        return {name: value for name, value in parameters.items() if name in self.parameters}

    def check_designs(self) -> None:
        """Raise WanlabError if a design sets a parameter that the experiment does not have."""
        for design in filter(None, (self.design, self.full)):
            for parameters, _ in design.runs():
                self.resolve(parameters)

    @cached_property
    def source(self) -> SourceCode:
        """Its code, as files that are sent to the processes and computers that perform runs."""
        if self.origin_file is not None:
            return of_file(self.origin_file, self.name, self.files)
        if self.files:
            raise WanlabError(
                f"{self.name} names files but is not in a file itself",
                "put the experiment into a file beside them",
            )
        decorated = f"_experiment(programs={self.programs!r})({self.name})"
        lines = ["from wanlab import experiment as _experiment", f"{self.name} = {decorated}"]
        return of_function(self.function, self.name, "\n".join(lines))


def check_names(parameters: Mapping[str, Value]) -> None:
    """Raise WanlabError for a parameter whose name has another meaning."""
    if reserved := sorted(RESERVED & set(parameters)):
        raise WanlabError(f"a parameter cannot be called {reserved[0]}", "rename it")


def _parameters_of(function: Function) -> dict[str, Value]:
    """Return each keyword parameter of the function with its default."""
    arguments = list(inspect.signature(function).parameters.values())
    if not arguments:
        raise WanlabError(
            f"{function.__name__} does not take a run", f"def {function.__name__}(run: Run, *, ...)"
        )
    defaults: dict[str, Value] = {}
    for argument in arguments[1:]:
        if not isinstance(argument.default, VALUE_TYPES):
            raise WanlabError(
                f"the parameter {argument.name} of {function.__name__} has no default, or one that "
                "is not a string, a number or a bool",
                f'as in {argument.name}: str = "10ms"',
            )
        defaults[argument.name] = argument.default
    check_names(defaults)
    return defaults


def _file_of(function: Function) -> Path | None:
    """Return the file with the function at its top level; None in a notebook or another function."""
    path = Path(function.__code__.co_filename)
    is_nested = "<locals>" in function.__qualname__
    return path.resolve() if not is_nested and path.suffix == ".py" and path.is_file() else None
