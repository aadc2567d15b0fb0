"""Read and write data files of Flent (https://flent.org): JSON, with or without compression by gzip.

    {"version": 4, "x_values": [0.0, 0.2, ...],
     "results": {"TCP upload": [9.4, null, ...], "Ping (ms) ICMP": [25.1, ...]},
     "raw_values": {"Ping (ms) ICMP": [{"t": 1767225610.2, "seq": 1, "val": 25.1}, ...], ...},
     "metadata": {"NAME": "rrul", "TITLE": "...", "FLENT_VERSION": "2.1.1", "T0": "2026-01-01T...Z",
                  "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}, ...}}}

All series share the times of `x_values`, in seconds. The format is that of Flent's resultset.py,
versions 1 to 4; before version 4, units are known from the names only. `dumps` writes version 4.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from wanlab.errors import WanlabError
from wanlab.record import Table
from wanlab.version import VERSION

GZIP = b"\x1f\x8b"
MAX_BYTES = 1 << 28
FORMAT = 4
RATE_UNIT, TIME_UNIT, INDEX_UNIT = "Mbits/s", "ms", "Idx"
EPOCH = datetime(1970, 1, 1)


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


# -- writing ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FlentSeries:
    """One series of a test."""

    unit: str
    values: Sequence[float | None]
    """A value for each of the test's times; None if there was none."""
    runner: str
    """What measured it, such as "ping" or "sum"."""
    samples: Sequence[Mapping[str, float]] = ()
    """The measurements themselves: "t" in s since the test began, "val", and others such as "seq"."""
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class FlentTest:
    """A test that is to be written. Flent draws its series by the plots that it has for its name."""

    name: str
    title: str
    local_host: str
    hosts: Sequence[str]
    began_ns: int
    """When it began, in ns since 1970."""
    length_s: int
    """How long the load lasted."""
    total_length_s: int
    step_s: float
    times_s: Sequence[float]
    series: Mapping[str, FlentSeries]
    parameters: Mapping[str, str]


def dumps(test: FlentTest) -> bytes:
    """Return the data file of a test, compressed by gzip; the same test gives the same bytes."""
    began = EPOCH + timedelta(microseconds=test.began_ns // 1000)
    text = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata: dict[str, Any] = {
        "NAME": test.name,
        "TITLE": test.title,
        "NOTE": "measured by wanlab",
        "FLENT_VERSION": f"wanlab {VERSION}",
        "DATA_FILENAME": None,
        "LOCAL_HOST": test.local_host,
        "HOST": test.hosts[0],
        "HOSTS": test.hosts,
        "TIME": text,
        "T0": text,
        "LENGTH": test.length_s,
        "TOTAL_LENGTH": test.total_length_s,
        "STEP_SIZE": test.step_s,
        "TEST_PARAMETERS": test.parameters,
        "FAILED_RUNNERS": 0,
        "SERIES_META": {name: _meta_of(series) for name, series in test.series.items()},
    }
    began_s = test.began_ns / 1e9
    data = {
        "version": FORMAT,
        "x_values": test.times_s,
        "results": {name: series.values for name, series in test.series.items()},
        "raw_values": {
            name: [{**sample, "t": began_s + sample["t"]} for sample in series.samples]
            for name, series in test.series.items()
        },
        "metadata": metadata,
    }
    return gzip.compress(msgspec.json.encode(data), mtime=0)


def _meta_of(series: FlentSeries) -> dict[str, object]:
    mean = {} if series.mean is None else {"MEAN_VALUE": series.mean}
    return {"RUNNER": series.runner, "UNITS": series.unit, **mean}
