"""A unit of the gallery as data: a published figure, and predictions of our measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wanlab.experiments import Design, Experiment, load_experiment
from wanlab.run.design import Value

QUICK, FULL = "quick", "full"


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Where a figure was published."""

    authors: str
    title: str
    venue: str
    year: int | None
    """None for a page without a date."""
    figure: str
    """Figure, table, section or formula."""
    link: str

    @property
    def citation(self) -> str:
        return f"{self.authors}, *{self.title}*, {self.venue_and_year}, {self.figure}"

    @property
    def venue_and_year(self) -> str:
        return f"{self.venue}, {self.year}" if self.year else self.venue


@dataclass(frozen=True, kw_only=True)
class PublishedPoint:
    """One point of the published figure."""

    series: str
    """The value of the parameter that distinguishes the lines; "" if there is one line."""
    x: str
    """The value of the parameter on the horizontal axis."""
    value: float
    origin: str
    """Where the value was read: a sentence of the paper, a formula."""


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The axes of a figure: a metric over one parameter, with a line for each value of another."""

    metric: str
    over: str
    by: str
    label: str
    """The label of the vertical axis, with the unit."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A value that a measurement at one point should have, stated before measuring."""

    claim: str
    metric: str
    at: Mapping[str, Value]
    """The parameters of the point; those that are not named have one value in the design."""
    relative_to: Mapping[str, Value] | None
    """If not None, the metric is divided by its value at this point."""
    low: float
    high: float
    published: str
    """The published value, as it is quoted."""
    reason: str
    """Why the band ends where it ends."""
    cause: str
    """Why our value is outside the band, if it is; found in the records."""


@dataclass(frozen=True, kw_only=True)
class GalleryUnit:
    """One figure of the gallery."""

    name: str
    folder: Path
    title: str
    sources: tuple[Publication, ...]
    how_read: str
    """How the published points were read."""
    axes: Axes
    points: tuple[PublishedPoint, ...]
    predictions: tuple[Prediction, ...]
    page: str
    """Markdown: the claim, the experiment, and the findings in the records."""

    @property
    def experiment_file(self) -> Path:
        """The file with its experiment: that of the unit bbr-loss is bbr_loss.py."""
        return self.folder / f"{self.name.replace('-', '_')}.py"

    @property
    def experiment(self) -> Experiment:
        return load_experiment(self.experiment_file)

    def design(self, size: str) -> Design:
        """Return the quick or the full design."""
        experiment = self.experiment
        return experiment.full if size == FULL and experiment.full else experiment.design
