"""What can go wrong with a recipe or a build, said so that the reader knows what to do."""

from __future__ import annotations


class BuildError(Exception):
    """A kernel cannot be built: what is wrong, and what to do about it."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what
