"""Durations in lab.yaml: "4s", "250ms", "2min"."""

from __future__ import annotations

import re

from wanlab.errors import WanlabError

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}


def parse_duration(text: str) -> int:
    """Return the duration in ns; raise WanlabError if the text is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if not match or (match[2] or "s") not in UNITS_NS:
        raise WanlabError(f"{text!r} is not a duration", 'as in "4s" or "250ms"')
    return round(float(match[1]) * UNITS_NS[match[2] or "s"])
