"""A Jupyter notebook as a page: its texts, its programs, and what they displayed."""

from __future__ import annotations

from typing import Any

FILE = "tutorial.ipynb"


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
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return f'<div class="notebook">\n{"".join(data[kind])}\n</div>'
    return f"```text\n{''.join(data['text/plain'])}\n```" if "text/plain" in data else ""
