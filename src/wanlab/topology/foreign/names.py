"""Names that fit Linux: other programs allow longer ones, with spaces and slashes."""

from __future__ import annotations

import re

from wanlab.topology.check_nodes import MAX_NAME_LENGTH, RESERVED_NAMES, is_name

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


class FittingNames:
    """Maps each name of a topology to a unique one that Linux allows."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        """The number that is tried next, of each name that is taken."""

    def fit(self, name: str) -> str:
        """Return the name itself if possible, or else a similar one."""
        fitting = name if is_name(name) and name not in RESERVED_NAMES else fitted(name)
        candidate = fitting
        while candidate in self._taken:
            number = self._next[fitting] = self._next.get(fitting, 1) + 1
            suffix = f"_{number}"
            candidate = fitting[: MAX_NAME_LENGTH - len(suffix)] + suffix
        self._taken.add(candidate)
        return candidate


def fitted(name: str) -> str:
    """Return a name of at most 15 characters that Linux allows."""
    possible = _UNFIT.sub("-", name).strip("._-")
    if possible in RESERVED_NAMES or not possible:
        possible = f"n-{possible}".rstrip("-") if possible else "node"
    if len(possible) <= MAX_NAME_LENGTH:
        return possible
    # The end of a name often has the number: keep it.
    number = re.search(r"\d+$", possible)
    end = number[0][-4:] if number else ""
    return possible[: MAX_NAME_LENGTH - len(end)].rstrip("._-") + end
