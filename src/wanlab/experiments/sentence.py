"""Sentences that ask for figures: see `charts`, which draws them. (This loads nothing that draws.)"""

from __future__ import annotations

import re
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
