"""Building blocks for Jupyter notebooks: HTML tables, and output that changes while a cell runs.

Colours and fonts are those of the page, so that light and dark pages both look right. There are no
widgets: output that changes is ordinary output that is replaced (IPython's `update_display`). IPython
is used only if the program has already loaded it. Outside of notebooks, this module has no effect.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import import_module
from typing import Any

FIRST_UPDATE_REAL_S = 0.5
"""A shorter wait shows no progress."""
UPDATE_INTERVAL_REAL_S = 0.25
MAX_PAUSE_REAL_S = 1.0
"""After a longer pause between two waits, progress starts a new output."""
BAR_WIDTH = 200
MUTED = "opacity: 0.65"


def is_notebook() -> bool:
    """Return whether this program is the kernel of a notebook."""
    shell = _shell()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


# -- HTML -------------------------------------------------------------------------------------------


class Html(str):
    """HTML that must not be escaped again."""

    def _repr_html_(self) -> str:
        return str(self)


def as_html(value: object) -> str:
    return str(value) if isinstance(value, Html) else escape(str(value))


def table(
    headings: Sequence[object], rows: Iterable[Sequence[object]], *, wraps: bool = True
) -> Html:
    """Return a left-aligned table. If its lines do not wrap, a table that is too wide scrolls."""
    space = "" if wraps else "; white-space: nowrap"
    style = f' style="text-align: left; vertical-align: top{space}"'

    def row(cells: Sequence[object], kind: str) -> str:
        inner = "".join(f"<{kind}{style}>{as_html(cell)}</{kind}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    whole = f"<table><thead>{row(headings, 'th')}</thead><tbody>{body}</tbody></table>"
    return Html(whole if wraps else f'<div style="overflow-x: auto">{whole}</div>')


def heading(title: object, about: object = "") -> Html:
    rest = f' <span style="{MUTED}">{as_html(about)}</span>' if about else ""
    return Html(f"<div><b>{as_html(title)}</b>{rest}</div>")


def folded(title: object, inside: object) -> Html:
    """Return content that is hidden until its title is clicked."""
    return Html(f"<details><summary>{as_html(title)}</summary>{as_html(inside)}</details>")


def preformatted(text: str) -> Html:
    return Html(f'<pre style="white-space: pre-wrap">{escape(text)}</pre>')


def together(*parts: object) -> Html:
    return Html("".join(as_html(part) for part in parts))


def bar(fraction: float) -> Html:
    filled = round(BAR_WIDTH * min(max(fraction, 0.0), 1.0))
    return Html(
        f'<svg width="{BAR_WIDTH}" height="10" style="vertical-align: middle">'
        f'<rect width="{BAR_WIDTH}" height="10" rx="3" fill="#8884"/>'
        f'<rect width="{filled}" height="10" rx="3" fill="#2f81c9"/></svg>'
    )


# -- output that changes ----------------------------------------------------------------------------


class LiveOutput:
    """An output of the running cell. Each `show` replaces its content."""

    def __init__(self) -> None:
        self._handle: Any = None

    @property
    def is_shown(self) -> bool:
        return self._handle is not None

    def show(self, html: str, text: str) -> None:
        display = import_module("IPython.display").display
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


class TimeLine:
    """Shows the progress of a network's time while a cell waits; a listener for `Network.on_time`."""

    def __init__(self) -> None:
        self.others: list[Callable[[], None]] = []
        """Called when time has passed, to update other outputs."""
        self._wait: tuple[int, int | None] | None = None
        self._output = LiveOutput()
        self._start = (0.0, 0)
        self._ended_real_s: float | None = 0.0
        """When the last wait has ended; None while time passes."""
        self._next_real_s = 0.0

    def __call__(self, now_ns: int, end_ns: int | None) -> None:
        real_s = time.monotonic()
        if now_ns == end_ns:
            self._end(now_ns, real_s)
            return
        wait = (getattr(_shell(), "execution_count", 0), end_ns)
        is_new = self._ended_real_s is not None and real_s - self._ended_real_s > MAX_PAUSE_REAL_S
        if wait != self._wait or is_new:
            self._wait, self._output = wait, LiveOutput()
            self._start, self._next_real_s = (real_s, now_ns), real_s + FIRST_UPDATE_REAL_S
        self._ended_real_s = None
        if real_s >= self._next_real_s:
            self._next_real_s = real_s + UPDATE_INTERVAL_REAL_S
            self._show(now_ns, end_ns, real_s)

    def _end(self, now_ns: int, real_s: float) -> None:
        self._ended_real_s = real_s
        if self._wait is not None and self._output.is_shown:
            self._show(now_ns, self._wait[1], real_s)
            return
        for show in self.others:
            show()

    def _show(self, now_ns: int, end_ns: int | None, real_s: float) -> None:
        for show in self.others:
            show()
        start_real_s, start_ns = self._start
        passed_s, passed_real_s = (now_ns - start_ns) / 1e9, real_s - start_real_s
        speed = f"{passed_s / passed_real_s:.2g} times as fast as real time"
        if end_ns is None:
            text = f"{passed_s:.1f} s of the network's time have passed, {speed}"
            self._output.show(as_html(text), text)
            return
        whole_s = (end_ns - start_ns) / 1e9
        text = f"{passed_s:.1f} of {whole_s:.1f} s of the network's time, {speed}"
        self._output.show(together(bar(passed_s / whole_s), " ", text), text)


def time_line() -> TimeLine | None:
    """Return a progress display if this program is a notebook, otherwise None."""
    return TimeLine() if is_notebook() else None
