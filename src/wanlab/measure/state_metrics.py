"""Metrics of a network's state, from the output of `tc -j qdisc show` and `sysctl`.

netem.loss_percent    tbf.rate_mbps    kind(fq_codel).exists    sysctl.value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from wanlab.errors import InputError, WanlabError
from wanlab.json_text import decode_json

from .metric_values import Extractor, Metric, MetricReader, StepOutput, beginning

Options = Mapping[str, object]

_NETEM: Mapping[str, Callable[[Options], float]] = {
    "loss_percent": lambda o: 100 * _inner(o, "loss-random", "loss"),
    "duplicate_percent": lambda o: 100 * _inner(o, "duplicate", "duplicate"),
    "corrupt_percent": lambda o: 100 * _inner(o, "corrupt", "corrupt"),
    "reorder_percent": lambda o: 100 * _inner(o, "reorder", "reorder"),
    "delay_ms": lambda o: 1000 * _inner(o, "delay", "delay"),
    "jitter_ms": lambda o: 1000 * _inner(o, "delay", "jitter"),
    "limit_packets": lambda o: _number(o.get("limit", 0)),
}
_TBF: Mapping[str, Callable[[Options], float]] = {
    "rate_mbps": lambda o: _number(o["rate"]) * 8 / 1e6,
    "burst_bytes": lambda o: _number(o["burst"]),
    "limit_bytes": lambda o: _tbf_limit_bytes(o),
}


_UNITS = {
    "_percent": "%",
    "_ms": "ms",
    "_mbps": "Mbit/s",
    "_bytes": "B",
    "_packets": "packets",
}
"""The units of options, by the end of their names."""


def _qdisc_reader(kind: str, options: Mapping[str, Callable[[Options], float]]) -> MetricReader:
    def build(argument: str | None, path: str) -> Extractor:
        unit = next((unit for end, unit in _UNITS.items() if path.endswith(end)), "")
        return lambda step: Metric(options[path](_options(step.output, kind)), unit)

    return MetricReader(build, tuple(options))


def _kind(kind: str | None, path: str) -> Extractor:
    def extract(step: StepOutput) -> Metric:
        return Metric(float(any(qdisc.get("kind") == kind for qdisc in _qdiscs(step.output))))

    return extract


def _sysctl(argument: str | None, path: str) -> Extractor:
    """Read the last number of `name = 10240 87380 16777216`, which is the maximum of buffer sizes."""

    def extract(step: StepOutput) -> Metric:
        numbers = re.findall(r"-?\d+(?:\.\d+)?", step.output.rpartition("=")[2])
        if not numbers:
            raise WanlabError(f"there is no number in {beginning(step.output)}")
        return Metric(float(numbers[-1]))

    return extract


_QDISCS = msgspec.json.Decoder(list[dict[str, object]])


def _qdiscs(output: str) -> list[dict[str, object]]:
    try:
        return decode_json(output, _QDISCS)
    except InputError:
        raise WanlabError(f"this is not the output of tc -j: {beginning(output)}") from None


def _options(output: str, kind: str) -> Options:
    """Return the options of the first qdisc of a kind; a missing netem has none, so all are 0."""
    for qdisc in _qdiscs(output):
        if qdisc.get("kind") == kind:
            options = qdisc.get("options")
            return options if isinstance(options, dict) else {}
    if kind == "netem":
        return {}
    raise WanlabError(f"tc shows no {kind} qdisc")


def _inner(options: Options, part: str, word: str) -> float:
    inner = options.get(part)
    return _number(inner.get(word, 0)) if isinstance(inner, dict) else 0.0


def _number(value: object) -> float:
    if isinstance(value, str | int | float):
        return float(value)
    raise WanlabError(f"tc printed {value!r} where a number should be")


def _tbf_limit_bytes(options: Options) -> float:
    """Return the limit in bytes; tc prints it in bytes, or as the time to send it in us."""
    if "limit" in options:
        return _number(options["limit"])
    seconds = _number(options["lat"]) / 1e6
    return round(seconds * _number(options["rate"]) + _number(options["burst"]))


READERS: Mapping[str, MetricReader] = {
    "netem": _qdisc_reader("netem", _NETEM),
    "tbf": _qdisc_reader("tbf", _TBF),
    "kind": MetricReader(_kind, ("exists",), needs_argument=True),
    "sysctl": MetricReader(_sysctl, ("value",)),
}
