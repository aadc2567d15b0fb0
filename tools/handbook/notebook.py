"""A Jupyter notebook as a page: its texts, its programs, and what they displayed."""

from __future__ import annotations

import re
from typing import Any

FILE = "tutorial.ipynb"
PROGRESS = re.compile(r"times as fast as real time|\A\d+ of \d+ done")
"""Displays that say how far a cell is: they depend on the computer."""
RICH = ("image/svg+xml", "text/html")


def as_markdown(notebook: dict[str, Any]) -> str:
    """Return the page of a notebook (format 4)."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [shown for output in cell["outputs"] if (shown := _shown(output))]
    parts.append(f"[Download this notebook]({FILE})")
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output.get("data", {})
    for kind in RICH:
        if kind in data:
            picture = re.sub(r"\A<\?xml.*?(?=<svg)", "", "".join(data[kind]), flags=re.DOTALL)
            return f'<div class="notebook">\n{picture}\n</div>'
    return f"```text\n{''.join(data['text/plain'])}\n```" if "text/plain" in data else ""


def cleaned(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return an executed notebook without what differs from run to run, or is shown better."""
    cells = [
        {
            **cell,
            "metadata": {},
            **(
                {"outputs": [_cleaned(output) for output in cell["outputs"] if _stays(output)]}
                if cell["cell_type"] == "code"
                else {}
            ),
        }
        for cell in notebook["cells"]
    ]
    metadata = {**notebook["metadata"], "language_info": {"name": "python"}}
    return {**notebook, "cells": cells, "metadata": metadata}


def _stays(output: dict[str, Any]) -> bool:
    return not PROGRESS.search("".join(output.get("data", {}).get("text/plain", "")))


def _cleaned(output: dict[str, Any]) -> dict[str, Any]:
    """Leave out text that names an address in memory, and the marks of a live display."""
    data = output.get("data")
    if data is None:
        return output
    kinds = [kind for kind in RICH if kind in data] or list(data)
    shown = {**output, "data": {kind: data[kind] for kind in kinds}, "metadata": {}}
    shown.pop("transient", None)
    return shown
