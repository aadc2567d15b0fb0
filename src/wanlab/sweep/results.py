"""The results of a sweep: a table, figures, and a report.

results = read_results("results/buffers")
results.table                                    a row per run, in the design's order
results.figure("lines goodput over buffer")
results.report()                                 an HTML page with everything
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab.run.result import Task

from .charts import draw, missing_figures
from .display import results_html
from .folder import SweepFolder
from .report import write_report
from .result_set import ResultSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Results(ResultSet):
    """The results and failures of a sweep, both in the design's order."""

    def figure(self, sentence: str) -> Figure:
        """Draw a figure from a sentence such as "lines goodput over buffer by algorithm".

        See `charts` for the sentences; `plot.save` writes the figure to a file. Raises WanlabError for
        a figure that cannot be drawn.
        """
        return draw(sentence, self)

    def missing_figures(self) -> tuple[str, ...]:
        """Return a line for each figure of the experiment that cannot be drawn, with the reason."""
        return tuple(missing_figures(self))

    def report(self) -> Path:
        """Write figures and an HTML page with all results, and return the page's path."""
        return write_report(self)

    def _repr_html_(self) -> str:
        """Show the results in a notebook."""
        return results_html(self)


def read_results(folder: str | Path) -> Results:
    """Read the results in the folder of a sweep, finished or not.

    Raises WanlabError if the folder does not hold a sweep.
    """
    sweep_folder = SweepFolder(Path(folder))
    index = sweep_folder.read_index()
    varied = tuple(index["varied"])
    tasks = [Task(run["parameters"], run["seed"], run["key"], varied) for run in index["runs"]]
    return results_in(
        sweep_folder,
        index["experiment"],
        index["about"],
        tasks,
        tuple(index["plots"]),
        index.get("labels", {}),  # folders of older versions have none
    )


def results_in(
    folder: SweepFolder,
    name: str,
    about: str,
    tasks: Sequence[Task],
    plots: tuple[str, ...],
    labels: Mapping[str, str],
) -> Results:
    """Return the results that a sweep's folder has for these tasks."""
    outcomes = [(folder.result(task), task) for task in tasks]
    failures = [
        failure for result, task in outcomes if result is None and (failure := folder.failure(task))
    ]
    results = tuple(result for result, _ in outcomes if result is not None)
    return Results(
        folder=folder.path,
        experiment=name,
        about=about,
        varied=tasks[0].varied if tasks else (),
        plots=plots,
        results=results,
        failures=tuple(failures),
        missing=len(tasks) - len(results) - len(failures),
        labels=dict(labels),
    )
