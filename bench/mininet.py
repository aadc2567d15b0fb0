"""`wanlab mn` makes and tests networks faster than Mininet's `mn` does on the same computer.

The same command lines, whole processes, from nothing to nothing; wanlab's in the embedded machine on
virtual time, Mininet's with Linux bridges and no controller, in turn, when it is installed (Debian's
packages `mininet` and `bridge-utils`) and this runs as root. Of several runs the fastest counts.

    whole_s        until it has ended and nothing is left
    ratio          Mininet's whole_s to ours; at_least: what the budget asks
    memory_mb      the most that all its processes had together, what they share counted once; Mininet's
                   network is in the computer's own kernel, which is not counted
    status         exit status; ours is 0 only if no ping was lost
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _family import family, memory
from _mininet import in_private, mininet_version, row_of, why_no_mininet
from _report import Report

SOURCE = Path(__file__).resolve().parents[1] / "src"
# name: (what the budget asks of Mininet's time to ours, runs, words)
CASES = {
    "minimal": (1.0, 5, "--test none"),
    "single200": (4.0, 2, "--topo single,200 --test pingpair"),
    "tree64": (1.0, 1, "--topo tree,depth=3,fanout=4 --test pingall"),
    "single1000": (4.0, 1, "--topo single,1000 --test none"),
}
MEGABYTE = 1e6
LOOK_EVERY_S = 0.25
COLUMNS = (
    *("case", "whole_s", "memory_mb", "status", "mn_whole_s", "mn_memory_mb", "mn_status"),
    *("ratio", "at_least", "is_met"),
)


@dataclass(frozen=True)
class Run:
    """One run from the start of its process."""

    whole_s: float
    memory_mb: float
    status: int


def main() -> int:
    options = _arguments()
    report = Report("mininet")
    reason = why_no_mininet()
    report.more = {"mininet": reason or mininet_version(), "words": {}}
    if reason:
        report.note(f"without Mininet: {reason}")
    table = report.table("runs", COLUMNS)
    met: list[bool] = []
    for name in options.case or CASES:
        at_least, runs, text = CASES[name]
        report.more["words"][name] = text
        ours, theirs = [], []
        for _ in range(options.runs or runs):
            ours.append(run_ours(text.split(), options.limit_s))
            if not reason:
                theirs.append(run_mininet(text.split(), options.limit_s))
        row = row_of(ours, theirs)
        if "ratio" in row:
            row |= {"at_least": at_least, "is_met": row["ratio"] >= at_least}
            met.append(row["is_met"])
        table.add(case=name, **row)
    return report.finish(is_met=all(met) if met else None)


def run_ours(words: list[str], limit_s: float) -> Run:
    """The command line as its user starts it."""
    program = "from wanlab.cli import main; main()"
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder:
        return _run(
            [sys.executable, "-c", program, "mn", *words],
            limit_s,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )


def run_mininet(words: list[str], limit_s: float) -> Run:
    """The same, by Mininet."""
    script = 'exec mn --switch lxbr --controller none "$@"'
    return _run(in_private(script, *words), limit_s)


def _run(command: list[str], limit_s: float, **options: Any) -> Run:
    """Runs it to its end; looks at its memory now and then."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    most_bytes = 0
    try:
        while process.poll() is None:
            left_s = limit_s - (time.monotonic() - began)
            if left_s <= 0:
                break
            try:
                process.wait(min(left_s, LOOK_EVERY_S))
            except subprocess.TimeoutExpired:
                used = memory([process.pid, *family(process.pid)])
                most_bytes = max(most_bytes, used.proportional_bytes)
        whole_s = time.monotonic() - began
    finally:
        # Mininet's namespaces end with it, and our machine with us.
        process.kill()
        process.wait()
    return Run(whole_s, most_bytes / MEGABYTE, process.returncode)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", action="append", choices=list(CASES), help="instead of all")
    parser.add_argument("--runs", type=int, help="of which the fastest counts")
    parser.add_argument("--limit-s", type=float, default=300.0, help="of one run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
