"""Sentences that ask for figures: see `charts`, which draws them. (This loads nothing that draws.)"""

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
    """What a sentence asks for."""

    kind: str
    quantity: str
    over: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    is_over_all: bool = False


def parse_chart(sentence: str) -> Chart:
    """WanlabError for what is no such sentence."""
    text = " ".join(sentence.split())
    is_over_all = text.endswith(ALL)
    text = text.removesuffix(ALL)
    found = re.fullmatch(
        r"(\w+) ([\w.,]+)(?: over (\w+)(?: and (\w+))?)?(?: by (\w+(?: and \w+)*))?", text
    )
    kind = text.partition(" ")[0]
    if kind not in KINDS:
        raise WanlabError(f'"{sentence}" is no figure', did_you_mean(kind, KINDS))
    if found is None:
        raise WanlabError(f'"{sentence}" is no figure', f"as in: {FORMS[kind]}")
    _, quantity, first, second, by = found.groups()
    over = tuple(filter(None, (first, second)))
    if len(over) != {"cdf": 0, "heat": 2}.get(kind, 1) or (kind == "heat" and by):
        raise WanlabError(f'"{sentence}" is no figure', f"as in: {FORMS[kind]}")
    return Chart(kind, quantity, over, tuple(by.split(" and ")) if by else (), is_over_all)


def check_chart(
    chart: Chart, experiment: str, known: Collection[str], varied: Sequence[str]
) -> None:
    """WanlabError for a figure that names what is no parameter, or that would average over one that
    varies without saying so."""
    for name in (*chart.over, *chart.by):
        if name not in known:
            raise WanlabError(f"{experiment} has no parameter {name!r}", did_you_mean(name, known))
    left = [name for name in varied if name not in (*chart.over, *chart.by)]
    if left and not chart.is_over_all:
        raise WanlabError(
            f'"{chart.kind} {chart.quantity}" would average over {" and ".join(left)}',
            f'say "by {" and ".join([*chart.by, *left])}", or "{ALL.strip()}" if that is meant',
        )


def completed(sentence: str, experiment: str, known: Collection[str], varied: Sequence[str]) -> str:
    """The same figure for a sweep that varies more than its sentence names: a line for each value of
    that, too."""
    chart = parse_chart(sentence)
    check_chart(chart, experiment, known, ())
    left = [name for name in varied if name not in (*chart.over, *chart.by)]
    if not left or chart.is_over_all:
        return sentence
    if chart.kind == "heat":
        return sentence + ALL
    return f"{sentence} {'and' if chart.by else 'by'} {' and '.join(left)}"
