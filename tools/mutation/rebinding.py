"""Gives a module that has been imported the constants, tables and defaults of its mutated source.

Importing a module again would make new classes, which tests and other modules do not have. So the
mutated source is executed beside the module, and what differs is put into the module and into those that
have imported it by name. Values that other modules computed from it while they were imported stay as
they were: a mutant that survives this way must be judged once more, by importing everything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType, ModuleType

PLAIN = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, re.Pattern, type(None))
MISSING = object()


def rebind(module: ModuleType, path: str, source: str) -> bool:
    """Return whether anything differed. Exceptions of the mutated source propagate."""
    fresh = ModuleType(module.__name__)
    fresh.__dict__.update({"__file__": path, "__package__": module.__package__})
    exec(compile(source, path, "exec", dont_inherit=True), fresh.__dict__)
    changed = False
    for name, new in list(vars(fresh).items()):
        old = vars(module).get(name, MISSING)
        if name.startswith("__") or isinstance(new, ModuleType) or old is new or old is MISSING:
            continue
        if isinstance(new, FunctionType):
            changed |= _set_defaults(old, new)
        elif isinstance(new, type):
            changed |= _set_attributes(old, new)
        elif repr(old) != repr(new):
            _adopt(new, module)
            for holder in _holders(name, old):
                setattr(holder, name, new)
                changed = True
    return changed


def _holders(name: str, value: object) -> Iterator[ModuleType]:
    for holder in list(sys.modules.values()):
        if getattr(holder, "__dict__", {}).get(name, MISSING) is value:  # not all are modules
            yield holder


def _adopt(value: object, module: ModuleType) -> None:
    """Give an instance of a class of the mutated source the module's own class."""
    own = vars(module).get(type(value).__name__)
    if isinstance(own, type) and own is not type(value) and not isinstance(value, PLAIN):
        with suppress(TypeError):  # such a mutant may be noticed although it need not be
            object.__setattr__(value, "__class__", own)


def _set_defaults(old: object, new: FunctionType) -> bool:
    if not isinstance(old, FunctionType):
        return False
    before, after = (repr((f.__defaults__, f.__kwdefaults__)) for f in (old, new))
    old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    return before != after


def _set_attributes(old: object, new: type) -> bool:
    """Set the plain attributes of a class, and the defaults of its methods."""
    changed = False
    for name, value in vars(new).items() if isinstance(old, type) else ():
        own = vars(old).get(name, MISSING)
        if isinstance(value, FunctionType) and value.__module__ == new.__module__:
            changed |= _set_defaults(own, value)
        elif isinstance(value, PLAIN) and name[:2] != "__" and repr(own) != repr(value):
            with suppress(AttributeError, TypeError):  # an enumeration must be imported
                setattr(old, name, value)
                changed = True
    return changed
