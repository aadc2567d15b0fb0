"""Parses quantities as people write them into integers in base units, and formats these.

    parse_rate("10Mbps")   == 10_000_000     bit/s
    parse_time("20ms")     == 20_000_000     ns
    parse_size("64KiB")    == 65_536         bytes
    parse_fraction("1%")   == 0.01

Each `format_...` writes the shortest text that its `parse_...` reads back to the same value.

A string must have a unit: "10" is megabits to one program and microseconds to another. A number is in
the base unit. A value that is not a whole number of base units (half a bit per second) is refused, never
rounded. Bits and bytes differ in the case of one letter ("Mbps", "MBps"), so case counts, and a rate in
bytes is refused. Decimal prefixes are powers of 1000, binary ones (KiB, MiB, GiB) of 1024.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from wanlab.errors import WanlabError

FOREVER_NS = (1 << 63) - 1
"""Later than any time on a machine's clock."""

# Twenty digits hold a year in nanoseconds and any rate. Without a limit, a hostile file could contain
# a number of a million digits.
_DIGITS = re.compile(r"[0-9]{1,18}")
_QUANTITY = re.compile(r"\s*(\d{1,20}(?:\.\d{1,20})?)\s*([^\s\d.+-]\S*)?\s*")


@dataclass(frozen=True)
class _Dimension:
    """A kind of quantity: the units it is written in, smallest first, and their other spellings."""

    noun: str
    units: Mapping[str, int]
    spellings: Mapping[str, str]
    advice: str

    def parse(self, value: str | float) -> int:
        if isinstance(value, str):
            return self._parse_text(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise WanlabError(f"{value!r} is not a {self.noun}", self.advice)
        if not 0 <= value < float("inf"):
            raise WanlabError(f"a {self.noun} cannot be {value}", self.advice)
        return self._whole(Fraction(value), str(value))

    def _parse_text(self, text: str) -> int:
        if text.strip().startswith("-"):
            raise WanlabError(f'the {self.noun} "{text}" is negative', self.advice)
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise WanlabError(f'"{text}" is not a {self.noun}', self.advice)
        number, unit = match.groups()
        if unit is None:
            raise WanlabError(f'the {self.noun} "{text}" has no unit', self.advice)
        unit = self.spellings.get(unit, unit)
        if unit not in self.units:
            raise WanlabError(f'"{unit}" in "{text}" is not a unit of {self.noun}', self.advice)
        return self._whole(Fraction(number) * self.units[unit], text)

    def _whole(self, exact: Fraction, text: str) -> int:
        if exact.denominator != 1:
            base = next(iter(self.units))
            raise WanlabError(
                f"the {self.noun} {text} is not a whole number of {base}", self.advice
            )
        return int(exact)

    def format(self, value: int) -> str:
        assert value >= 0, f"a {self.noun} is not negative, but this is {value}"
        texts = [
            f"{_decimal(value, scale)}{unit}"
            for unit, scale in self.units.items()
            if scale == 1 or (value >= scale and value * 1000 % scale == 0)
        ]
        return min(texts, key=len)


def whole_number(text: str) -> int | None:
    """Return the number that the digits 0 to 9 write; None for any other text, and above 18 digits.

    `isdigit` accepts digits that `int` does not, such as "²", and `int` refuses more than 4,300.
    """
    return int(text) if _DIGITS.fullmatch(text) else None


def _decimal(value: int, scale: int) -> str:
    """Return value / scale as a decimal number; the caller knows that three decimals are enough."""
    whole, rest = divmod(value, scale)
    decimals = f"{rest * 1000 // scale:03d}".rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def _spellings(by_unit: Mapping[str, str]) -> dict[str, str]:
    return {word: unit for unit, words in by_unit.items() for word in words.split()}


def _bit_spellings() -> dict[str, str]:
    """Return the other spellings of each rate's unit: kbit, Kbit/s, kb/s, ... of kbps.

    The prefix may be in either case, as in `tc`.
    """
    return {
        f"{prefix}{ending}": f"{unit}bps"
        for unit in ("", "k", "M", "G", "T")
        for prefix in {unit.lower(), unit.upper()}
        for ending in ("bps", "bit", "bits", "bit/s", "bits/s", "b/s")
    }


# Two characters look the same: the micro sign and the Greek letter.
_MICROS = "\N{MICRO SIGN}s \N{GREEK SMALL LETTER MU}s"

_RATE = _Dimension(
    noun="rate",
    units={"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    spellings=_bit_spellings(),
    advice='write it in bits per second, as in "10Mbps": bps, kbps, Mbps, Gbps, Tbps',
)

_TIME = _Dimension(
    noun="time",
    units={"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    spellings=_spellings(
        {"ns": "nsec nsecs", "us": f"usec usecs {_MICROS}", "ms": "msec msecs", "s": "sec secs"}
    ),
    advice='write it with its unit, as in "20ms": ns, us, ms, s',
)

_SIZE = _Dimension(
    noun="size",
    units={"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30},
    spellings=_spellings({"B": "byte bytes", "KB": "kB"}),
    advice='write it in bytes, as in "64KiB": B, KB, KiB, MB, MiB, GB, GiB',
)

_FRACTION_ADVICE = (
    'write a percentage from 0 to 100, as in "1%"; in Python and YAML also a number from 0 to 1'
)
_PERCENTAGE = re.compile(r"\s*(\d{1,3}(?:\.\d{1,400})?)\s*%\s*")


def parse_rate(rate: str | float) -> int:
    """Return the bits per second of "10Mbps", "1gbit" or "1.5 Mbit/s"; WanlabError if not a rate."""
    return _RATE.parse(rate)


def parse_time(time: str | float) -> int:
    """Return the nanoseconds of "20ms", "1s" or "250us"; WanlabError if not a time."""
    return _TIME.parse(time)


def parse_size(size: str | float) -> int:
    """Return the bytes of "1500B", "64KB" or "1MiB"; WanlabError if not a size."""
    return _SIZE.parse(size)


def parse_fraction(fraction: str | float) -> float:
    """Return "1%" or 0.01 as a number from 0 to 1; WanlabError if not a fraction."""
    if isinstance(fraction, str):
        match = _PERCENTAGE.fullmatch(fraction)
        if match is None:
            raise WanlabError(f'"{fraction}" is not a fraction', _FRACTION_ADVICE)
        value = float(Fraction(match[1]) / 100)
    elif isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
        raise WanlabError(f"{fraction!r} is not a fraction", _FRACTION_ADVICE)
    else:
        value = float(fraction)
    if not 0.0 <= value <= 1.0:
        raise WanlabError(f"a fraction cannot be {fraction}", _FRACTION_ADVICE)
    return abs(value)  # no minus zero


def format_rate(rate_bps: int) -> str:
    """Return the text of a rate in bit/s: 10_000_000 -> "10Mbps"."""
    return _RATE.format(rate_bps)


def format_time(time_ns: int) -> str:
    """Return the text of a time in ns: 20_000_000 -> "20ms"."""
    return _TIME.format(time_ns)


def format_size(size_bytes: int) -> str:
    """Return the text of a size in bytes: 65_536 -> "64KiB"."""
    return _SIZE.format(size_bytes)


def format_fraction(fraction: float) -> str:
    """Return the percentage of a fraction: 0.01 -> "1%"."""
    # repr() is the shortest text of a float. Moving its point two digits gives the exact percentage.
    percent = Decimal(repr(fraction)).scaleb(2)
    text = f"{percent:f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"
