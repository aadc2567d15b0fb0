"""Make small mistakes in the code, and list those that no test notices (see CONTRIBUTING.md)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import accepted, checkout, report, scope
from .mutants import Mutant, mutants_of
from .report import Judged
from .run import JudgeError, results_of
from .store import Store

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "mutants"
SAMPLE = 60
MIN_KILLED = 0.95
"""The share of mutants that must be killed, without those that are accepted."""


@dataclass(frozen=True)
class Options:
    """What to judge. `paths` limits it to files whose path contains one of them."""

    is_sample: bool
    again: bool
    workers: int
    paths: Sequence[str]


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it must clean up, too
    began_s = time.monotonic()
    try:
        with checkout.copied(ROOT) as root:
            judged = judge(root, options)
    except JudgeError as error:
        print(f"mutate: {error}; see {RESULTS / 'log.txt'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmutate: interrupted; finished results are kept", file=sys.stderr)
        return 130
    if not judged:
        print(f"mutate: no mutated file matches {' '.join(options.paths)}", file=sys.stderr)
        return 1
    print(report.text(judged, time.monotonic() - began_s, _processor_s()))
    return int(report.killed_share(judged) < MIN_KILLED)


def _processor_s() -> float:
    """Return the processor time of this program and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def judge(root: Path, options: Options) -> list[Judged]:
    """Judge the mutants of a copy of the checkout."""
    packages = scope.modules(root)
    sources = {path: (root / path).read_text(encoding="utf-8") for path in packages}
    mutants = [mutant for path, source in sources.items() for mutant in mutants_of(path, source)]
    entries = accepted.read()
    for entry in accepted.stale(entries, mutants):
        print(f"accepted.toml: there is no such mutant any more: {entry.path}: {entry.after}")
    chosen = chosen_mutants(mutants, options, entries)
    store = Store(RESULTS, root)
    if options.again:
        store.forget()
    results = results_of(root, store, chosen, options.workers) if chosen else {}
    return [
        Judged(mutant, packages[mutant.path], *results[mutant.identity], why=_why(mutant, entries))
        for mutant in chosen
    ]


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--sample", action="store_true", help=f"only a fixed {SAMPLE} of them")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("paths", nargs="*", help="only files whose path contains one of these")
    given = parser.parse_args()
    return Options(given.sample, given.again, given.j, given.paths)


def chosen_mutants(
    mutants: Sequence[Mutant], options: Options, entries: Sequence[accepted.Accepted]
) -> list[Mutant]:
    """Return the mutants to judge. The sample depends on nothing but the mutants themselves."""
    chosen = [
        mutant
        for mutant in mutants
        if not options.paths or any(part in mutant.path for part in options.paths)
    ]
    if options.is_sample:
        known = [mutant for mutant in chosen if not _why(mutant, entries)]
        chosen = sorted(known, key=lambda mutant: mutant.identity)[:SAMPLE]
    return chosen


def _why(mutant: Mutant, entries: Sequence[accepted.Accepted]) -> str:
    return next((entry.why for entry in entries if entry.matches(mutant)), "")


if __name__ == "__main__":
    sys.exit(main())
