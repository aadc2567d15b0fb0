"""The library pexpect, if it is installed, with text instead of bytes."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from wanlab.errors import RequirementError

from .commands import Encoding


class Pexpect:
    """The module pexpect, if it is installed, with text instead of bytes."""

    @staticmethod
    def spawn(*args: object, **kwargs: object) -> Any:
        return _pexpect().spawn(*args, **{"encoding": Encoding, **kwargs})

    def __getattr__(self, name: str) -> Any:
        return getattr(_pexpect(), name)


def _pexpect() -> ModuleType:
    try:
        return import_module("pexpect")
    except ImportError:
        raise RequirementError("pexpect is not installed", "pip install pexpect") from None


pexpect = Pexpect()
