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
from wanlab.topology.settings import SETTINGS, TIME, Setting, ValueKind, parse_text
from wanlab.units import format_size, parse_size

QueueWords: TypeAlias = str | Mapping[str, Any] | Queue

SYNONYMS = {
    **dict.fromkeys(("bandwidth", "bw", "speed", "capacity", "throughput"), "rate"),
    **dict.fromkeys(("latency", "rtt"), "delay"),
    **dict.fromkeys(("packet_loss", "loss_rate", "plr"), "loss"),
    **dict.fromkeys(("buffer", "qdisc", "aqm", "max_queue_size"), "queue"),
}
"""Words of other programs for our words, which an error suggests."""
QUEUE_WORDS: Mapping[str, str] = {
    "kind": "the queueing discipline",
    "limit": "its limit as a size, such as 64KB",
    "packets": "its limit in packets",
    "options": "more options as tc takes them: [target 5ms, ecn]",
}
"""The words of a queue that is a mapping."""


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
    reorder_gap: int
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
    """Make a link between two nodes (or ports), with conditions for both directions or for one.

    `a_to_b` and `b_to_a` are mappings of the same words for one direction. Raises TopologyError with
    every word that is wrong.
    """
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
            if word not in WORDS:
                hint = did_you_mean(SYNONYMS.get(word, word), WORDS)
                raise WanlabError(f'"{word}" is not a condition of a link', hint)
            field = WORDS[word].field
            default = getattr(Conditions(), field)
            values[field] = default if value is None else WORDS[word].kind.parse(value)
        except WanlabError as error:
            report(word, error)
    return replace(base, **values) if values else base


def words_of(conditions: Conditions) -> dict[str, object]:
    """Return the words for every field that differs from its default."""
    return {
        word: setting.kind.write(getattr(conditions, setting.field))
        for word, setting in WORDS.items()
        if getattr(conditions, setting.field) != getattr(Conditions(), setting.field)
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
        if word not in QUEUE_WORDS:
            hint = did_you_mean(str(word), QUEUE_WORDS)
            raise WanlabError(f'a queue has no "{word}"', hint)
    limit, packets = words.get("limit"), words.get("packets")
    if packets is not None and (isinstance(packets, bool) or not isinstance(packets, int)):
        raise WanlabError(f"{packets!r} is not a number of packets", 'as in "packets: 100"')
    return Queue(
        parse_text(words.get("kind", "fifo")),
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


def _flag(value: object) -> bool:
    if value not in (True, False, "true", "false"):
        raise WanlabError(f"{value!r} is neither true nor false")
    return value in (True, "true")


WORDS: Mapping[str, Setting] = {
    **SETTINGS,
    "queue": Setting(
        "queue",
        ValueKind("a kind, or a mapping (see Queues)", read_queue, _queue_words),
        "the queue of a link with a rate; without it, fifo of 1000 packets",
        "fq_codel",
    ),
    "trace": Setting(
        "trace",
        ValueKind("a file, or times in ms", read_trace, trace_words),
        "when packets may leave (Mahimahi's format), instead of a rate",
        "1 1 2 5 9",
    ),
    "trace_once": Setting(
        "trace_once",
        ValueKind("true or false", _flag, bool),
        "whether the link stops at the end of the trace, which otherwise repeats",
        True,
        needs="trace",
    ),
    "schedule": Setting(
        "schedule",
        ValueKind("a file, or a list (see Schedules)", read_schedule, schedule_words),
        "changes of rate, delay, jitter and loss over time",
        [{"at": "15s", "delay": "45ms"}],
    ),
    "schedule_repeat": Setting(
        "schedule_repeat_ns",
        TIME,
        "the schedule repeats after this time, from the first conditions",
        "30s",
    ),
}

CONDITION_WORDS = tuple(WORDS)
WORD_OF_FIELD = {setting.field: word for word, setting in WORDS.items()}
LINK_WORDS_HELP = "\n".join(
    [
        "Words for links, as keyword arguments (rate in bit/s, times in ns, or texts with units):",
        "",
        *(f"    {word:20} {setting.meaning}" for word, setting in WORDS.items()),
    ]
)
"""A paragraph for the docstrings of functions that take the words."""
link.__doc__ = f"{link.__doc__}\n    {LINK_WORDS_HELP}"
