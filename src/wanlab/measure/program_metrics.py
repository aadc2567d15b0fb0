"""Metrics of the output of programs: ping, iperf3, JSON, and numbers in any text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite

from wanlab.errors import InputError, WanlabError
from wanlab.json_text import PLAIN, decode_json

from . import ping
from .fairness import jain
from .iperf3_summary import Iperf3Summary, Side, summarize
from .metric_values import (
    Extractor,
    Metric,
    MetricReader,
    StepOutput,
    beginning,
    known,
    largest,
    mean,
)

MEBI, GIBI = 1 << 20, 1 << 30
_PRINTED_INDEX = re.compile(r"^\s*(?:.*[ :=])?([01]?\.\d+)\s*$", re.MULTILINE)
"""A fairness index at the end of a line, as bc prints it: .98765, or 1.00000."""

# -- ping -----------------------------------------------------------------------------------------

_PING: Mapping[str, tuple[Callable[[ping.Ping], float | None], str]] = {
    "sent": (lambda p: p.sent, ""),
    "received": (lambda p: p.received, ""),
    "loss_percent": (lambda p: p.loss_fraction * 100, "%"),
    "loss_fraction": (lambda p: p.loss_fraction, ""),
    "duplicates": (lambda p: p.duplicates, ""),
    "min_ms": (lambda p: p.min_ms, "ms"),
    "mean_ms": (lambda p: p.mean_ms, "ms"),
    "max_ms": (lambda p: p.max_ms, "ms"),
    "mdev_ms": (lambda p: p.deviation_ms, "ms"),
}


def _ping(file: str | None, path: str) -> Extractor:
    read, unit = _PING[path]

    def extract(step: StepOutput) -> Metric:
        value = read(ping.parse(last_ping(step.text_of(file))))
        return Metric(known(value, f"ping.{path}"), unit)

    return extract


def last_ping(output: str) -> str:
    """Return the output of the last ping in a terminal's text."""
    start = output.rfind("PING ")
    if start < 0:
        raise WanlabError("there is no output of ping", f"there is: {beginning(output)}")
    lines = []
    for line in output[start:].splitlines():
        lines.append(line)
        if line.startswith("rtt ") or (lines[:-1] and "packets transmitted" in lines[-2]):
            break
    # After the two lines of statistics there may be something else that was typed.
    if lines and not lines[-1].startswith(("rtt ", "pipe ")) and "packet" not in lines[-1]:
        lines = lines[:-1] if any("packets transmitted" in line for line in lines[:-1]) else lines
    return "\n".join(lines) + "\n"


# -- iperf3 ---------------------------------------------------------------------------------------

_OF_SIDE: Mapping[str, tuple[Callable[[Side], float | None], str]] = {
    "mbps": (lambda side: side.bits_per_second / 1e6, "Mbit/s"),
    "gbps": (lambda side: side.bits_per_second / 1e9, "Gbit/s"),
    "bytes": (lambda side: side.bytes, "B"),
    "mbytes": (lambda side: side.bytes / MEBI, "MiB"),
    "gbytes": (lambda side: side.bytes / GIBI, "GiB"),
    "seconds": (lambda side: side.seconds, "s"),
    "retransmits": (lambda side: side.retransmits, ""),
    "packets": (lambda side: side.packets, "packets"),
    "lost_packets": (lambda side: side.lost_packets, "packets"),
    "jitter_ms": (lambda side: side.jitter_ms, "ms"),
}
_OF_TEST: Mapping[str, tuple[Callable[[Iperf3Summary], float | None], str]] = {
    "interval_max_mbps": (lambda t: largest(t.interval_rates_bps, "the rate") / 1e6, "Mbit/s"),
    "cwnd_max_mbytes": (lambda t: largest(t.windows_bytes, "the window") / MEBI, "MiB"),
    "rtt_mean_ms": (lambda t: mean(t.round_trip_times_ms, "the RTT"), "ms"),
    "rtt_max_ms": (lambda t: largest(t.round_trip_times_ms, "the RTT"), "ms"),
    "streams": (lambda t: t.streams, ""),
    "jain": (lambda t: jain(list((t.bytes_by_stream or {}).values())), ""),
    "jitter_ms": (lambda t: t.jitter_ms, "ms"),
    "lost_percent": (lambda t: t.lost_percent, "%"),
}
_OF_ALL_FLOWS = {"sum_sender_mbps": "sender", "sum_receiver_mbps": "receiver"}
_IPERF3_PATHS = (
    *(f"{role}.{word}" for role in ("receiver", "sender") for word in _OF_SIDE),
    *_OF_TEST,
    *_OF_ALL_FLOWS,
)


