"""The report of a benchmark: tables on stderr, row by row, and a line of JSON on stdout.

The JSON also holds what the figures depend on: the kernel, the computer, and how busy it was. A report
uses the same kernel throughout, even if another one is built meanwhile.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

from wanlab import __version__
from wanlab.calibration.model_file import processor_name
from wanlab.machine.defaults import KERNEL_VARIABLE
from wanlab.machine.embedded import find_image

GAP = "  "
MIN_WIDTH = 8
VERDICTS = {
    True: "The claim holds.",
    False: "THE CLAIM DOES NOT HOLD.",
    None: "Nothing to compare with: no verdict.",
}


class Report:
    """The report of one benchmark; make it before anything is measured.

    `kernel` is the name of the kernel to boot. If it is empty, WANLAB_KERNEL decides.
    """

    def __init__(self, name: str, kernel: str = "") -> None:
        self.more: dict[str, Any] = {}
        """Further entries of the JSON."""
        self._name = name
        self._tables: dict[str, Table] = {}
        self._image = find_image(kernel)
        os.environ[KERNEL_VARIABLE] = str(self._image.folder)
        self._load_before = os.getloadavg()[0]

    def table(self, name: str, columns: Sequence[str]) -> Table:
        """Begin a table; `name` is its key in the JSON."""
        self._tables[name] = Table(columns)
        return self._tables[name]

    def note(self, text: str) -> None:
        """Print a line about the progress, or about what cannot be measured."""
        print(text, file=sys.stderr, flush=True)

    def finish(self, *, is_met: bool | None) -> int:
        """Print the line of JSON and return the exit status: 1 if the claim does not hold.

        `is_met` is None if there was nothing to compare with.
        """
        data = {
            "bench": self._name,
            "is_met": is_met,
            **{name: table.rows for name, table in self._tables.items()},
            **self.more,
            "wanlab": __version__,
            "kernel_release": self._image.release,
            "kernel_manifest": self._image.manifest_hash,
            "cpu": processor_name() or platform.machine(),
            "cpus": len(os.sched_getaffinity(0)),
            "load_before": round(self._load_before, 2),
            "load_after": round(os.getloadavg()[0], 2),
        }
        self.note(VERDICTS[is_met])
        print(json.dumps(data), flush=True)
        return 1 if is_met is False else 0


class Table:
    """A table whose rows are printed as they are added; a missing figure is shown as "-"."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.rows: list[dict[str, Any]] = []
        self._columns = list(columns)
        self._print(self._columns)

    def add(self, **figures: Any) -> None:
        """Add a row. Figures that are not columns appear only in the JSON."""
        self.rows.append(figures)
        self._print([_text(figures.get(column)) for column in self._columns])

    def _print(self, cells: Sequence[str]) -> None:
        widths = [max(len(column), MIN_WIDTH) for column in self._columns]
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        print(GAP.join(padded), file=sys.stderr, flush=True)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 0.01 else f"{value:.4g}"
    return str(value)
