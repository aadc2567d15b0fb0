"""Test figures, their bands, and the table that shows them."""

from __future__ import annotations

import pytest

from wanlab.labs import table
from wanlab.labs.agreement import STATUSES
from wanlab.labs.outcome import band_text, readable
from wanlab.labs.report import FigureReport, StepReport, UnitReport
from wanlab.labs.unit import Band


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2589040.0, "2,589,040"),
        (26214400, "26,214,400"),
        (957.3456, "957.3"),
        (1234.56, "1,235"),
        (32.669, "32.67"),
        (20, "20"),
        (0, "0"),
        (0.04, "0.04"),
        (4.8765, "4.877"),
    ],
)
def test_numbers_are_rounded_for_people(number: float, text: str) -> None:
    assert readable(number) == text


@pytest.mark.parametrize(
    ("least", "most", "band"),
    [
        (2555890, 2621440, "2,555,890 to 2,621,440"),
        (900, None, "900 or more"),
        (None, 0.5, "0.5 or less"),
        (0, 0, "0"),
        (None, None, "any"),
    ],
)
def test_a_band_is_shown_in_words(least: float | None, most: float | None, band: str) -> None:
    assert band_text(Band(least, most)) == band


@pytest.mark.parametrize(
    ("ours", "is_in_it"), [(899.9, False), (900, True), (1000, True), (1000.1, False)]
)
def test_the_ends_of_a_band_belong_to_it(ours: float, is_in_it: bool) -> None:
    assert Band(900, 1000).holds(ours) is is_in_it


def figure(what: str, status: str = "within", cause: str = "") -> FigureReport:
    return {
        "what": what,
        "manual": "2.5e6",
        "ours": 26162018.0,
        "ours_text": "26,162,018 B",
        "unit": "B",
        "manual_range": (2.5e6, 2.5e6),
        "ratio": 10.4648,
        "seeds": None,
        "band": "26,148,850 to 26,214,400",
        "at_least": 26148850.0,
        "at_most": 26214400.0,
        "in_band": True,
        "status": status,
        "cause": cause,
        "why": "",
    }


def step(*figures: FigureReport, skipped: str = "", problems: tuple[str, ...] = ()) -> StepReport:
    return {
        "n": 3,
        "at": "1/3",
        "where": "h1",
        "command": "h1$ ping 10.0.0.3",
        "printed": "",
        "note": "",
        "skipped": skipped,
        "optional": False,
        "output": "",
        "figures": list(figures),
        "problems": list(problems),
        "lost": [],
        "began_s": 0.0,
        "seconds": 1.0,
    }


def report(*steps: StepReport, warnings: tuple[str, ...] = ()) -> UnitReport:
    figures = [one for own in steps for one in own["figures"]]
    counts = {status: sum(one["status"] == status for one in figures) for status in STATUSES}
    return {
        "wanlab": "0",
        "inputs": "",
        "unit": "14",
        "kind": "lab",
        "number": 14,
        "title": "Bufferbloat",
        "heading": "Lab 14: Bufferbloat",
        "goal": "",
        "seed": 1,
        "variant": None,
        "clock": "virtual",
        "start_jitter_s": 0.0,
        "wire": "gso",
        "line_rate": "0",
        "steps_count": len(steps),
        "performed": len(steps),
        "skipped": 0,
        "counts": counts,
        "steps": list(steps),
        "solution": [],
        "check": None,
        "records": {},
        "decisions": [],
        "virtual_s": 1.0,
        "warnings": list(warnings),
    }


def test_a_table_is_printed_completely() -> None:
    text = table.text(
        report(
            step(figure("queue peak"), figure('says "64 bytes"', "holds")),
            step(skipped="it is printed twice"),
            step(figure("throughput"), problems=("exit status 1 in h1",)),
            step(figure("window", "same behaviour", "the queue did not fill")),
            step(),
            warnings=("3 packets were dropped",),
        )
    )
    assert text == (
        "Lab 14: Bufferbloat\n"
        "\n"
        "what              manual          ours  ratio  kind\n"
        "----------------  ------  ------------  -----  --------------\n"
        "step 3, h1$ ping 10.0.0.3\n"
        "  queue peak       2.5e6  26,162,018 B     10  within\n"
        '  says "64 bytes"  holds\n'
        "step 3, h1$ ping 10.0.0.3\n"
        "  skipped: it is printed twice\n"
        "step 3, h1$ ping 10.0.0.3\n"
        "  problem: exit status 1 in h1\n"
        "  throughput       2.5e6  26,162,018 B     10  within\n"
        "step 3, h1$ ping 10.0.0.3\n"
        "  window           2.5e6  26,162,018 B     10  same behaviour\n"
        "    the queue did not fill\n"
        "warning: 3 packets were dropped\n"
        "\n"
        "5 of 5 steps performed\n"
        "numbers of the manual: 3 (2 within, 1 same behaviour, 0 contradicts, 0 cause\n"
        "unknown); texts that hold: 1\n"
    )


def test_a_long_name_continues_below_and_nothing_is_cut() -> None:
    name = "a very long name of something that was measured"
    lines = table.text(report(step(figure(name)))).splitlines()[5:-3]
    assert max(map(len, lines)) <= 80
    first, *rest = lines
    words = [*first[: first.index("2.5e6")].split(), *" ".join(rest).split()]
    assert words == name.split()


def test_losses_at_one_place_are_one_sentence() -> None:
    cause = "the queue was full: its limit of 9000 bytes"
    first, other, last = step(), step(), step()
    for at, n, packets, share in ((first, 3, 10, 0.5), (other, 4, 1, 0.0), (last, 28, 30, 0.25)):
        at["n"] = n
        at["lost"] = [
            {
                "place": "h2" if at is other else "s1-eth2",
                "what": "UDP" if at is other else "tbf 1:",
                "packets": packets,
                "share": share,
                "cause": cause,
                "remedy": "a larger limit",
            }
        ]
    lines = table.text(report(first, other, last)).splitlines()
    assert lines[lines.index("packets were lost:") + 1 :][:4] == [
        "  steps 3 to 28: s1-eth2 (tbf 1:) lost 40 packets (29 %): the queue was full:",
        "  its limit of 9000 bytes (try: a larger limit)",
        "  step 4: h2 (UDP) lost 1 packet: the queue was full: its limit of 9000 bytes",
        "  (try: a larger limit)",
    ]
