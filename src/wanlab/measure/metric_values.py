"""The types that all metrics share: their source, their value, and their readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wanlab.errors import WanlabError, did_you_mean
from wanlab.record import Table

MAX_SHOWN_CHARACTERS = 80


@dataclass(frozen=True)
class Metric:
    """A number that characterizes a run, with its unit."""

    value: float
    unit: str = ""
    least: float | None = None
    """The lowest possible value, if the experiment knows it; no confidence band is drawn below."""
    most: float | None = None


def _no_file(name: str) -> bytes:
    raise WanlabError(f"there is no file {name}")


@dataclass(frozen=True)
class StepOutput:
    """The output of one step of a lab, or of one program."""

    output: str = ""
    outputs: Sequence[str] = ()
    """The output of each flow, if the step runs several at once."""
    read_file: Callable[[str], bytes] = _no_file
    """Read a file by its name in the program's folder; raise WanlabError if there is none."""
    queues: Mapping[str, Table] = field(default_factory=dict)
    """The sampled queues (table "qdisc"), by port."""
    seconds: float | None = None
    """How long the program ran; None if it has not ended."""

    @property
    def all_outputs(self) -> Sequence[str]:
        return self.outputs or (self.output,)

    def text_of(self, file: str | None) -> str:
        """Return the text of a file, or the program's output if `file` is None."""
        if file is None:
            return self.output
        return self.read_file(file).decode("utf-8", "replace")


Extractor = Callable[[StepOutput], Metric]


@dataclass(frozen=True)
class MetricReader:
    """A name of the language: its arguments and paths, and the function that reads its numbers."""

    build: Callable[[str | None, str], Extractor]
    """Make the extractor for an argument (None without brackets) and a path ("receiver.mbps")."""
    paths: Sequence[str] | None = ("",)
    """The known paths; None if any path is allowed."""
    takes_argument: bool = False
    needs_argument: bool = False

    def extractor(self, text: str, argument: str | None, path: str) -> Extractor:
        if argument is not None and not (self.takes_argument or self.needs_argument):
            raise WanlabError(f'"{text}" takes no argument in parentheses')
        if self.needs_argument and not argument:
            raise WanlabError(f'"{text}" needs an argument in parentheses')
        if self.paths is None and not path:
            raise WanlabError(f'"{text}" does not name a value')
        if self.paths is not None and path not in self.paths:
            hint = did_you_mean(path, self.paths) if any(self.paths) else ""
            raise WanlabError(f'unknown metric "{text}"', hint)
        return self.build(argument, path)


def known(value: float | None, what: str) -> float:
    """Return the value as a float; raise WanlabError if it is None."""
    if value is None:
        raise WanlabError(f"{what} was not measured")
    return float(value)


def largest(values: Sequence[float], what: str) -> float:
    if not values:
        raise WanlabError(f"{what} was not measured")
    return max(values)


def mean(values: Sequence[float], what: str) -> float:
    if not values:
        raise WanlabError(f"{what} was not measured")
    return sum(values) / len(values)


def beginning(text: str) -> str:
    """Return the start of an output, to show in an error message."""
    return repr(text.strip()[:MAX_SHOWN_CHARACTERS]) if text.strip() else "nothing"
