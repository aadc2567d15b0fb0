"""Versions that can be compared, as `distutils.version.StrictVersion`, which Python no longer has."""

from __future__ import annotations

import re
from functools import total_ordering

from wanlab.errors import WanlabError

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?")


@total_ordering
class StrictVersion:
    """Two or three numbers, perhaps with a suffix such as b4: 2.3.1b4 comes before 2.3.1."""

    def __init__(self, vstring: str) -> None:
        match = _VERSION.fullmatch(vstring.strip())
        if match is None:
            raise WanlabError(f"{vstring!r} is not a version", "as in 2.3.1 or 2.3.1b4")
        major, minor, patch, phase, number = match.groups()
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (phase, int(number)) if phase else None
        self._text = vstring

    def _key(self) -> tuple[tuple[int, ...], tuple[str, int]]:
        return self.version, self.prerelease or ("final", 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StrictVersion | str) and self._key() == _read(other)._key()

    def __lt__(self, other: StrictVersion | str) -> bool:
        return self._key() < _read(other)._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self._text


def _read(version: StrictVersion | str) -> StrictVersion:
    return StrictVersion(version) if isinstance(version, str) else version
