"""Durations in lab.yaml: "4s", "250ms", "2min"."""

from __future__ import annotations

import re

from wanlab.errors import WanlabError

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}

DEFAULT_FLOW_S = 10.0  # iperf3 without -t
TYPICAL_SCRIPT_S = 60.0  # the flows in a file that the prompt reads
OPTION = r"\s-{}\s*([\d.]+)"


def parse_duration(text: str) -> int:
    """Return the duration in ns. Raises WanlabError if the text is not a duration."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if not match or (match[2] or "s") not in UNITS_NS:
        raise WanlabError(f"{text!r} is not a duration", 'as in "4s" or "250ms"')
    return round(float(match[1]) * UNITS_NS[match[2] or "s"])


def seconds_in(line: str) -> float:
    """Estimate the network time of a command, in seconds, from its options (-t, -O, -c, -i)."""
    if "iperf3" in line and " -c " in line:
        return _option(line, "t", DEFAULT_FLOW_S) + _option(line, "O", 0.0)
    if line.startswith("source "):
        return TYPICAL_SCRIPT_S
    if line.startswith("ping "):
        return _option(line, "c", 0.0) * _option(line, "i", 1.0)
    return 0.0


def _option(line: str, letter: str, default: float) -> float:
    match = re.search(OPTION.format(letter), line)
    return float(match[1]) if match else default
