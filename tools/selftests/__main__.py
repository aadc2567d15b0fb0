"""Run the Linux kernel's own network tests in wanlab's machines (see CONTRIBUTING.md)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from dev.errors import DevError
from dev.places import ROOT
from kernelbuild import BuildError

from . import expected, sources, suites
from .expected import Expectations, Failure
from .perform import Options, Outcome, perform_all
from .suites import Case

RESULTS = ROOT / "build" / "selftests"
LIMIT_S = 600.0


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cases = suites.cases_of(sources.provide(options.packetdrill), options.tests)
        if not cases:
            raise DevError(f"no test is called {' '.join(options.tests) or '...'}", _names())
        if options.list:
            print(*(case.name for case in cases), sep="\n")
            return 0
        return _perform(cases, options)
    except (DevError, BuildError) as error:
        hint = f"\n{error.hint}" if error.hint else ""
        print(f"selftests: {error.what}{hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nselftests: interrupted", file=sys.stderr)
        return 130


def _names() -> str:
    return f"the suites are: {', '.join(suites.SUITES)}; all tests: ./dev selftests --list"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev selftests",
        description=__doc__,
        epilog="Exit status: 1 if a check fails that is not in tools/selftests/expected.toml, or if"
        " one that is there passes with wanlab's own kernel. The output of each test is below"
        " build/selftests.",
    )
    add = parser.add_argument
    add("tests", nargs="*", metavar="TEST", help="suites or tests, such as net or net/gro.sh")
    add("--list", action="store_true", help="only list the tests")
    add("--kernel", default="", metavar="NAME", help="see: wanlab kernel list (default: 6.12)")
    add(
        "--traps",
        default="",
        metavar="MODE[,MODE]",
        help="such as inprocess,ptrace (default: best)",
    )
    add(
        "--limit",
        type=float,
        default=LIMIT_S,
        metavar="SECONDS",
        help="of processor time for a test",
    )
    jobs = len(os.sched_getaffinity(0))
    add("-j", "--jobs", type=int, default=jobs, metavar="NUMBER", help="tests at the same time")
    add("--results", type=Path, default=RESULTS, metavar="FOLDER", help="for the tests' output")
    add(
        "--packetdrill",
        default=sources.PACKETDRILL_ADDRESS,
        metavar="ADDRESS",
        help="where to clone packetdrill from (default: %(default)s)",
    )
    return parser.parse_args()


def _perform(cases: Sequence[Case], arguments: argparse.Namespace) -> int:
    options = Options(
        kernel=arguments.kernel,
        modes=arguments.traps.split(","),
        limit_s=arguments.limit,
        jobs=arguments.jobs,
        results=arguments.results,
    )
    expectations = expected.load()
    outcomes = []
    total = len(cases) * len(options.modes)
    for outcome in perform_all(cases, options, expectations):
        outcomes.append(outcome)
        _keep(outcome, options.results)
        print(f"[{len(outcomes)} of {total}] {line_of(outcome)}", flush=True)
    print(report(outcomes, expectations))
    return exit_status(outcomes, expectations, options.kernel)


def _keep(outcome: Outcome, results: Path) -> None:
    path = results / (outcome.mode or "best") / f"{outcome.case}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(outcome.output, encoding="utf-8")


def exit_status(outcomes: Sequence[Outcome], expectations: Expectations, kernel: str) -> int:
    """Return the command's exit status: 0 if all went as listed. The list is about wanlab's own kernel.

    Another kernel may have what wanlab's own lacks, so there a check that passes is no error.
    """
    if any(outcome.unexpected for outcome in outcomes):
        return 1
    return 1 if expectations.stale() and not kernel else 0


def line_of(outcome: Outcome) -> str:
    """Return a line about a test."""
    counts = Counter(check.status for check in outcome.checks)
    words = [f"{counts[status]} {status}" for status in ("passed", "failed", "skipped")]
    mode = f" ({outcome.mode})" if outcome.mode else ""
    text = ", ".join(word for word in words if not word.startswith("0 "))
    unexpected = f"; unexpected: {len(outcome.unexpected)}" if outcome.unexpected else ""
    return f"{outcome.case}{mode}: {text}{unexpected} ({outcome.wall_s:.0f} s)"


def report(outcomes: Sequence[Outcome], expectations: Expectations) -> str:
    """Return the summary: a line for each suite and mode, then what was not expected."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.case.partition("/")[0], outcome.mode), []).append(outcome)
    lines = [
        "",
        f"{'suite':12} {'mode':10} {'tests':>6} {'passed':>7} {'failed':>7} {'skipped':>8}",
    ]
    for (suite, mode), group in sorted(groups.items()):
        counts = Counter(check.status for outcome in group for check in outcome.checks)
        lines.append(
            f"{suite:12} {mode or 'best':10} {len(group):6} {counts['passed']:7}"
            f" {counts['failed']:7} {counts['skipped']:8}"
        )
    lines += _differences(outcomes)
    lines += _skipped(outcomes)
    lines += [
        f"unexpected: {outcome.case} ({outcome.mode or 'best'}): {check.name}"
        for outcome in sorted(outcomes, key=lambda outcome: outcome.case)
        for check in outcome.unexpected
    ]
    lines += [f"no longer fails: {_describe(failure)}" for failure in expectations.stale()]
    return "\n".join(lines)


def _differences(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line that compares the output of the modes, if there are several."""
    outputs: dict[str, list[str]] = {}
    for outcome in outcomes:
        outputs.setdefault(outcome.case, []).append(outcome.output)
    several = {case: texts for case, texts in outputs.items() if len(texts) > 1}
    if not several:
        return []
    other = sorted(case for case, texts in several.items() if len(set(texts)) > 1)
    equal = f"{len(several) - len(other)} of {len(several)} tests printed the same in all modes"
    return [equal, *(f"other output: {case}" for case in other)]


def _skipped(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for each reason for which whole tests were skipped."""
    cases: dict[str, set[str]] = {}
    for outcome in outcomes:
        if all(check.status == "skipped" for check in outcome.checks):
            cases.setdefault(outcome.checks[-1].name, set()).add(outcome.case)
    return [f"skipped: {', '.join(sorted(cases[reason]))}: {reason}" for reason in sorted(cases)]


def _describe(failure: Failure) -> str:
    return f"{', '.join(failure.cases)} ({failure.checks.pattern or 'any check'})"


if __name__ == "__main__":
    sys.exit(main())
