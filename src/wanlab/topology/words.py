"""The words for the conditions of a link: rate="10Mbps", delay="20ms", queue="fq_codel".

The same words serve in Python (`link`, the shapes), in YAML files and on the command line.
`read_conditions` turns them into `Conditions`, `words_of` turns those back.

    link("h1", "s1", rate="10Mbps", delay="20ms")            in both directions
    link("h1", "s1", delay="20ms", a_to_b={"loss": "1%"})     and loss only from h1 to s1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypedDict, Unpack

from wanlab.errors import Problem, TopologyError, WanlabError, did_you_mean
from wanlab.topology.link_trace import TraceWords, read_trace, trace_words
from wanlab.topology.model import Conditions, Link, Port, Queue
from wanlab.topology.schedule import ScheduleWords, read_schedule, schedule_words
from wanlab.units import (
    format_fraction,
    format_rate,
    format_size,
    format_time,
    parse_fraction,
    parse_rate,
    parse_size,
    parse_time,
)

QueueWords: TypeAlias = str | Mapping[str, Any] | Queue


class ConditionWords(TypedDict, total=False):
    """The words as keyword arguments in Python."""

    rate: str | float
    delay: str | float
    jitter: str | float
    delay_correlation: str | float
    distribution: str
    loss: str | float
    loss_correlation: str | float
    duplicate: str | float
    corrupt: str | float
    reorder: str | float
    reorder_correlation: str | float
    queue: QueueWords
    trace: TraceWords
    trace_once: bool
    schedule: ScheduleWords
    schedule_repeat: str | float


def link(
    a: str | Port,
    b: str | Port,
    *,
    a_to_b: ConditionWords | None = None,
    b_to_a: ConditionWords | None = None,
    **both: Unpack[ConditionWords],
) -> Link:
    """Make a link between two nodes (or ports), with conditions for both directions or for one."""
    port_a = Port(a) if isinstance(a, str) else a
    port_b = Port(b) if isinstance(b, str) else b
    problems: list[Problem] = []

    def report(word: str, error: WanlabError) -> None:
        place = f"link {port_a.node}-{port_b.node}: {word}"
        problems.append(Problem(place, error.what, error.hint))

    shared = dict(both)
    read_conditions(shared, Conditions(), report)  # once, so that a problem is reported once

    def conditions(port: Port, one_way: ConditionWords | None) -> Conditions:
        base = read_conditions(shared, port.conditions, lambda word, error: None)
        return read_conditions(dict(one_way or {}), base, report)

    made = Link(
        replace(port_a, conditions=conditions(port_a, a_to_b)),
        replace(port_b, conditions=conditions(port_b, b_to_a)),
    )
    if problems:
        raise TopologyError(problems)
    return made


def read_conditions(
    words: Mapping[str, object], base: Conditions, report: Callable[[str, WanlabError], None]
) -> Conditions:
    """Return `base` changed by these words; a value of None restores the default.

    Each word that is wrong goes to `report`.
    """
    values: dict[str, Any] = {}
    for word, value in words.items():
        try:
            if word not in _WORDS:
                raise WanlabError(
                    f'"{word}" is not a condition of a link', did_you_mean(word, _WORDS)
                )
            field, parse, _ = _WORDS[word]
            values[field] = getattr(Conditions(), field) if value is None else parse(value)
        except WanlabError as error:
            report(word, error)
    return replace(base, **values)


def words_of(conditions: Conditions) -> dict[str, object]:
    """Return the words for every field that differs from its default."""
    return {
        word: write(getattr(conditions, field))
        for word, (field, _, write) in _WORDS.items()
        if getattr(conditions, field) != getattr(Conditions(), field)
    }


def read_queue(words: QueueWords) -> Queue:
    """Return the queue of "fq_codel", or of
    {"kind": "fifo", "limit": "64KiB", "packets": 100, "options": [...]}.
    """
    if isinstance(words, Queue):
        return words
    if isinstance(words, str):
        return Queue(words)
    if not isinstance(words, Mapping):
        raise WanlabError(f"{words!r} is not a queue", 'write its kind, as in "fq_codel"')
    for word in words:
        if word not in ("kind", "limit", "packets", "options"):
            hint = did_you_mean(str(word), ("kind", "limit", "packets", "options"))
            raise WanlabError(f'a queue has no "{word}"', hint)
    limit, packets = words.get("limit"), words.get("packets")
    if packets is not None and (isinstance(packets, bool) or not isinstance(packets, int)):
        raise WanlabError(f"{packets!r} is not a number of packets", 'as in "packets: 100"')
    return Queue(
        _text(words.get("kind", "fifo")),
        limit_bytes=None if limit is None else parse_size(limit),
        limit_packets=packets,
        options=_options(words.get("options", {})),
    )


def _options(options: object) -> tuple[tuple[str, str], ...]:
    """Read {"target": "5ms", "ecn": None}, or ["target 5ms", "ecn"], as `tc` takes them."""
    if isinstance(options, Mapping):
        pairs = options.items()
        return tuple((str(word), "" if value is None else str(value)) for word, value in pairs)
    if not isinstance(options, (list, tuple)) or not all(
        isinstance(option, str) for option in options
    ):
        raise WanlabError(
            f"{options!r} is not a list of queue options", 'as in ["target 5ms", "ecn"]'
        )
    return tuple((word, value) for word, _, value in (option.partition(" ") for option in options))


def _queue_words(queue: Queue | None) -> object:
    assert queue is not None, "a queue of None is the default, which is not written"
    if queue == Queue(queue.kind):
        return queue.kind
    words: dict[str, object] = {"kind": queue.kind}
    if queue.limit_bytes is not None:
        words["limit"] = format_size(queue.limit_bytes)
    if queue.limit_packets is not None:
        words["packets"] = queue.limit_packets
    if queue.options:
        words["options"] = [f"{word} {value}".rstrip() for word, value in queue.options]
    return words


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise WanlabError(f"{value!r} is not a string")
    return value


def _flag(value: object) -> bool:
    if value not in (True, False, "true", "false"):
        raise WanlabError(f"{value!r} is neither true nor false")
    return value in (True, "true")


_TIME = (parse_time, format_time)
_FRACTION = (parse_fraction, format_fraction)

_WORDS: Mapping[str, tuple[str, Callable[[Any], object], Callable[[Any], object]]] = {
    "rate": ("rate_bps", parse_rate, format_rate),
    "delay": ("delay_ns", *_TIME),
    "jitter": ("jitter_ns", *_TIME),
    "delay_correlation": ("delay_correlation_fraction", *_FRACTION),
    "distribution": ("distribution", _text, _text),
    "loss": ("loss_fraction", *_FRACTION),
    "loss_correlation": ("loss_correlation_fraction", *_FRACTION),
    "duplicate": ("duplicate_fraction", *_FRACTION),
    "corrupt": ("corrupt_fraction", *_FRACTION),
    "reorder": ("reorder_fraction", *_FRACTION),
    "reorder_correlation": ("reorder_correlation_fraction", *_FRACTION),
    "queue": ("queue", read_queue, _queue_words),
    "trace": ("trace", read_trace, trace_words),
    "trace_once": ("trace_once", _flag, bool),
    "schedule": ("schedule", read_schedule, schedule_words),
    "schedule_repeat": ("schedule_repeat_ns", *_TIME),
}

CONDITION_WORDS = tuple(_WORDS)
WORD_OF_FIELD = {field: word for word, (field, _, _) in _WORDS.items()}
