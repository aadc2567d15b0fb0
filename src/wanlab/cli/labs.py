"""`wanlab lab list` and `wanlab lab run`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from wanlab import labs
from wanlab.labs.results import run_lab

from .topologies import one_of


def show_list() -> None:
    for number in labs.NUMBERS:
        print(f"{number:4}  {labs.find(number).title}")


def run(number: int, *, seed: int, clock: str, results: Path, as_json: bool) -> int:
    """Runs a lab and shows the report; the exit status says whether all was reproduced."""
    lab = labs.find(number)
    one_of("clock", clock, ("virtual", "real"))
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {line}", file=sys.stderr, flush=True)

    say(f"Lab {lab.number}: {lab.title} (seed {seed}, {clock} clock, {lab.wire} wire)")
    folder, report = run_lab(lab, seed=seed, clock=clock, results=results, say=say)
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        _show(report, folder, time.monotonic() - began)
    return 0 if report["reproduced"] == len(report["findings"]) else 1


def _show(report: dict[str, Any], folder: Path, took_s: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Lab {report['lab']}: {report['title']}")
    table.add_column("what")
    for name in ("manual", "ours"):
        table.add_column(name, justify="right")
    table.add_column("unit")
    table.add_column("band")
    table.add_column("")
    for finding in report["findings"]:
        verdict = "[green]reproduced[/]" if finding["reproduced"] else "[bold red]differs[/]"
        table.add_row(
            finding["what"],
            finding["manual"],
            f"{finding['ours']:,.6g}",
            finding["unit"],
            finding["band"],
            verdict,
        )
    console = Console()
    console.print(table)
    for finding in report["findings"]:
        if not finding["reproduced"]:
            console.print(f"{finding['what']}: {finding['why'] or 'outside its band'}")
    for warning in report["warnings"]:
        console.print(f"warning: {warning}")
    console.print(
        f"{report['reproduced']} of {len(report['findings'])} reproduced in {took_s:.0f} s; "
        f"records, figures and transcript: {folder}",
        soft_wrap=True,
    )
