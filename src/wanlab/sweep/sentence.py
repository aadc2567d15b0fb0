"""The sentences that describe figures, such as "lines goodput over buffer by algorithm".

`charts` draws the figures. This module imports no library for drawing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wanlab.errors import WanlabError, did_you_mean

KINDS = ("lines", "box", "heat", "cdf")
FORMS = {
    "lines": "lines QUANTITY over PARAMETER by PARAMETER",
    "box": "box QUANTITY over PARAMETER by PARAMETER",
    "heat": "heat QUANTITY over PARAMETER and PARAMETER",
    "cdf": "cdf QUANTITY by PARAMETER",
}
ALL = " over all"


@dataclass(frozen=True)
class Chart:
    """The figure that a sentence describes."""

    kind: str
    quantity: str
    over: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    is_over_all: bool = False


def parse_chart(sentence: str) -> Chart:
    """Parse a sentence. Raises WanlabError with an example if it does not describe a figure."""
    text = " ".join(sentence.split())
    is_over_all = text.endswith(ALL)
    text = text.removesuffix(ALL)
    match = re.fullmatch(
        r"(\w+) ([\w.,]+)(?: over (\w+)(?: and (\w+))?)?(?: by (\w+(?: and \w+)*))?", text
    )
    kind = text.partition(" ")[0]
    if kind not in KINDS:
        raise WanlabError(f'"{sentence}" is not a figure', did_you_mean(kind, KINDS))
    if match is None:
        raise WanlabError(f'"{sentence}" is not a figure', f"as in: {FORMS[kind]}")
    _, quantity, first, second, by = match.groups()
    over = tuple(filter(None, (first, second)))
    if len(over) != {"cdf": 0, "heat": 2}.get(kind, 1) or (kind == "heat" and by):
        raise WanlabError(f'"{sentence}" is not a figure', f"as in: {FORMS[kind]}")
    return Chart(kind, quantity, over, tuple(by.split(" and ")) if by else (), is_over_all)


def check_chart(
    chart: Chart, experiment: str, known: Collection[str], varied: Sequence[str]
) -> None:
    """Raise WanlabError if a figure cannot be drawn from the runs of a sweep.

    It cannot if it names an unknown parameter, or would silently average over one that varies.
    """
    for name in (*chart.over, *chart.by):
        if name not in known:
            raise WanlabError(f"{experiment} has no parameter {name!r}", did_you_mean(name, known))
    unnamed = _unnamed_parameters(chart, varied)
    if unnamed and not chart.is_over_all:
        raise WanlabError(
            f'"{chart.kind} {chart.quantity}" would average over {" and ".join(unnamed)}',
            f'add "by {" and ".join([*chart.by, *unnamed])}", '
            f'or "{ALL.strip()}" if that is intended',
        )


def completed(sentence: str, experiment: str, known: Collection[str], varied: Sequence[str]) -> str:
    """Return the sentence with all parameters that the sweep varies.

    For parameters that the sentence does not name, the figure then has a line for each value.
    """
    chart = parse_chart(sentence)
    check_chart(chart, experiment, known, ())
    unnamed = _unnamed_parameters(chart, varied)
    if not unnamed or chart.is_over_all:
        return sentence
    if chart.kind == "heat":
        return sentence + ALL
    return f"{sentence} {'and' if chart.by else 'by'} {' and '.join(unnamed)}"


def _unnamed_parameters(chart: Chart, varied: Sequence[str]) -> list[str]:
    return [name for name in varied if name not in (*chart.over, *chart.by)]
