"""Registers the functions that display wanlab's types in notebooks.

The packages of records, topologies and networks have display functions, which the types themselves
do not know. IPython looks a type up by its name when it displays an object, so nothing is imported
before that. `import wanlab` registers the functions if IPython is already running.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.formatters import DisplayFormatter

HTML = "text/html"
SVG = "image/svg+xml"

FORMATTERS = (
    (HTML, "wanlab.record.record.Record", "wanlab.record.display.record_html"),
    (HTML, "wanlab.record.record.Table", "wanlab.record.display.table_html"),
    (SVG, "wanlab.topology.model.Topology", "wanlab.topology.files.svg.picture_or_none"),
)
"""MIME type, type, and the function that returns the text of an object, or None to leave it out."""

DISPLAYS = (("wanlab.network.network.Network", "wanlab.network.display.show"),)
"""Types, and the function that displays an object and updates its output later."""


def register_if_in_ipython() -> None:
    """Register all functions with the IPython shell that this program runs in, if there is one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        register(shell.display_formatter)


def register(formatter: DisplayFormatter) -> None:
    """Register all functions with IPython's `formatter`."""
    for mime_type, displayed, function in FORMATTERS:
        module, _, name = displayed.rpartition(".")
        formatter.formatters[mime_type].for_type_by_name(
            module, name, _imported_when_called(function)
        )
    for displayed, function in DISPLAYS:
        module, _, name = displayed.rpartition(".")
        formatter.ipython_display_formatter.for_type_by_name(
            module, name, _imported_when_called(function)
        )


def _imported_when_called(path: str) -> Callable[[object], object]:
    module, _, name = path.rpartition(".")

    def call(value: object) -> object:
        return getattr(import_module(module), name)(value)

    return call
