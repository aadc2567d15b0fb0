"""Quantities are read exactly or not at all."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import WanlabError
from wanlab.units import (
    format_fraction,
    format_rate,
    format_size,
    format_time,
    parse_fraction,
    parse_rate,
    parse_size,
    parse_time,
    whole_number,
)

WHOLE = st.integers(min_value=0, max_value=10**18)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_rate, "10Mbps", 10_000_000),
        (parse_rate, "1gbit", 1_000_000_000),
        (parse_rate, "10 Mbit/s", 10_000_000),
        (parse_rate, "1.5Mbps", 1_500_000),
        (parse_rate, "2400bps", 2_400),
        (parse_rate, 1_000, 1_000),
        (parse_rate, 1e9, 1_000_000_000),
        (parse_time, "20ms", 20_000_000),
        (parse_time, " 1 s ", 1_000_000_000),
        (parse_time, "250us", 250_000),
        (parse_time, "250\u00b5s", 250_000),
        (parse_time, "0.0005ms", 500),
        (parse_time, "0s", 0),
        (parse_size, "1500B", 1_500),
        (parse_size, "64KB", 64_000),
        (parse_size, "64kB", 64_000),
        (parse_size, "1MiB", 1_048_576),
        (parse_fraction, "1%", 0.01),
        (parse_fraction, "0.05 %", 0.0005),
        (parse_fraction, "100%", 1.0),
        (parse_fraction, 0.3, 0.3),
    ],
)
def test_a_quantity_is_read_as_written(parse: Callable[[Any], Any], text: Any, value: Any) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


@pytest.mark.parametrize(
    ("parse", "bad", "what"),
    [
        (parse_rate, "10", 'the rate "10" has no unit'),
        (parse_rate, "10MBps", '"MBps" in "10MBps" is not a unit of rate'),
        (parse_rate, "10 furlongs", '"furlongs" in "10 furlongs" is not a unit of rate'),
        (parse_rate, "fast", '"fast" is not a rate'),
        (parse_rate, "", '"" is not a rate'),
        (parse_rate, "-5Mbps", 'the rate "-5Mbps" is negative'),
        (parse_rate, "1.5bps", "the rate 1.5bps is not a whole number of bps"),
        (parse_rate, 1.5, "the rate 1.5 is not a whole number of bps"),
        (parse_rate, -1, "a rate cannot be -1"),
        (parse_rate, True, "True is not a rate"),
        (parse_rate, None, "None is not a rate"),
        (parse_rate, float("inf"), "a rate cannot be inf"),
        (parse_time, "0.5ns", "the time 0.5ns is not a whole number of ns"),
        (parse_time, "nan", '"nan" is not a time'),
        (parse_time, float("nan"), "a time cannot be nan"),
        (parse_time, "1e3ms", '"e3ms" in "1e3ms" is not a unit of time'),
        (parse_size, "1500b", '"b" in "1500b" is not a unit of size'),
        (parse_size, "1.0001KB", "the size 1.0001KB is not a whole number of B"),
        (parse_fraction, "1", '"1" is not a fraction'),
        (parse_fraction, "101%", "a fraction cannot be 101%"),
        (parse_fraction, "-1%", '"-1%" is not a fraction'),
        (parse_fraction, -0.1, "a fraction cannot be -0.1"),
        (parse_fraction, float("nan"), "a fraction cannot be nan"),
        (parse_fraction, None, "None is not a fraction"),
    ],
)
def test_a_quantity_that_cannot_be_stored_exactly_is_refused(
    parse: Callable[[Any], Any], bad: Any, what: str
) -> None:
    with pytest.raises(WanlabError) as caught:
        parse(bad)
    assert caught.value.what == what


def test_the_error_for_a_missing_unit_lists_the_units() -> None:
    with pytest.raises(WanlabError, match=r"ns, us, ms, s"):
        parse_time("5")


@pytest.mark.parametrize(
    ("format_it", "value", "text"),
    [
        (format_rate, 10_000_000, "10Mbps"),
        (format_rate, 1_500_000, "1.5Mbps"),
        (format_rate, 0, "0bps"),
        (format_time, 20_000_000, "20ms"),
        (format_time, 100_000_000, "100ms"),
        (format_time, 1_000_000_000, "1s"),
        (format_size, 1_500, "1500B"),
        (format_size, 65_536, "64KiB"),
        (format_size, 25_000_000, "25MB"),
        (format_fraction, 0.01, "1%"),
        (format_fraction, 1.0, "100%"),
        (format_fraction, 0.0, "0%"),
        (format_fraction, 1e-7, "0.00001%"),
    ],
)
def test_the_shortest_exact_text_is_written(
    format_it: Callable[[Any], str], value: Any, text: Any
) -> None:
    assert format_it(value) == text


@given(WHOLE)
def test_whole_quantities_survive_writing_and_reading(value: Any) -> None:
    assert parse_rate(format_rate(value)) == value
    assert parse_time(format_time(value)) == value
    assert parse_size(format_size(value)) == value


@given(st.floats(min_value=0.0, max_value=1.0))
def test_fractions_survive_writing_and_reading(fraction: float) -> None:
    assert parse_fraction(format_fraction(fraction)) == fraction


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text: Any) -> None:
    for parse in (parse_rate, parse_time, parse_size, parse_fraction):
        try:
            assert parse(text) >= 0
        except WanlabError as error:
            assert error.hint


@pytest.mark.parametrize(
    "text", ["", "²", "٣", "-1", "+1", " 1", "1\n", "1_000", "0x10", "9" * 5000]
)
def test_only_the_digits_0_to_9_write_a_whole_number(text: str) -> None:
    """Texts that `isdigit` accepts and `int` does not ended commands with a traceback."""
    assert whole_number(text) is None


def test_whole_numbers_are_read() -> None:
    assert [whole_number(text) for text in ("0", "007", "9" * 18)] == [0, 7, 10**18 - 1]


@pytest.mark.parametrize(
    ("unit", "rate_bps"),
    [("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 10**9), ("Tbps", 10**12)],
)
def test_each_unit_of_a_rate_has_its_size(unit: str, rate_bps: int) -> None:
    assert parse_rate(f"7{unit}") == 7 * rate_bps
    assert format_rate(7 * rate_bps) == f"7{unit}"


ENDINGS = ("bps", "bit", "bits", "bit/s", "bits/s", "b/s")


@pytest.mark.parametrize(
    ("prefix", "factor"),
    [
        ("", 1),
        *((p, 10 ** (3 * n)) for n, pair in enumerate(["kK", "mM", "gG", "tT"], 1) for p in pair),
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_rate_is_read_in_each_spelling_of_its_unit(prefix: str, factor: int, ending: str) -> None:
    assert parse_rate(f"3{prefix}{ending}") == 3 * factor


@pytest.mark.parametrize(
    ("unit", "time_ns"),
    [
        *((unit, 1) for unit in ("ns", "nsec", "nsecs")),
        *((unit, 10**3) for unit in ("us", "usec", "usecs", "µs", "μs")),
        *((unit, 10**6) for unit in ("ms", "msec", "msecs")),
        *((unit, 10**9) for unit in ("s", "sec", "secs")),
    ],
)
def test_a_time_is_read_in_each_spelling_of_its_unit(unit: str, time_ns: int) -> None:
    assert parse_time(f"2 {unit}") == 2 * time_ns


def test_nothing_is_a_rate_a_time_and_a_size_and_true_is_no_fraction() -> None:
    assert (parse_rate("0bps"), parse_time("0s"), parse_size("0B")) == (0, 0, 0)
    assert (parse_rate("0.5kbps"), parse_time("0.5us")) == (500, 500)
    with pytest.raises(WanlabError):
        parse_fraction(True)
