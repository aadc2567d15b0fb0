"""The result as text: a line for each package, and each survivor with its place and its change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .mutants import Mutant

KILLED = ("killed", "timeout", "ended")
"""Statuses of mutants that were noticed; "ended": the test process itself was ended by the mutant."""


@dataclass(frozen=True)
class Judged:
    """A mutant with its result. `why`: why it is accepted if it survives."""

    mutant: Mutant
    package: str
    status: str
    by: str = ""
    why: str = ""

    @property
    def is_killed(self) -> bool:
        return self.status in KILLED


def table(judged: Sequence[Judged]) -> str:
    """Return the table: of each package its mutants, how many were killed, accepted, and survived."""
    packages = list(dict.fromkeys(each.package for each in judged))
    rows = [(name, [each for each in judged if each.package == name]) for name in packages]
    lines = [
        f"{'package':20} {'mutants':>8} {'killed':>8} {'accepted':>9} {'survived':>9} {'killed':>8}"
    ]
    for name, of_package in [*rows, ("all", list(judged))]:
        killed = sum(each.is_killed for each in of_package)
        accepted = sum(bool(each.why) and not each.is_killed for each in of_package)
        left = len(of_package) - killed - accepted
        share = f"{killed_share(of_package):.1%}"
        lines.append(f"{name:20} {len(of_package):8} {killed:8} {accepted:9} {left:9} {share:>8}")
    return "\n".join(lines)


def killed_share(judged: Sequence[Judged]) -> float:
    """Return which share of the mutants was killed; those that are accepted do not count."""
    counted = [each for each in judged if each.is_killed or not each.why]
    return sum(each.is_killed for each in counted) / len(counted) if counted else 1.0


def survivors(judged: Sequence[Judged]) -> list[Judged]:
    return [each for each in judged if not each.is_killed and not each.why]


def survivor_text(survivor: Judged) -> str:
    """Return a survivor's place, its change, and how many tests ran its line."""
    mutant = survivor.mutant
    place = f"{mutant.path}:{mutant.first_line} {mutant.scope}".rstrip()
    note = {"uncovered": "  no test runs this line", "broken": f"  {survivor.by}"}
    lines = [place, f"  - {mutant.before}", f"  + {mutant.after}"]
    return "\n".join([*lines, *filter(None, [note.get(survivor.status, "")])])


def text(judged: Sequence[Judged], seconds: float, processor_s: float) -> str:
    """Return the whole report; `processor_s` is the processor time that it took."""
    parts = [survivor_text(each) for each in survivors(judged)]
    counts: Mapping[str, int] = {
        status: sum(each.status == status for each in judged) for status in ("timeout", "ended")
    }
    notes = [f"{count} of the killed: {status}" for status, count in counts.items() if count]
    took = f"{seconds:.0f} s, {processor_s:.0f} s of processor time"
    return "\n\n".join([*parts, "\n".join([table(judged), *notes, took])])
