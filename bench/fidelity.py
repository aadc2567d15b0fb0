"""Delays, rates, losses, queues and windows agree with their configuration and with theory.

Groups, each a file of effects/ with its theory at the top:

    delays         RTT against the links' delays                    within 10 us
    rates          goodput against the rate without headers         within 0.1 %
    shapers        tbf's burst, rate and latency, HTB's rate
    distributions  netem's jitter: distribution, correlation
    impairments    netem's loss, duplicates, corruption, reordering
    losses         Reno against Mathis, PFTK and rounds of whole packets
    buffers        goodput against the buffer in bandwidth-delay products
    aqm            RED's curve, PIE's and CoDel's targets
    shares         HTB, DRR, prio, SFQ, FQ_CoDel, Jain's index
    windows        slow start, Reno, CUBIC, BBR, Vegas

Every figure has a theoretical value, a measured value, and a range that follows from theory; the claim
holds if all measured values are in their ranges. Figures depend on the kernel and the seeds, and not on
how fast or busy the computer is. `--table` writes them into docs/evidence/fidelity.md. With another
kernel (`--kernel 7.3`), it writes them into docs/evidence/fidelity-kernels.md, beside those of the
default kernel.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

from _report import Report, Table
from effects import (
    aqm,
    buffers,
    delays,
    distributions,
    impairments,
    losses,
    page,
    rates,
    shapers,
    shares,
    windows,
)
from effects.figure import Case, Figure

from wanlab import __version__
from wanlab.machine.embedded import find_image
from wanlab.machine.embedded.image import DEFAULT_KERNEL, Image

GROUPS: dict[str, tuple[Case, ...]] = {
    "delays": delays.CASES,
    "rates": rates.CASES,
    "shapers": shapers.CASES,
    "distributions": distributions.CASES,
    "impairments": impairments.CASES,
    "losses": losses.CASES,
    "buffers": buffers.CASES,
    "aqm": aqm.CASES,
    "shares": shares.CASES,
    "windows": windows.CASES,
}
COLUMNS = ("theory", "measured", "unit", "error", "is_met", "seconds", "effect")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="by default all groups")
    parser.add_argument(
        "--table", action="store_true", help="refresh the tables of the kernel's page in docs/"
    )
    parser.add_argument("--kernel", default="", help="the kernel's name")
    options = parser.parse_args()
    for name in options.groups:
        if name not in GROUPS:
            parser.error(f"there is no group {name!r}; the groups are {', '.join(GROUPS)}")
    report = Report("fidelity", options.kernel)
    table = report.table("figures", COLUMNS)
    measured = {name: _measure(name, table) for name in options.groups or GROUPS}
    if options.table:
        _write(measured)
    met = [figure.is_met for figures in measured.values() for figure in figures]
    report.note(f"{sum(met)} of {len(met)} figures are in their ranges.")
    return report.finish(is_met=bool(met) and all(met))


def _measure(group: str, table: Table) -> list[Figure]:
    figures = []
    for case in GROUPS[group]:
        began_s = time.monotonic()
        case_figures = case.measure()
        seconds = round(time.monotonic() - began_s, 1)
        for figure in case_figures:
            table.add(
                group=group,
                case=case.name,
                effect=figure.effect,
                origin=figure.origin,
                theory=figure.theory,
                measured=figure.measured,
                unit=figure.unit or None,
                error=figure.error,
                least=figure.least,
                most=figure.most,
                reason=figure.reason,
                flaws=figure.flaws,
                is_met=figure.is_met,
                seconds=seconds if figure is case_figures[0] else None,
                **figure.details,
            )
        figures += case_figures
    return figures


def _write(measured: Mapping[str, list[Figure]]) -> None:
    image = find_image()
    if image.name == DEFAULT_KERNEL:
        page.refresh(measured, _origin(image))
    else:
        page.compare(measured, image.name, _origin(image))


def _origin(image: Image) -> str:
    return (
        f"wanlab {__version__}, Linux {image.release}, kernel manifest `{image.manifest_hash}`; "
        "seed 1 unless a file of `bench/effects` names others."
    )


if __name__ == "__main__":
    sys.exit(main())
