"""Keyword parameters of nodes, interfaces and links.

Mininet ignores a parameter that it does not know. Here it is a mistake, reported with the nearest
known name. A class of the user's own may take any parameter, so only our classes are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from wanlab.errors import WanlabError, did_you_mean

PACKAGE = __name__.rpartition(".")[0]

Params = dict[str, object]
"""Parameters by name, or the results of setting them."""


class ParameterError(WanlabError, TypeError):
    """A parameter that a class does not take."""


class ParameterValueError(WanlabError, ValueError):
    """A value that a parameter cannot have."""


def is_ours(cls: type) -> bool:
    """Whether a class belongs to this package, not to the user's script."""
    return f"{cls.__module__}.".startswith(f"{PACKAGE}.")


def apply(
    target: object,
    results: Params,
    method: str,
    param: Params,
    argument_lists: tuple[type[Sequence[object]], ...],
) -> object:
    """Call a method of `target` with the one parameter in `param`, and note and return its result.

    Nothing is called if the target has no such method or the value is None. A value of one of the
    types `argument_lists` holds the method's positional arguments, a dict its keyword arguments.
    """
    ((name, value),) = param.items()
    function = getattr(target, method, None)
    if value is None or function is None:
        return None
    if isinstance(value, argument_lists):
        result = function(*value)
    elif isinstance(value, dict):
        result = function(**value)
    else:
        result = function(value)
    results[name] = result
    return result


def refuse_unknown(
    owner: str,
    cls: type,
    params: Iterable[str],
    known: Iterable[str],
    hints: Mapping[str, str],
) -> None:
    """Raise ParameterError for a parameter that one of our classes does not take.

    `owner` names the node or interface in the message. `hints` tells, for parameters of other
    classes, what to use instead.
    """
    if not is_ours(cls):
        return
    allowed = set(known)
    for name in params:
        if name not in allowed:
            hint = hints.get(name) or did_you_mean(name, sorted(allowed))
            raise ParameterError(f"{owner}: {cls.__name__} takes no {name}", hint)


def once(shown: set[str], name: str, show: Callable[[str], None], text: str) -> None:
    """Show a message the first time only; `shown` remembers the names of those shown."""
    if name not in shown:
        shown.add(name)
        show(text)
