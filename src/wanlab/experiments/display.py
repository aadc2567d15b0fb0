"""Sweeps as a notebook shows them: what is planned, how far it is, what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from .sweep import Listener, Results, Sweep, SweepProgress

MOST_ROWS = 20


def sweep_html(sweep: Sweep) -> Html:
    results = sweep.results()
    count = len(sweep.tasks)
    varied = ", ".join(sweep.varied) or "nothing but the seed"
    return together(
        heading(f"sweep of {sweep.experiment.name}", f"{count} runs; varied: {varied}"),
        bar(len(results) / count),
        f" {len(results)} done, {len(results.failures)} failed, {results.missing} not begun",
    )


def results_html(results: Results) -> Html:
    rows, names = results.table, results.table.names
    units = {name: rows.column(name).unit for name in names}
    headings = [f"{name} ({units[name]})" if units[name] else name for name in names]
    shown = [[_cell(rows[name][row]) for name in names] for row in range(min(len(rows), MOST_ROWS))]
    left_out = f"and {len(rows) - MOST_ROWS} more runs" if len(rows) > MOST_ROWS else ""
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
    """Shows a sweep's progress below the cell that performs it; None outside of notebooks."""
    return _ProgressOutput() if is_notebook() else None


class _ProgressOutput:
    """One output, replaced whenever something has changed."""

    def __init__(self) -> None:
        self._output = LiveOutput()
        self._said = ""

    def __call__(self, progress: SweepProgress) -> None:
        text = said(progress)
        if text == self._said:
            return
        self._said = text
        over = progress.finished + progress.failed
        running = "; ".join(progress.running)
        shown = together(
            bar(over / max(1, progress.total)), " ", text, heading("", running) if running else ""
        )
        self._output.show(shown, text)


def said(progress: SweepProgress) -> str:
    """In a line."""
    parts = [f"{progress.finished} of {progress.total} runs"]
    if progress.cached:
        parts.append(f"{progress.cached} known before")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.left_s is not None and progress.finished + progress.failed < progress.total:
        parts.append(f"about {progress.left_s:.0f} s left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)
