"""Arguments of `mn`, such as `tc,bw=10`, and classes with fixed parameters made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from wanlab.errors import WanlabError, did_you_mean

T = TypeVar("T")


def checkInt(s: str | float) -> int | None:
    try:
        return int(s)
    except ValueError:
        return None


def checkFloat(s: str | float) -> float | None:
    try:
        return float(s)
    except ValueError:
        return None


def makeNumeric(s: str) -> int | float | str:
    """Return a number if the text looks like one, otherwise the text."""
    whole = checkInt(s)
    if whole is not None:
        return whole
    number = checkFloat(s)
    return s if number is None else number


def splitArgs(argstr: str) -> tuple[str, list[int | float | str], dict[str, int | float | str]]:
    """Split `name,1,x=2` into ("name", [1], {"x": 2})."""
    name, *items = argstr.split(",")
    args = [makeNumeric(item) for item in items if "=" not in item]
    pairs = (item.split("=", 1) for item in items if "=" in item)
    return name, args, {key: makeNumeric(value) for key, value in pairs}


def custom(cls: Callable[..., T], **params: object) -> Callable[..., T]:
    """Return a function that calls a class or function with these parameters fixed."""

    def customized(*args: object, **kwargs: object) -> T:
        return cls(*args, **{**kwargs, **params})

    customized.__name__ = f"custom({cls},{params})"
    return customized


def specialClass(
    cls: type[T],
    prepend: Iterable[object] | None = None,
    append: Iterable[object] | None = None,
    defaults: Mapping[str, object] | None = None,
    override: Mapping[str, object] | None = None,
) -> type[T]:
    """Return a subclass whose constructor adds these arguments to its own."""
    before, after = list(prepend or []), list(append or [])
    first, last = dict(defaults or {}), dict(override or {})

    class CustomClass(cls):  # type: ignore[misc, valid-type]
        """A class with fixed parameters."""

        def __init__(self, *args: object, **params: object) -> None:
            super().__init__(*before, *args, *after, **{**first, **params, **last})

    CustomClass.__name__ = f"{cls.__name__}{first}" if first else cls.__name__
    CustomClass.__module__ = cls.__module__
    return CustomClass


def customClass(classes: Mapping[str, Callable[..., T]], argStr: str) -> Callable[..., T]:
    """Return the class that `name,args` names, with these args fixed."""
    name, args, kwargs = splitArgs(argStr)
    if name not in classes:
        raise WanlabError(
            f"{name} is unknown", f"{did_you_mean(name, classes)} - known: {', '.join(classes)}"
        )
    cls = classes[name]
    if not args and not kwargs:
        return cls
    return specialClass(cast("type[T]", cls), append=args, defaults=kwargs)


def buildTopo(topos: Mapping[str, Callable[..., T]], topoStr: str) -> T:
    """Return the topology that `name,args` describes."""
    name, args, kwargs = splitArgs(topoStr)
    if name not in topos:
        raise WanlabError(f"Invalid topo name {name}", did_you_mean(name, topos))
    return topos[name](*args, **kwargs)
