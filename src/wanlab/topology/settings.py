"""The settings of a link: a row for each one whose value is a number or a word, and for each queue.

The tables are read wherever a setting occurs: its word is read and written (`words`, `schedule`),
checked (`check`), completed, listed in the reference, and shown in messages and in the page's forms
(`web/typescript`). So a new setting is a row here, a field of `Conditions`, a word in `ConditionWords`,
and its words for `tc` (`plan/shaping`); a new queue is a row here (`tc_queues` has its words).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from wanlab.errors import WanlabError
from wanlab.units import (
    format_fraction,
    format_rate,
    format_time,
    parse_fraction,
    parse_rate,
    parse_time,
    whole_number,
)

DISTRIBUTIONS = ("normal", "pareto", "paretonormal", "experimental")


def parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise WanlabError(f"{value!r} is not a string")
    return value


def parse_count(value: object) -> int:
    """Return the number of 5 or "5"; WanlabError if it is no whole number from 0 on."""
    number = whole_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise WanlabError(f"{value!r} is not a number of packets", 'as in "5"')
    return number


@dataclass(frozen=True)
class ValueKind:
    """A kind of value: its name in the reference, and how it is read and written."""

    name: str
    parse: Callable[[Any], object]
    write: Callable[[Any], object]


RATE = ValueKind("rate", parse_rate, format_rate)
TIME = ValueKind("time", parse_time, format_time)
FRACTION = ValueKind("fraction", parse_fraction, format_fraction)
COUNT = ValueKind("count", parse_count, int)
DISTRIBUTION = ValueKind(
    f"{', '.join(DISTRIBUTIONS[:-1])} or {DISTRIBUTIONS[-1]}", parse_text, parse_text
)


@dataclass(frozen=True)
class Setting:
    """A setting: its field of `Conditions`, its kind of value, and what the reference says about it."""

    field: str
    kind: ValueKind
    meaning: str
    example: object
    _: KW_ONLY
    needs: str = ""
    """The setting without which it has no effect."""
    noun: str = ""
    """Its name in messages, if that is not its word."""
    label: str = ""
    """Its label in the page's form; without one, the form has no field for it."""
    varies: bool = False
    """Whether a schedule can change it; the form shows these settings first."""


SETTINGS: Mapping[str, Setting] = {
    "rate": Setting(
        "rate_bps",
        RATE,
        "the rate of the link (tbf)",
        "10Mbps",
        label="Rate",
        varies=True,
    ),
    "delay": Setting(
        "delay_ns",
        TIME,
        "delay in one direction (netem)",
        "20ms",
        label="Delay",
        varies=True,
    ),
    "jitter": Setting(
        "jitter_ns",
        TIME,
        "the delay varies by up to this much",
        "2ms",
        needs="delay",
        label="Jitter",
        varies=True,
    ),
    "delay_correlation": Setting(
        "delay_correlation_fraction",
        FRACTION,
        "how much a delay depends on the one before",
        "25%",
        needs="jitter",
        label="Delay correlation",
    ),
    "distribution": Setting(
        "distribution",
        DISTRIBUTION,
        "distribution of the jitter; without it, uniform",
        "normal",
        needs="jitter",
        noun="jitter distribution",
    ),
    "loss": Setting(
        "loss_fraction",
        FRACTION,
        "share of the packets that are lost",
        "0.1%",
        label="Loss",
        varies=True,
    ),
    "loss_correlation": Setting(
        "loss_correlation_fraction",
        FRACTION,
        "how much a loss depends on the one before",
        "25%",
        needs="loss",
        label="Loss correlation",
    ),
    "duplicate": Setting(
        "duplicate_fraction",
        FRACTION,
        "share of the packets that arrive twice",
        "1%",
        noun="duplication",
        label="Duplicated",
    ),
    "corrupt": Setting(
        "corrupt_fraction",
        FRACTION,
        "share of the packets with one wrong bit",
        "0.01%",
        noun="corruption",
        label="Corrupted",
    ),
    # netem reorders by letting some packets skip the delay.
    "reorder": Setting(
        "reorder_fraction",
        FRACTION,
        "share of the packets that overtake the delayed ones",
        "5%",
        needs="delay",
        noun="reordering",
        label="Reordered",
    ),
    "reorder_correlation": Setting(
        "reorder_correlation_fraction",
        FRACTION,
        "how much this depends on the packet before",
        "50%",
        needs="reorder",
        noun="reordering correlation",
        label="Reordering correlation",
    ),
    "reorder_gap": Setting(
        "reorder_gap",
        COUNT,
        "only one packet in so many can overtake (netem's gap)",
        5,
        needs="reorder",
        noun="reordering gap",
        label="Reordering gap",
    ),
}


@dataclass(frozen=True)
class QueueKind:
    """A queueing discipline: its label in the page's form, and what a topology must know about it."""

    label: str
    _: KW_ONLY
    counts_bytes: bool = False
    """Whether a limit in bytes is not converted to packets."""
    is_classful: bool = False
    """Without classes, which a topology cannot describe, it holds nothing or drops everything."""
    since: tuple[int, int] | None = None
    """The version of Linux that introduced it, if the default kernel lacks it."""


QUEUES: Mapping[str, QueueKind] = {
    "fifo": QueueKind("fifo (drop-tail)", counts_bytes=True),
    "red": QueueKind("RED", counts_bytes=True),
    "codel": QueueKind("CoDel"),
    "fq_codel": QueueKind("FQ_CoDel"),
    "fq": QueueKind("fq"),
    "pie": QueueKind("PIE"),
    "fq_pie": QueueKind("FQ_PIE"),
    "cake": QueueKind("CAKE"),
    "sfq": QueueKind("SFQ"),
    "sfb": QueueKind("SFB"),
    "choke": QueueKind("CHOKe"),
    "dualpi2": QueueKind("DualPI2", since=(6, 17)),
    "drr": QueueKind("DRR", is_classful=True),
    "prio": QueueKind("prio", is_classful=True),
    "hfsc": QueueKind("HFSC", is_classful=True),
    "htb": QueueKind("HTB", is_classful=True),
    "tbf": QueueKind("tbf", is_classful=True),
}
QUEUE_KINDS = tuple(QUEUES)
