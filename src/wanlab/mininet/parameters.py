"""Parameters that nobody understands are mistakes: they are told, with the name that was meant.

What a class of the user's own does with its parameters is its business, so only ours are checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wanlab.errors import WanlabError, did_you_mean

OURS = __name__.rpartition(".")[0]


class ParameterError(WanlabError, TypeError):
    """A parameter that a class does not take."""


class ValueWithoutSense(WanlabError, ValueError):
    """A parameter that cannot have this value."""


def is_ours(cls: type) -> bool:
    return f"{cls.__module__}.".startswith(f"{OURS}.")


def refuse_unknown(
    who: str, cls: type, given: Iterable[str], known: Iterable[str], cure: dict[str, str]
) -> None:
    """`cure`: for names that another class would take, what to use instead."""
    if not is_ours(cls):
        return
    allowed = set(known)
    for name in given:
        if name in allowed:
            continue
        hint = cure.get(name) or did_you_mean(name, sorted(allowed))
        raise ParameterError(f"{who}: {cls.__name__} takes no {name}", hint)


def once(said: set[str], name: str, say: Any, text: str) -> None:
    """Says something the first time only."""
    if name not in said:
        said.add(name)
        say(text)
