"""Reads the checks of a test from its output. The kernel's tests report them in three ways.

TAP and KTAP (`ok 1 name`), a result at the end of the line (`TEST: name  [ OK ]`), and a result at its
start (`PASS: name`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "failed", "skipped"]
SKIPPED_STATUS = 4
"""The exit status by which a test of the kernel says that something it needs is missing."""

_TAP = re.compile(r"^\s*(?P<word>ok|not ok) \d+\s*(?:- )?(?P<name>.*)$")
_AT_THE_END = re.compile(
    r"^\s*(?P<name>\S.*?)\s*\[\s*(?P<word>OK|PASS|FAIL|SKIP|XFAIL)\s*\]\s*$", re.I
)
_AT_THE_START = re.compile(r"^(?P<word>PASS|FAIL|SKIP): (?P<name>.+)$")
_STATUS: dict[str, Status] = {
    "ok": "passed",
    "pass": "passed",
    "not ok": "failed",
    "fail": "failed",
    "skip": "skipped",
    "xfail": "skipped",
}
_SKIPPED_BY_TAP = re.compile(r"\s*# ?skip", re.IGNORECASE)


@dataclass(frozen=True)
class Check:
    """One check of a test."""

    name: str
    status: Status


def checks_of(output: str, exit_status: int) -> list[Check]:
    """Return the checks of a test that ended with `exit_status`.

    A test that reports none is one check, whose name is the reason if it was skipped. A test that fails
    although its checks passed has another check that failed: its exit status. If there is TAP, other
    lines repeat what it says.
    """
    checks = reported_checks(output)
    if exit_status == SKIPPED_STATUS and not checks:
        reason = output.strip().rpartition("\n")[2]
        return [Check(reason or "all", "skipped")]
    if exit_status not in (0, SKIPPED_STATUS) and all(c.status != "failed" for c in checks):
        checks.append(Check(f"exit status {exit_status}", "failed"))
    return checks or [Check("all", "passed")]


def reported_checks(output: str) -> list[Check]:
    """Return the checks that a test reports, which may be none."""
    lines = output.splitlines()
    return list(_tap(lines)) or list(_words(lines))


def _tap(lines: list[str]) -> Iterator[Check]:
    for line in lines:
        if found := _TAP.match(line):
            name, *skipped = _SKIPPED_BY_TAP.split(found["name"], maxsplit=1)
            named = name.strip() or "".join(skipped).strip()
            yield Check(named, "skipped" if skipped else _STATUS[found["word"]])


def _words(lines: list[str]) -> Iterator[Check]:
    for line in lines:
        if found := _AT_THE_END.match(line) or _AT_THE_START.match(line):
            yield Check(found["name"].removeprefix("TEST: "), _STATUS[found["word"].lower()])
