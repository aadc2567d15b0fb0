"""The tables of docs/fidelity.md: one for each group, between two marks that say which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .figure import Figure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
HEAD = "| effect | by | theory | measured | error | accepted, because |\n|---|---|---|---|---|---|"


def markdown(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    return "\n".join([HEAD, *map(_row, figures)])


def refresh(groups: Mapping[str, Sequence[Figure]], origin: str, page: Path = PAGE) -> None:
    """Write the tables of these groups between their marks in the page, and their origin."""
    text = page.read_text(encoding="utf-8")
    for name, figures in groups.items():
        text = _put(text, name, markdown(figures))
    text = _put(text, "origin", origin) if origin else text
    page.write_text(text, encoding="utf-8")


def _put(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not between.search(text):
        raise SystemExit(f"{PAGE.name} has no place for {name!r}: {begin} ... {end}")
    return between.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def _row(figure: Figure) -> str:
    error = "" if figure.error is None else f"{100 * figure.error:+.2f} %".replace("-0.00", "0.00")
    unit = f" {figure.unit}" if figure.unit else ""
    accepted = f"{number(figure.least)} to {number(figure.most)}"
    if not figure.is_met:
        accepted = f"**not met**: {figure.flaws or accepted}"
    cells = (
        figure.effect,
        figure.origin,
        number(figure.theory) + unit,
        number(figure.measured) + unit,
        error.replace("+0.00", "0.00"),
        f"{accepted}: {figure.reason}" if figure.reason else accepted,
    )
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return a number with five digits and without trailing zeros."""
    return f"{round(value):,}" if abs(value) >= 1e5 else f"{value:.5g}"
