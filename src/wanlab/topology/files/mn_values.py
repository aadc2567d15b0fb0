"""Values in MiniEdit's files: rates in Mbit/s, percentages, and times as `tc` reads them.

Each function raises WanlabError for a value that it cannot read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal

from wanlab.errors import WanlabError
from wanlab.units import parse_fraction, parse_rate, parse_time

_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?")
_EXACT_TIME = re.compile(r"\s*(?P<number>\d{1,20}\.\d+)\s*(?P<unit>[a-z]+)\s*")
_NETEM_DELAY = re.compile(
    r"\s*(?P<delay>\S+)\s+(?P<jitter>[\d.]+[a-z]+)(?:\s+(?P<correlation>[\d.]+%))?"
    r"(?:\s+distribution\s+(?P<distribution>\w+))?\s*"
)


def read_rate(megabits: object) -> int:
    return parse_rate(f"{_decimals(megabits, 'rate in Mbit/s')}Mbps")


@dataclass(frozen=True)
class NetemDelay:
    """The content of a delay field: netem's words, such as "10ms 2ms 25% distribution normal"."""

    delay_ns: int = 0
    jitter_ns: int = 0
    correlation_fraction: float = 0.0
    distribution: str | None = None


def read_delay(text: object) -> NetemDelay:
    """Parse a delay, and netem's words after it (tc-netem(8))."""
    match = _NETEM_DELAY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return NetemDelay(read_time(text))
    correlation = match["correlation"]
    return NetemDelay(
        read_time(match["delay"]),
        read_time(match["jitter"]),
        parse_fraction(correlation) if correlation else 0.0,
        match["distribution"],
    )


def read_time(time: object) -> int:
    """Parse a time and round it to nanoseconds.

    A number without a unit is in microseconds, as in `tc`.
    """
    if not isinstance(time, str) or _is_number(time):
        time = f"{_decimals(time, 'time')}us"
    if not time.strip():
        return 0
    match = _EXACT_TIME.fullmatch(time)
    if match is None:
        return parse_time(time)
    unit_ns = parse_time(f"1{match['unit']}")
    return round(Decimal(match["number"]) * unit_ns)


def read_percentage(percent: object) -> float:
    return parse_fraction(f"{_decimals(percent, 'percentage')}%")


def _decimals(value: object, noun: str) -> str:
    """Return a number, or the text of one, as decimals without an exponent."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or not _is_number(value):
        shown = json.dumps(value) if isinstance(value, (str, bool)) else value
        raise WanlabError(f"{shown} is not a {noun}", "write a number")
    number = Decimal(str(value).strip())
    if number < 0:
        raise WanlabError(f"the {noun} {value} is negative", "write 0 or a positive number")
    return f"{number:f}"


def _is_number(value: str | float) -> bool:
    return _NUMBER.fullmatch(str(value).strip()) is not None
