"""Does the manual's number agree with ours? One of five kinds, computed from the two numbers.

within           the manual's number is at most 25 % from ours, or in the range over our seeds
same behaviour   another number, for a stated cause; what the lesson teaches with it is so here, too
contradicts      the number, or what the lesson teaches with it, is not so here, for a stated cause
cause unknown    another number, and nobody knows why
holds            the manual gives no number, but a text, words or nothing; these hold

"What the lesson teaches with it is so here" means that our number is in the band of its unit's
lab.yaml. A band never makes a number `within`: that follows from the two numbers alone. A number that
was measured with other commands than the manual's is never `within`.
"""

from __future__ import annotations

import re
from typing import Final

from .unit import Expectation

WITHIN: Final = "within"
SAME: Final = "same behaviour"
CONTRADICTS: Final = "contradicts"
UNKNOWN: Final = "cause unknown"
HOLDS: Final = "holds"
STATUSES = (WITHIN, SAME, CONTRADICTS, UNKNOWN, HOLDS)
COMPARED = STATUSES[:-1]
"""The kinds of numbers that the manual prints."""

TOLERANCE = 0.25
"""The largest difference, as a fraction of our number, that counts as within."""
NEAR_ZERO_MS = 0.1
"""Times up to this one are equal to 0: a manual's 0.04 ms is the speed of its computer."""
Range = tuple[float, float]
# A remark in parentheses may follow: "20.5 (icmp_seq 3 is missing)".
_NUMBER = r"(-?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+)?)"
_MANUAL = re.compile(
    rf"(?:about |approximately |near |~)?{_NUMBER}(?: to {_NUMBER})?(?: \(.*\))?", re.DOTALL
)


def manual_range(text: str, means: Range | None = None) -> Range | None:
    """Return the number, or the two ends of the range, that the manual prints; None if it has none.

    `means` is what the text means where it is not a plain number ("near 1 Gbit/s").
    """
    if means is not None:
        return means
    match = _MANUAL.fullmatch(text.strip())
    if match is None:
        return None
    low = float(match[1].replace(",", ""))
    return low, float(match[2].replace(",", "")) if match[2] else low


def ratio(manual: Range | None, ours: float | None) -> float | None:
    """Return our number as a multiple of the manual's, or of the nearest one in the manual's range."""
    if manual is None or ours is None:
        return None
    nearest = min(max(ours, manual[0]), manual[1])
    if nearest == ours:
        return 1.0
    return ours / nearest if nearest else None


def rule(expected: Expectation, ours: float) -> str | None:
    """Return the rule by which the manual's number is within, if it is; "" is that of 25 %."""
    manual = manual_range(expected.manual, expected.means)
    if manual is None:
        return None
    low, high = manual
    distance = max(low - ours, ours - high, 0)
    if distance <= TOLERANCE * abs(ours):
        return ""
    if expected.unit == "ms" and max(abs(high), abs(ours)) <= NEAR_ZERO_MS:
        return f"both are at most {NEAR_ZERO_MS:g} ms"
    if expected.seeds is not None and expected.seeds[0] <= high and low <= expected.seeds[1]:
        return "in the range over our seeds"
    return None


def status(expected: Expectation, ours: float) -> str:
    """Return the kind of a number that was measured."""
    if not expected.band.holds(ours):
        return CONTRADICTS if expected.cause else UNKNOWN
    if manual_range(expected.manual, expected.means) is None:
        return HOLDS
    if expected.changed:
        return SAME
    if rule(expected, ours) is not None:
        return WITHIN
    return SAME if expected.cause else UNKNOWN
