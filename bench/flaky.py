"""Tests on virtual time do not flicker: the example project's pass every time, on a busy computer, too.

All tests of examples/client-server-tests, again and again, as many workers as there are CPUs: alone,
and while twice as many processes as CPUs compute without a pause.

    times      how often all tests were run
    failed     runs in which not every test passed, which should be none
    other      tests that passed but did not leave the same record, to the byte, in all runs
    slowest_s  the longest of the runs; the load of the computer decides it, and nothing else
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
    arguments.add_argument("--times", type=int, default=50, help="how often alone")
    arguments.add_argument("--busy", type=int, default=50, help="how often on a busy computer")
    given = arguments.parse_args()
    report = Report("flaky")
    table = report.table("runs", ("computer", "times", "tests", "failed", "other", "slowest_s"))
    digests: Digests = defaultdict(set)
    failures: list[str] = []
    for computer, times in (("alone", given.times), ("busy", given.busy)):
        before, taken_s = len(failures), [0.0]
        with busy(computer == "busy"):
            for number in range(1, times + 1):
                taken_s.append(run_once(digests, failures))
                told = f"{computer} {number}/{times}: {taken_s[-1]:.0f} s, {len(failures)} failed"
                report.note(told)
        table.add(
            computer=computer,
            times=times,
            tests=len(digests),
            failed=len(failures) - before,
            other=sum(len(found) > 1 for found in digests.values()),
            slowest_s=round(max(taken_s), 1),
        )
    for told in failures:
        report.note(told)
    report.more["failures"] = failures
    is_same = all(len(found) == 1 for found in digests.values())
    return report.finish(is_met=bool(digests) and is_same and not failures)


def run_once(digests: Digests, failures: list[str]) -> float:
    """All tests; adds the digests of their records, or what went wrong. How long it took."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-n", str(len(os.sched_getaffinity(0)))),
                *(*PLUGIN, "-p", "no:cacheprovider", "--wanlab-require"),
                *(f"--wanlab-keep={folder}", "--wanlab-keep-passed"),
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
def busy(wanted: bool) -> Iterator[None]:
    """Something else computes meanwhile, on all CPUs."""
    count = BURNERS_PER_CPU * len(os.sched_getaffinity(0)) if wanted else 0
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
