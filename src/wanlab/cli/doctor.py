"""`wanlab doctor`: shows whether this computer has what machines need, one requirement per line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

from wanlab.machine.checkup import Finding, checkup

GREEN, RED, YELLOW, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
TITLES = {
    "programs": "Programs on this computer",
    "embedded": "The machine",
}


def run(*, as_json: bool) -> int:
    """Print the findings; return 0 if a machine can run."""
    result = checkup()
    if as_json:
        findings = [asdict(finding) for finding in result.findings]
        print(json.dumps({"can_run": result.can_run, "findings": findings}, indent=2))
    else:
        for area, title in TITLES.items():
            verdict = ": can run" if result.can_run else ": cannot run"
            print(f"{title}{verdict if area == 'embedded' else ''}")
            _show([finding for finding in result.findings if finding.area == area])
            print()
    return 0 if result.can_run else 1


def _show(findings: Iterable[Finding]) -> None:
    findings = list(findings)
    names = max((len(finding.name) for finding in findings), default=0)
    for finding in findings:
        mark, colour = _mark(finding)
        mark = f"{colour}{mark:7}{PLAIN}" if sys.stdout.isatty() else f"{mark:7}"
        print(f"  {mark}  {finding.name:{names}}  {finding.says}", end="")
        print("" if finding.is_there or not finding.remedy else f"  ->  {finding.remedy}")


def _mark(finding: Finding) -> tuple[str, str]:
    if finding.is_there:
        return "ok", GREEN
    return ("missing", RED) if finding.is_needed else ("absent", YELLOW)
