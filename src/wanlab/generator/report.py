"""Format results: text for people, and JSON for programs. (The module `json` takes long to load.)"""

from __future__ import annotations

from _json import encode_basestring_ascii
from collections.abc import Mapping, Sequence


def json(value: object) -> str:
    """Return the JSON text of a value, as `json.dumps` would."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json(str(k))}: {json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(json, value)) + "]"
    return repr(value)


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return the smallest value that at least this fraction of the values does not exceed.

    `values` are sorted.
    """
    return values[max(0, -(-len(values) * round(fraction * 1000) // 1000) - 1)]


def rate(bits_per_second: float) -> str:
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:.4g} {unit}"
    return f"{bits_per_second:.4g} bit/s"


def time(nanoseconds: float) -> str:
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"