def _iperf3(file: str | None, path: str) -> Extractor:
    def tests(step: StepOutput) -> list[Iperf3Summary]:
        texts = step.all_outputs if file is None else [step.text_of(file)]
        return [summarize(text) for text in texts]

    def extract(step: StepOutput) -> Metric:
        if path in _OF_ALL_FLOWS:
            role = _OF_ALL_FLOWS[path]
            return Metric(sum(t.side(role).bits_per_second for t in tests(step)) / 1e6, "Mbit/s")
        test = tests(step)[0]
        role, _, word = path.partition(".")
        if word:
            of_side, unit = _OF_SIDE[word]
            value = of_side(test.side(role))
        else:
            of_test, unit = _OF_TEST[path]
            value = of_test(test)
        return Metric(known(value, f"iperf3.{path}"), unit)

    return extract


# -- fairness -------------------------------------------------------------------------------------


def _jain(argument: str | None, path: str) -> Extractor:
    """Read the index that a script printed; for several flows, compute it from their throughputs."""

    def extract(step: StepOutput) -> Metric:
        if len(step.outputs) > 1:
            rates = [summarize(text).side("receiver").bits_per_second for text in step.outputs]
            return Metric(jain(rates))
        printed: list[str] = _PRINTED_INDEX.findall(step.output)
        if not printed:
            hint = f"there is: {beginning(step.output)}"
            raise WanlabError("no fairness index was printed", hint)
        return Metric(float(printed[-1]))

    return extract


# -- any program ----------------------------------------------------------------------------------


_NOT_A_NUMBER = (InputError, ArithmeticError, ValueError, LookupError, TypeError, AssertionError)


def _json(file: str | None, path: str) -> Extractor:
    keys = path.split(".")

    def extract(step: StepOutput) -> Metric:
        try:
            value = decode_json(step.text_of(file), PLAIN)
            for key in keys:
                value = _item(value, key)
            assert isinstance(value, str | int | float)
            number = float(value)
            assert isfinite(number)
            return Metric(number)
        except _NOT_A_NUMBER as error:
            raise WanlabError(f"there is no number {path} in the JSON: {error!r}") from None

    return extract


def _item(value: object, key: str) -> object:
    if isinstance(value, list):
        return value[int(key)]
    if isinstance(value, dict):
        return value[key]
    raise TypeError(f"{key} is not in a mapping or list")


def _number(pattern: str | None, occurrence: int) -> Extractor:
    assert pattern is not None, "the reader needs an argument"
    try:
        regex = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise WanlabError(f"{pattern!r} is not a regular expression: {error}") from None
    if regex.groups != 1:
        hint = "put parentheses around the number: rate ([0-9.]+)Mbit"
        raise WanlabError(f"{pattern!r} must have one group, not {regex.groups}", hint)

    def extract(step: StepOutput) -> Metric:
        matches: list[str] = regex.findall(step.output)
        if not matches:
            hint = f"there is: {beginning(step.output)}"
            raise WanlabError(f"nothing in the output matches {pattern!r}", hint)
        try:
            return Metric(float(matches[occurrence].replace(",", "")))
        except ValueError:
            raise WanlabError(f"{matches[occurrence]!r} is not a number") from None

    return extract


def _seconds(argument: str | None, path: str) -> Extractor:
    def extract(step: StepOutput) -> Metric:
        if step.seconds is None:
            raise WanlabError("the program has not ended", "give the experiment more time")
        return Metric(step.seconds, "s")

    return extract


def _file(name: str | None, path: str) -> Extractor:
    def extract(step: StepOutput) -> Metric:
        try:
            step.text_of(name)
        except WanlabError:
            return Metric(0.0)
        return Metric(1.0)

    return extract


READERS: Mapping[str, MetricReader] = {
    "ping": MetricReader(_ping, tuple(_PING), takes_argument=True),
    "iperf3": MetricReader(_iperf3, _IPERF3_PATHS, takes_argument=True),
    "json": MetricReader(_json, None, takes_argument=True),
    "first_number": MetricReader(lambda pattern, _: _number(pattern, 0), needs_argument=True),
    "last_number": MetricReader(lambda pattern, _: _number(pattern, -1), needs_argument=True),
    "file": MetricReader(_file, ("exists",), needs_argument=True),
    "jain": MetricReader(_jain),
    "seconds": MetricReader(_seconds),
}
