"""The words on a figure: its title, and the labels of its axes.

A sentence such as "lines goodput over buffer by algorithm" becomes the title "Goodput over buffer size
by algorithm" and the label "Goodput (Mbit/s)". An experiment can name its metrics and parameters in its
own words (`labels={"share_of_bbr": "BBR's share of the goodput"}`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wanlab.record.record import UNITS

from .sentence import Chart

KNOWN = {
    "buffer": "buffer size",
    "cwnd": "congestion window",
    "fct": "flow completion time",
    "srtt": "smoothed RTT",
}
"""Words for names that are commonly abbreviated."""
SPELLINGS = {
    word.lower(): word
    for word in (
        "AQM",
        "BBR",
        "BDP",
        "CAKE",
        "CoDel",
        "CUBIC",
        "DCTCP",
        "ECN",
        "FQ",
        "HTTP",
        "IP",
        "MSS",
        "MTU",
        "PIE",
        "RED",
        "Reno",
        "RTO",
        "RTT",
        "TCP",
        "UDP",
        "Vegas",
    )
}
KINDS_OF_UNIT = {
    **dict.fromkeys(("bit/s", "kbit/s", "Mbit/s", "Gbit/s"), "rate"),
    **dict.fromkeys(("ns", "us", "ms", "s"), "time"),
    **dict.fromkeys(("B", "KB", "MB", "GB", "KiB", "MiB", "GiB"), "size"),
    **dict.fromkeys(("%", "1"), "share"),
    "packets": "packets",
}
"""The word for several metrics with the same unit, on their common axis."""


def words(name: str, labels: Mapping[str, str]) -> str:
    """Return the words for a metric, parameter or column, without the unit at the end of its name."""
    if name in labels:
        return labels[name]
    if name in KNOWN:
        return KNOWN[name]
    parts = name.replace("_", " ").replace(".", ": ").split(" ")
    if len(parts) > 1 and parts[-1] in UNITS:
        parts.pop()
    return " ".join(map(spelled, parts))


def spelled(word: str) -> str:
    """Return the word as the field spells it: "BDP", "CoDel"."""
    return SPELLINGS.get(word.lower(), word)


def axis_label(quantity: str, unit: str, labels: Mapping[str, str]) -> str:
    """Return the label of an axis with values: "Goodput (Mbit/s)", for several metrics "Rate (...)"."""
    text = KINDS_OF_UNIT.get(unit, "value") if "," in quantity else words(quantity, labels)
    # "1" is a fraction, which needs no unit.
    return f"{capitalised(text)} ({unit})" if unit not in ("", "1") else capitalised(text)


def title(chart: Chart, labels: Mapping[str, str]) -> str:
    """Return the title of a figure."""
    quantity = listed([words(name, labels) for name in chart.quantity.split(",")])
    text = f"distribution of {quantity}" if chart.kind == "cdf" else quantity
    if chart.over:
        text += f" over {listed([words(name, labels) for name in chart.over])}"
    if chart.by:
        text += f" by {listed([words(name, labels) for name in chart.by])}"
    return capitalised(text)


def listed(names: list[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def capitalised(text: str) -> str:
    """Return the text with a capital first letter; the others stay as they are."""
    return text[:1].upper() + text[1:]
