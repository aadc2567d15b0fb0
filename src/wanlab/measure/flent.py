"""Read a data file of Flent (https://flent.org): JSON, with or without compression by gzip.

    {"version": 4, "x_values": [0.0, 0.2, ...],
     "results": {"TCP upload": [9.4, null, ...], "Ping (ms) ICMP": [25.1, ...]},
     "metadata": {"TITLE": "...", "FLENT_VERSION": "2.1.1",
                  "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}, ...}}}

All series share the times of `x_values`, in seconds. The format is that of Flent's resultset.py,
versions 1 to 4; before version 4, units are known from the names only.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import msgspec

from wanlab.errors import WanlabError
from wanlab.record import Table

GZIP = b"\x1f\x8b"
MAX_BYTES = 1 << 28
RATE_UNIT, TIME_UNIT = "Mbits/s", "ms"


class _Series(msgspec.Struct):
    units: str = msgspec.field(default="", name="UNITS")


class _Metadata(msgspec.Struct):
    title: str | None = msgspec.field(default="", name="TITLE")
    flent_version: str | None = msgspec.field(default="", name="FLENT_VERSION")
    series: dict[str, _Series] = msgspec.field(default_factory=dict, name="SERIES_META")


class _File(msgspec.Struct):
    x_values: list[float]
    results: dict[str, list[float | None]]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


@dataclass(frozen=True)
class FlentData:
    """The series of one test."""

    title: str
    version: str
    """Flent's version."""
    tables: dict[str, Table]
    """ "flent_throughput" (time_ns, series, bits_per_second) and "flent_ping" (time_ns, series,
    rtt_ms), as far as the test has them."""


def parse(data: bytes) -> FlentData:
    """Parse a data file. WanlabError if it is none."""
    try:
        file = msgspec.json.decode(_decompressed(data), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WanlabError(f"this is not a data file of Flent: {error}") from None
    tables = {
        "flent_throughput": _table(file, RATE_UNIT, "bits_per_second", 1e6, "bit/s"),
        "flent_ping": _table(file, TIME_UNIT, "rtt_ms", 1.0, "ms"),
    }
    present = {name: table for name, table in tables.items() if table is not None}
    if not present:
        raise WanlabError("this data file of Flent has neither throughput nor round-trip times")
    return FlentData(file.metadata.title or "", file.metadata.flent_version or "", present)


def _decompressed(data: bytes) -> bytes:
    if not data.startswith(GZIP):
        return data
    try:
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise WanlabError(f"this is not a data file of Flent: {error}") from None
    if unpacker.unconsumed_tail:
        raise WanlabError(f"the file has more than {MAX_BYTES >> 20} MiB of data")
    return text


def _table(file: _File, unit: str, column: str, factor: float, shown_unit: str) -> Table | None:
    """Return the values of all series with a unit; those that are null are left out."""
    rows = [
        (round(time_s * 1e9), name, value * factor)
        for name, values in file.results.items()
        if _unit_of(file, name) == unit
        for time_s, value in zip(file.x_values, values, strict=False)
        if value is not None
    ]
    if not rows:
        return None
    times, names, numbers = zip(*rows, strict=True)
    return Table.of(
        {"time_ns": list(times), "series": list(names), column: list(numbers)},
        {column: shown_unit},
    )


def _unit_of(file: _File, name: str) -> str:
    known = file.metadata.series.get(name)
    if known is not None and known.units:
        return known.units
    return TIME_UNIT if "ping" in name.lower() else RATE_UNIT if "TCP" in name else ""


def is_flent(data: bytes) -> bool:
    """Whether a file looks like one of Flent's rather than like iperf3's."""
    return data.startswith(GZIP) or b'"x_values"' in data
