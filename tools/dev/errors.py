"""The one error of `./dev`."""

from __future__ import annotations


class DevError(Exception):
    """Something cannot be done: what, and what to do about it."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what
