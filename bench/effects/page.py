"""The tables of docs/evidence/fidelity.md: one for each group, between two marks that name the group.

Figures of other kernels are in docs/evidence/fidelity-kernels.md, beside those of the default kernel.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wanlab import text_table
from wanlab.machine.embedded.image import DEFAULT_KERNEL

from .figure import Figure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "fidelity.md"
KERNELS_PAGE = PAGE.with_name("fidelity-kernels.md")
KERNELS_HEAD = """# Fidelity on other kernels

The figures of [Fidelity](fidelity.md) for another kernel, beside those of the default kernel. Bold
figures differ. `./dev bench fidelity --kernel 7.3 --table` measures them and writes this page.

<!-- origin -->
<!-- /origin -->
"""
TITLES = {"aqm": "Active queue management"}
HEADS = ("effect", "caused by", "theory", "measured", "error", "accepted", "reason")


def markdown(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    return "\n".join(text_table.markdown(HEADS, map(_cells, figures)))


def refresh(groups: Mapping[str, Sequence[Figure]], origin: str, page: Path = PAGE) -> None:
    """Write the tables of these groups between their marks in the page, and the line on their origin."""
    text = page.read_text(encoding="utf-8")
    for name, figures in groups.items():
        text = _put(text, name, markdown(figures))
    text = _put(text, "origin", _wrapped(origin)) if origin else text
    page.write_text(text, encoding="utf-8")


def _wrapped(origin: str) -> str:
    return textwrap.fill(origin, 100, break_long_words=False, break_on_hyphens=False)


def compare(
    groups: Mapping[str, Sequence[Figure]],
    kernel: str,
    origin: str,
    *,
    page: Path = KERNELS_PAGE,
    default_page: Path = PAGE,
) -> None:
    """Write the figures of another kernel beside the default kernel's, which `default_page` contains."""
    text = page.read_text(encoding="utf-8") if page.exists() else KERNELS_HEAD
    known = dict(_measured(default_page.read_text(encoding="utf-8")))
    heads = ("effect", "theory", DEFAULT_KERNEL, kernel, "accepted")
    for name, figures in groups.items():
        if f"<!-- {name} -->" not in text:
            text += (
                f"\n## {TITLES.get(name, name.capitalize())}\n\n<!-- {name} -->\n<!-- /{name} -->\n"
            )
        rows = [_cells_beside(figure, known.get(figure.effect, "-")) for figure in figures]
        text = _put(text, name, "\n".join(text_table.markdown(heads, rows)))
    page.write_text(_put(text, "origin", _wrapped(origin)), encoding="utf-8")


def _measured(text: str) -> Iterator[tuple[str, str]]:
    """Yield each effect in a page's tables with the cell of its measured value."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(HEADS):
            yield cells[0], cells[3]


def _cells_beside(figure: Figure, default: str) -> tuple[str, ...]:
    effect, _, theory, measured, _, accepted, _ = _cells(figure)
    measured = f"**{measured}**" if measured != default else measured
    return (effect, theory, default, measured, accepted)


def _put(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not between.search(text):
        raise SystemExit(f"the page has no place for {name!r}: {begin} ... {end}")
    return between.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def _cells(figure: Figure) -> tuple[str, str, str, str, str, str, str]:
    error = "" if figure.error is None else f"{100 * figure.error:+.2f} %".replace("-0.00", "0.00")
    unit = f" {figure.unit}" if figure.unit else ""
    accepted = f"{number(figure.least)} to {number(figure.most)}"
    if not figure.is_met:
        accepted = f"**not met**: {figure.flaws or accepted}"
    return (
        figure.effect,
        figure.origin,
        number(figure.theory) + unit,
        number(figure.measured) + unit,
        error.replace("+0.00", "0.00"),
        accepted,
        figure.reason,
    )


def number(value: float) -> str:
    """Return a number with five digits and without trailing zeros."""
    return f"{round(value):,}" if abs(value) >= 1e5 else f"{value:.5g}"
