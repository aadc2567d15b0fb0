"""On the real clock, a missed number that depends on the computer is not a failure; others are."""

from __future__ import annotations

import pytest

from wanlab.labs.agreement import CONTRADICTS, UNKNOWN, WITHIN
from wanlab.labs.outcome import Outcome
from wanlab.labs.unit import Band, Expectation, Step
from wanlab.measure import Drop
from wanlab.measure.metrics import StepOutput

PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.

--- 10.0.0.2 ping statistics ---
3 packets transmitted, 2 received, 33% packet loss, time 2003ms
rtt min/avg/max/mdev = 1.0/2.0/3.0/0.5 ms
"""


@pytest.mark.parametrize(
    ("clock", "metric", "most", "status"),
    [
        ("virtual", "ping.max_ms", 2.5, UNKNOWN),
        ("real", "ping.max_ms", 2.5, CONTRADICTS),
        ("real", "ping.max_ms", 3.5, WITHIN),
        ("real", "ping.received", 1, UNKNOWN),
        ("real", "jain", 1, UNKNOWN),
    ],
)
def test_a_missed_band_is_a_failure_unless_the_computer_explains_it(
    clock: str, metric: str, most: float, status: str
) -> None:
    expected = Expectation("it", metric, "3", band=Band(at_most=most), why="set before")
    outcome = Outcome(Step(1, "", ("h1",), expect=(expected,)), clock=clock)
    outcome.compare(StepOutput(PING), {})
    assert [figure.status for figure in outcome.figures] == [status]


def test_a_report_has_every_number_beside_the_manuals() -> None:
    expected = Expectation(
        "the longest",
        "ping.max_ms",
        "3",
        band=Band(at_least=1, at_most=2.5),
        why="set before",
        unit="ms",
        seeds=(2.5, 3.5),
    )
    step = Step(7, "12:00", ("h1", "h2"), expect=(expected,), says=("2 received",))
    drop = Drop("root", "s1-eth2", "netem 1:", 17, 0.85, "its loss", "less of it")
    outcome = Outcome(
        step, "output", problems=["a problem"], lost=[drop], began_s=1.23456789, seconds=2
    )
    outcome.compare(StepOutput(PING), {})
    report = outcome.report()
    number, text = report.pop("figures")  # type: ignore[misc]
    assert report == {
        "n": 7,
        "at": "12:00",
        "where": "h1,h2",
        "command": step.text,
        "printed": step.printed,
        "note": step.note,
        "skipped": step.skip,
        "optional": step.is_optional,
        "output": "output",
        "problems": ["a problem"],
        "lost": [
            {
                "place": "s1-eth2",
                "what": "netem 1:",
                "packets": 17,
                "share": 0.85,
                "cause": "its loss",
                "remedy": "less of it",
            }
        ],
        "began_s": 1.234568,
        "seconds": 2,
    }
    assert number == {
        "what": "the longest",
        "manual": "3",
        "ours": 3.0,
        "ours_text": "3 ms",
        "unit": "ms",
        "manual_range": (3.0, 3.0),
        "ratio": 1.0,
        "seeds": (2.5, 3.5),
        "band": "1 to 2.5",
        "at_least": 1,
        "at_most": 2.5,
        "in_band": False,
        "status": UNKNOWN,
        "cause": "3 is outside the band 1 to 2.5: set before",
        "why": "set before",
    }
    assert (text["what"], text["ours"], text["in_band"]) == ('says "2 received"', 1.0, True)


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ({"run": True}, "GUI: run"),
        ({"run": None, "open": "a.mn"}, "GUI: run; open a.mn"),
        ({"draw": ["h1", "s1"]}, "GUI: draw h1, s1"),
        ({"link": [["h1", "s1"], ["s1", "h2"]]}, "GUI: link h1-s1, s1-h2"),
        ({"set": {"h1": {"ip": "10.0.0.1/8"}}}, "GUI: set h1: ip: 10.0.0.1/8"),
    ],
)
def test_a_step_in_the_browser_is_written_as_its_actions(
    actions: dict[str, object], text: str
) -> None:
    assert Step(1, "", ("gui",), do=actions).text == text
