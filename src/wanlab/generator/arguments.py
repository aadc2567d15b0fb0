"""Parse command-line arguments: options and quantities with units ("10Mbps", "20ms", "64KB").

This module replaces `argparse`, which takes longer to load than a short transfer takes. The units are
those of `wanlab.units`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZES = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}


class UsageError(Exception):
    """An argument that cannot be used."""


def _quantity(text: str, units: Mapping[str, int], noun: str) -> int:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :]
    whole, dot, part = digits.partition(".")
    if unit not in units or not whole.isdecimal() or (dot and not part.isdecimal()):
        raise UsageError(f'"{text}" is not a {noun}; the units are {", ".join(units)}')
    value, rest = divmod(int(whole + part) * units[unit], int(10 ** len(part)))
    if rest:
        raise UsageError(f"{text} is not a whole number of {next(iter(units))}")
    return value


def rate(text: str) -> int:
    """Return a rate in bit/s."""
    return _quantity(text, _RATES, "rate")


def time(text: str) -> int:
    """Return a time in ns."""
    return _quantity(text, _TIMES, "time")


def size(text: str) -> int:
    """Return a size in bytes."""
    return _quantity(text, _SIZES, "size")


def positive(parse: Callable[[str], int]) -> Callable[[str], int]:
    """Return a parser that refuses 0, such as a load of 0 bit/s."""

    def parse_positive(text: str) -> int:
        value = parse(text)
        if not value:
            raise UsageError(f'"{text}" must be more than 0')
        return value

    return parse_positive


def port(text: str) -> int:
    number = count(text)
    if number > 65535:
        raise UsageError(f'"{text}" is not a port; ports end at 65535')
    return number


def code_point(text: str) -> int:
    number = whole_number(text)
    if number > 63:
        raise UsageError(f'"{text}" is not a DSCP; it must be from 0 to 63')
    return number


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f'"{text}" is not a whole number of at least 1')
    return int(text)


def whole_number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f'"{text}" is not a whole number')
    return int(text)


Parsers = Mapping[str, Callable[[str], object]]


def parse_arguments(
    arguments: list[str], parsers: Parsers, flags: set[str]
) -> tuple[list[str], dict[str, object]]:
    """Return positional arguments, and the value of each option ("--time 10s" is {"time": 10**10}).

    Raises UsageError for an unknown option and for a value that its parser refuses.
    """
    positional: list[str] = []
    options: dict[str, object] = {}
    remaining = iter(arguments)
    for argument in remaining:
        if not argument.startswith("-"):
            positional.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if name in flags and not equals:
            options[name] = True
        elif name in parsers:
            text = value if equals else next(remaining, "")
            if not text:
                raise UsageError(f"--{name} needs a value")
            options[name] = parsers[name](text)
        else:
            known = ", ".join("-" * min(2, len(name)) + name for name in (*parsers, *flags))
            raise UsageError(f"unknown option {argument}; the options are {known}")
    return positional, options
