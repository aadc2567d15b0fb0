"""`wanlab doctor`: shows whether this computer has what machines need, one requirement per line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

from wanlab.machine.checkup import Finding, checkup

GREEN, RED, YELLOW, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
TITLES = {
    "programs": "Programs on this computer, for both machines",
    "embedded": "The embedded machine (the default)",
    "native": "The native machine (--machine native)",
}


def run(*, as_json: bool) -> int:
    """Print the findings; return 0 if the default machine can run."""
    result = checkup()
    can_run = {area: result.can_run(area) for area in ("embedded", "native")}
    if as_json:
        findings = [asdict(finding) for finding in result.findings]
        print(json.dumps({"can_run": can_run, "findings": findings}, indent=2))
    else:
        for area, title in TITLES.items():
            verdict = {None: "", True: ": can run", False: ": cannot run"}[can_run.get(area)]
            print(f"{title}{verdict}")
            _show([finding for finding in result.findings if finding.area == area])
            print()
    return 0 if can_run["embedded"] else 1


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
