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


def apply(
    target: object, results: dict[str, Any], method: str, param: dict[str, Any], several: Any
) -> Any:
    """Calls a method of `target` with the one parameter in `param`, if it has the method and the value
    is not None. A value of a kind in `several`, and a mapping, are the method's arguments."""
    ((name, value),) = param.items()
    function = getattr(target, method, None)
    if value is None or function is None:
        return None
    if isinstance(value, several):
        result = function(*value)
    elif isinstance(value, dict):
        result = function(**value)
    else:
        result = function(value)
    results[name] = result
    return result


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
