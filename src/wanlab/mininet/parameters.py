"""Keyword parameters of nodes, interfaces and links, and what happens to those without an effect.

Mininet ignores a parameter that it does not know, and continues after a value that it cannot use. A
script that worked there must work here, so both are warnings, each shown once. With `--strict` they
are errors. A class of the user's own may take any parameter, so only our classes are checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from wanlab.errors import CommandError, WanlabError, did_you_mean

from .log import warn
from .namespace import run_batch
from .strict import STRICT

PACKAGE = __name__.rpartition(".")[0]

Params = dict[str, object]
"""Parameters by name, or the results of setting them."""

_shown: set[str] = set()


class ParameterError(WanlabError, TypeError):
    """A parameter that a class does not take."""


class ParameterValueError(WanlabError, ValueError):
    """A value that a parameter cannot have."""


def is_ours(cls: type) -> bool:
    """Whether a class belongs to this package, not to the user's script."""
    return f"{cls.__module__}.".startswith(f"{PACKAGE}.")


def caution(error: WanlabError, key: str = "") -> None:
    """Warn of something that Mininet accepts and that has no effect; with --strict raise the error.

    Of several cautions with the same key, only the first is shown. The default key is the text.
    """
    if os.environ.get(STRICT):
        raise error
    once(_shown, key or str(error), warn, f"*** Warning: {error}\n")


def run_or_warn(namespace: str, program: str, lines: list[str]) -> None:
    """Run lines of `ip` or `tc` in a namespace. As in Mininet, a failure is only a warning."""
    try:
        run_batch(namespace, program, lines, force=True)
    except CommandError as error:
        where = f"{namespace}: " if namespace else ""
        caution(CommandError(f"{where}{error.what}", error.hint, output=error.output))


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


def caution_unknown(
    owner: str,
    cls: type,
    params: Iterable[str],
    known: Iterable[str],
    hints: Mapping[str, str],
) -> None:
    """Warn once of each parameter that one of our classes ignores.

    `owner` names the node or interface in the message. `hints` says what to use instead of a
    parameter of another class.
    """
    if not is_ours(cls):
        return
    allowed = set(known)
    for name in params:
        if name not in allowed:
            hint = hints.get(name) or did_you_mean(name, sorted(allowed))
            what = f"{owner}: {name} has no effect, because {cls.__name__} takes no such parameter"
            caution(ParameterError(what, hint), key=f"{cls.__name__} {name}")


def once(shown: set[str], name: str, show: Callable[[str], None], text: str) -> None:
    """Show a message the first time only; `shown` remembers the names of those shown."""
    if name not in shown:
        shown.add(name)
        show(text)
