"""Displays sweeps in notebooks: the plan, the progress, and the results."""

from __future__ import annotations

from wanlab.jobs.progress import BatchProgress, Listener
from wanlab.notebook import (
    Html,
    LiveOutput,
    bar,
    folded,
    heading,
    is_notebook,
    preformatted,
    table,
    together,
)

from .result_set import ResultSet

MAX_ROWS = 20


def sweep_html(results: ResultSet, count: int) -> Html:
    """Show how many of a sweep's `count` runs are done."""
    varied = ", ".join(results.varied) or "only the seed"
    return together(
        heading(f"sweep of {results.experiment}", f"{count} runs; varied: {varied}"),
        bar(len(results) / count),
        f" {len(results)} done, {len(results.failures)} failed, {results.missing} not started",
    )


def results_html(results: ResultSet) -> Html:
    """Show the table of the results, and the reasons for which runs have failed."""
    rows, names = results.table, results.table.names
    units = {name: rows.column(name).unit for name in names}
    headings = [f"{name} ({units[name]})" if units[name] else name for name in names]
    shown = [[_cell(rows[name][row]) for name in names] for row in range(min(len(rows), MAX_ROWS))]
    left_out = f"and {len(rows) - MAX_ROWS} more runs" if len(rows) > MAX_ROWS else ""
    missing = f", {results.missing} missing" if results.missing else ""
    failed = f", {len(results.failures)} failed" if results.failures else ""
    return together(
        heading(results.experiment, f"{len(results)} runs{failed}{missing}. {results.about}"),
        table(headings, shown, wraps=False) if shown else "",
        left_out,
        *(
            folded(
                f"failed: {failure.title(results.varied)}",
                preformatted(str(failure)),
            )
            for failure in results.failures
        ),
    )


def _cell(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def live_listener() -> Listener | None:
    """Return a listener that shows progress below the notebook's cell; None outside of notebooks."""
    return _ProgressOutput() if is_notebook() else None


class _ProgressOutput:
    """One output of a notebook, replaced whenever the progress has changed."""

    def __init__(self) -> None:
        self._output = LiveOutput()
        self._text = ""

    def __call__(self, progress: BatchProgress) -> None:
        text = progress.text()
        if text == self._text:
            return
        self._text = text
        running = "; ".join(progress.running)
        shown = together(
            bar(progress.done / max(1, progress.total)),
            " ",
            text,
            heading("", running) if running else "",
        )
        self._output.show(shown, text)
