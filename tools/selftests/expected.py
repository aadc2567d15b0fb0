"""Which checks are known to fail, and why (expected.toml)."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .outcome import Check

FILE = Path(__file__).with_name("expected.toml")


@dataclass(frozen=True)
class Failure:
    """Checks that fail for one reason. A case or mode that is not named is any."""

    cases: tuple[str, ...]
    reason: str
    checks: re.Pattern[str]
    traps: tuple[str, ...] = ()

    def is_about(self, case: str, mode: str) -> bool:
        return (not self.traps or mode in self.traps) and any(
            fnmatch.fnmatchcase(case, pattern) for pattern in self.cases
        )


@dataclass
class Expectations:
    """The list, and which entries of it were needed."""

    failures: Sequence[Failure]
    port_mbps: dict[str, int]
    """The line rate of new ports where it is not the machine's default; 0 is unlimited."""
    real_clock: frozenset[str] = frozenset()
    """Tests that do not work on virtual time."""
    _seen: set[Failure] = field(default_factory=set)
    _used: set[Failure] = field(default_factory=set)

    def unexpected(self, case: str, mode: str, checks: Iterable[Check]) -> list[Check]:
        """Return the checks that failed without being on the list."""
        about = [failure for failure in self.failures if failure.is_about(case, mode)]
        self._seen.update(about)
        found = []
        for check in checks:
            if check.status != "failed":
                continue
            reasons = [failure for failure in about if failure.checks.search(check.name)]
            self._used.update(reasons)
            if not reasons:
                found.append(check)
        return found

    def stale(self) -> list[Failure]:
        """Return the entries whose cases were run and did not fail."""
        return [failure for failure in self.failures if failure in self._seen - self._used]


def load(path: Path = FILE) -> Expectations:
    """Return the list in a file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    failures = [
        Failure(
            cases=tuple(entry["cases"]),
            reason=entry["reason"],
            checks=re.compile(entry.get("checks", "")),
            traps=tuple(entry.get("traps", ())),
        )
        for entry in table["expected"]
    ]
    real_clock = frozenset(table.get("real_clock", ()))
    return Expectations(failures, table.get("port_mbps", {}), real_clock)
