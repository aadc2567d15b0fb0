"""Every starting state fails its check, every solution passes, every wrong one fails with its hint.

This holds for all variants of all exercises and problems, or of the units that are named. Each case has
a separate network; `-j` runs several at once. The iperf3 tests in a solution last 2 s here, while
`wanlab lab run` performs them in full length.

    case      the unit, and what was graded: the starting state, a solution, or a wrong solution
    right     whether the grade is the expected one
    points    points given, of all points
    wall_s    real time; cases that run at the same time slow each other down
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context

from _report import Report, Table

from wanlab.labs import catalog, check_selftest

MAX_MISSED = 3


def main() -> int:
    arguments = _arguments()
    names = arguments.unit or list(catalog.names())
    cases = [case for name in names for case in check_selftest.cases(catalog.find(name))]
    cases = [case for case in cases if not arguments.kind or case.kind in arguments.kind]
    cases = [case for case in cases if arguments.case in case.name]
    report = Report("course")
    report.note(f"{len(cases)} cases")
    table = report.table("cases", ("right", "points", "wall_s", "case"))
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(check_selftest.run_case, case) for case in cases]
        try:
            for done in as_completed(running):
                _add_row(report, table, done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    kinds = (check_selftest.START, check_selftest.SOLUTION, check_selftest.WRONG)
    report.more["totals"] = {
        kind: {"right": sum(rights), "of": len(rights)}
        for kind in kinds
        if (rights := [row["right"] for row in table.rows if row["kind"] == kind])
    }
    for kind, total in report.more["totals"].items():
        report.note(f"{kind}: {total['right']} of {total['of']} as expected")
    rights = [row["right"] for row in table.rows]
    return report.finish(is_met=all(rights) if rights else None)


def _add_row(report: Report, table: Table, verdict: check_selftest.Verdict) -> None:
    fields = asdict(verdict)
    table.add(
        **{key: fields[key] for key in ("kind", "missed", "reasons")},
        right=verdict.is_right,
        points=f"{verdict.points:g}/{verdict.of:g}",
        wall_s=verdict.seconds,
        case=verdict.name,
    )
    for reason in verdict.reasons:
        report.note(f"          {reason}")
    if verdict.reasons:
        for missed in verdict.missed[:MAX_MISSED]:
            report.note(f"          missed: {missed}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("unit", nargs="*", help="such as ex3 or prob1; by default all")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many cases at once")
    parser.add_argument(
        "--kind", action="append", choices=(check_selftest.START, check_selftest.SOLUTION, "wrong")
    )
    parser.add_argument(
        "--case", default="", metavar="TEXT", help="only cases whose names contain TEXT"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
