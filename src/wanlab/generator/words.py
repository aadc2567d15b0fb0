"""What is typed: options and quantities, in the words of the rest of wanlab ("10Mbps", "20ms", "64KB").

`argparse` takes longer to load than a short transfer takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZES = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}


class UsageError(Exception):
    """What was typed cannot be meant."""


def _quantity(text: str, units: Mapping[str, int], noun: str) -> int:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :]
    whole, dot, part = digits.partition(".")
    if unit not in units or not whole.isdecimal() or (dot and not part.isdecimal()):
        raise UsageError(f'"{text}" is no {noun}; units are {", ".join(units)}')
    value, rest = divmod(int(whole + part) * units[unit], int(10 ** len(part)))
    if rest:
        raise UsageError(f"{text} is not a whole number of {next(iter(units))}")
    return value


def rate(text: str) -> int:
    return _quantity(text, _RATES, "rate")


def time(text: str) -> int:
    return _quantity(text, _TIMES, "time")


def size(text: str) -> int:
    return _quantity(text, _SIZES, "size")


def some(read: Callable[[str], int]) -> Callable[[str], int]:
    """A quantity that cannot be 0: a load of nothing, a flow of no bytes."""

    def read_some(text: str) -> int:
        value = read(text)
        if not value:
            raise UsageError(f'"{text}" is nothing; it has to be more')
        return value

    return read_some


def port(text: str) -> int:
    number = count(text)
    if number > 65535:
        raise UsageError(f'"{text}" is no port; the last is 65535')
    return number


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f'"{text}" is no number from 1 on')
    return int(text)


def whole(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f'"{text}" is no whole number')
    return int(text)


Readers = Mapping[str, Callable[[str], object]]


def read(
    words: list[str], readers: Readers, flags: set[str]
) -> tuple[list[str], dict[str, object]]:
    """Positional words, and the value of each option ("--time 10s" is {"time": 10**10})."""
    plain: list[str] = []
    options: dict[str, object] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            plain.append(word)
            continue
        name, given, value = word.lstrip("-").partition("=")
        if name in flags and not given:
            options[name] = True
        elif name in readers:
            text = value if given else next(rest, "")
            if not text:
                raise UsageError(f"--{name} needs a value")
            options[name] = readers[name](text)
        else:
            known = ", ".join("-" * min(2, len(name)) + name for name in (*readers, *flags))
            raise UsageError(f"{word} is not known here; there are {known}")
    return plain, options
