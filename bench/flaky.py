"""Tests on virtual time are not flaky: the example project's tests pass in every run, even under load.

All tests of examples/client-server-tests run many times, with one worker per CPU: on an idle computer,
and while twice as many processes as CPUs compute without a pause.

    times      how often all tests were run
    failed     runs in which not every test passed; should be 0
    other      tests that passed but did not leave the same record, byte for byte, in all runs
    slowest_s  the longest run; it depends only on the load of the computer
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from _report import Report

from wanlab import record

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "examples" / "client-server-tests"
PLUGIN = [] if entry_points(group="pytest11", name="wanlab") else ["-p", "wanlab.pytest_plugin"]
BURNERS_PER_CPU = 2
TAIL_LINES = 40

Digests = dict[str, set[str]]


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--times", type=int, default=50, help="runs on an idle computer")
    arguments.add_argument("--busy", type=int, default=50, help="runs on a busy computer")
    options = arguments.parse_args()
    report = Report("flaky")
    table = report.table("runs", ("computer", "times", "tests", "failed", "other", "slowest_s"))
    digests: Digests = defaultdict(set)
    failures: list[str] = []
    for computer, times in (("alone", options.times), ("busy", options.busy)):
        before, taken_s = len(failures), [0.0]
        with busy(computer == "busy"):
            for number in range(1, times + 1):
                taken_s.append(run_once(digests, failures))
                progress = (
                    f"{computer} {number}/{times}: {taken_s[-1]:.0f} s, {len(failures)} failed"
                )
                report.note(progress)
        table.add(
            computer=computer,
            times=times,
            tests=len(digests),
            failed=len(failures) - before,
            other=sum(len(distinct) > 1 for distinct in digests.values()),
            slowest_s=round(max(taken_s), 1),
        )
    for failure in failures:
        report.note(failure)
    report.more["failures"] = failures
    is_same = all(len(distinct) == 1 for distinct in digests.values())
    return report.finish(is_met=bool(digests) and is_same and not failures)


def run_once(digests: Digests, failures: list[str]) -> float:
    """Run all tests once; add the digests of their records, or the failure; return the real time."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n",
                str(len(os.sched_getaffinity(0))),
                *PLUGIN,
                "-p",
                "no:cacheprovider",
                "--wanlab-require",
                f"--wanlab-keep={folder}",
                "--wanlab-keep-passed",
            ],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        taken_s = time.monotonic() - began
        if done.returncode or not re.search(r"^\d+ passed in", done.stdout, re.MULTILINE):
            failures.append("\n".join(done.stdout.splitlines()[-TAIL_LINES:]))
            return taken_s
        for path in sorted(Path(folder).rglob("record")):
            name = str(path.parent.relative_to(folder))
            digests[name].add(record.read(path).digest())
    return taken_s


@contextmanager
def busy(is_busy: bool) -> Iterator[None]:
    """Keep all CPUs busy with other processes, if `is_busy`."""
    count = BURNERS_PER_CPU * len(os.sched_getaffinity(0)) if is_busy else 0
    spin = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(spin) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


if __name__ == "__main__":
    sys.exit(main())
