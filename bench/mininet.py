"""`wanlab mn` makes and tests networks faster than Mininet's `mn` does on the same computer.

Both run the same command lines, alternately, from the start of the process to its end: wanlab in the
embedded machine on virtual time, Mininet with Linux bridges and no controller. Mininet is measured if it
is installed (Debian's packages `mininet` and `bridge-utils`) and the benchmark runs as root. The fastest
of several runs counts.

    whole_s        until the process has ended and nothing is left
    ratio          Mininet's whole_s divided by wanlab's; at_least: the budget
    memory_mb      peak memory of all processes together, shared pages counted once; Mininet's network
                   is in the computer's own kernel, which is not counted
    status         exit status; wanlab's is 0 only if no ping was lost
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

import _modes
from _family import family, memory
from _mininet import add_rows, in_private, mininet_version, why_no_mininet
from _report import Report

SOURCE = Path(__file__).resolve().parents[1] / "src"
# name: (least ratio of Mininet's time to ours, runs, arguments)
CASES = {
    "minimal": (1.0, 5, "--test none"),
    "single200": (4.0, 2, "--topo single,200 --test pingpair"),
    "tree64": (1.0, 1, "--topo tree,depth=3,fanout=4 --test pingall"),
    "single1000": (4.0, 1, "--topo single,1000 --test none"),
}
MEGABYTE = 1e6
POLL_S = 0.25
COLUMNS = (
    "case",
    "mode",
    "whole_s",
    "memory_mb",
    "status",
    "mn_whole_s",
    "mn_memory_mb",
    "mn_status",
    "ratio",
    "at_least",
    "is_met",
)


@dataclass(frozen=True)
class CommandRun:
    """One run of a command line."""

    whole_s: float
    memory_mb: float
    status: int


def main() -> int:
    options = _arguments()
    report = Report("mininet")
    reason = why_no_mininet()
    report.more = {"mininet": reason or mininet_version(), "arguments": {}}
    if reason:
        report.note(f"without Mininet: {reason}")
    table = report.table("runs", COLUMNS)
    met: list[bool] = []
    for name in options.case or CASES:
        at_least, runs, text = CASES[name]
        report.more["arguments"][name] = text
        ours: dict[str, list[CommandRun]] = {mode: [] for mode in options.modes}
        theirs = []
        for _ in range(options.runs or runs):
            for mode in options.modes:
                with _modes.in_mode(mode):
                    ours[mode].append(run_ours(text.split(), options.limit_s))
            if not reason:
                theirs.append(run_mininet(text.split(), options.limit_s))
        met += add_rows(table, ours, theirs, at_least, case=name)
    return report.finish(is_met=all(met) if met else None)


def run_ours(arguments: list[str], limit_s: float) -> CommandRun:
    """Run the command line as a user would."""
    program = "from wanlab.cli import main; main()"
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder:
        return _run(
            [sys.executable, "-c", program, "mn", *arguments],
            limit_s,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )


def run_mininet(arguments: list[str], limit_s: float) -> CommandRun:
    """Run the same command line with Mininet."""
    script = 'exec mn --switch lxbr --controller none "$@"'
    return _run(in_private(script, *arguments), limit_s)


def _run(command: list[str], limit_s: float, **options: Any) -> CommandRun:
    """Run a command to its end, and poll its memory."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    peak_bytes = 0
    try:
        while process.poll() is None:
            left_s = limit_s - (time.monotonic() - began)
            if left_s <= 0:
                break
            try:
                process.wait(min(left_s, POLL_S))
            except subprocess.TimeoutExpired:
                used = memory([process.pid, *family(process.pid)])
                peak_bytes = max(peak_bytes, used.proportional_bytes)
        whole_s = time.monotonic() - began
    finally:
        # Mininet's namespaces end with its process, and so does our machine.
        process.kill()
        process.wait()
    return CommandRun(whole_s, peak_bytes / MEGABYTE, process.returncode)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these cases")
    parser.add_argument("--runs", type=int, help="runs of each case")
    parser.add_argument("--limit-s", type=float, default=300.0, help="limit of one run")
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
