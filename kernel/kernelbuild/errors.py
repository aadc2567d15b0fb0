"""The error of a recipe or a build, with a hint."""

from __future__ import annotations


class BuildError(Exception):
    """Why a kernel cannot be built, and what to do about it."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what
