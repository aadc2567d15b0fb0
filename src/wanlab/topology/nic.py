"""The NIC behind a port of a host or a router: the work that it takes over from the computer.

    tso           the computer sends super-packets of up to 64 KB, and the NIC cuts them into packets
                  of the wire; off, the computer makes the packets itself
    gro           received packets are merged into super-packets before the computer handles them
    coalescing    the minimum time between two interrupts; packets that arrive in between are handed
                  over together (`ethtool -C`)
    queues        how many queues the NIC sends and receives with, for mq, mqprio, multiq and taprio
                  (`ethtool -l`); 1 by rule

In Python `Nic(tso=False)`; in a file, or as words in Python, `{tso: off, coalescing: 50us}`. A field
of None is decided by rule (`wanlab.plan.nic`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from wanlab.errors import WanlabError, did_you_mean
from wanlab.units import format_time, parse_time

MAX_COALESCING_NS = 1_000_000_000
COALESCING_STEP_NS = 1000
MOST_QUEUES = 64
WORDS = ("tso", "gro", "coalescing", "queues")
_SWITCH = {"on": True, "off": False, "true": True, "false": False}
_EXAMPLE = 'as in {"tso": "off", "coalescing": "50us"}'


@dataclass(frozen=True, kw_only=True)
class Nic:
    """The settings of a NIC; None is decided by rule."""

    tso: bool | None = None
    gro: bool | None = None
    coalescing_ns: int | None = None
    queues: int | None = None

    def over(self, rule: Nic) -> Nic:
        """Return this NIC, with the fields of `rule` where this one has None."""
        chosen = {name: value for name, value in vars(self).items() if value is not None}
        return replace(rule, **chosen)


BY_RULE = Nic()


def read_nic(words: object) -> Nic:
    """Return the NIC of words such as {"tso": "off", "coalescing": "50us"}, or raise WanlabError."""
    if isinstance(words, Nic):
        nic = words
    elif isinstance(words, Mapping):
        for word in words:
            if word not in WORDS:
                raise WanlabError(f'unknown NIC field "{word}"', did_you_mean(str(word), WORDS))
        coalescing = words.get("coalescing")
        nic = Nic(
            tso=_read_switch("tso", words.get("tso")),
            gro=_read_switch("gro", words.get("gro")),
            coalescing_ns=None if coalescing is None else parse_time(coalescing),
            queues=_read_queues(words.get("queues")),
        )
    else:
        raise WanlabError(f"{words!r} does not describe a NIC", _EXAMPLE)
    for problem in problems_of(nic):
        raise problem
    return nic


def nic_words(nic: Nic) -> dict[str, str]:
    """Return the words for the fields that are not decided by rule."""
    words = {"tso": _switch_word(nic.tso), "gro": _switch_word(nic.gro)}
    if nic.coalescing_ns is not None:
        words["coalescing"] = format_time(nic.coalescing_ns)
    if nic.queues is not None:
        words["queues"] = str(nic.queues)
    return {word: value for word, value in words.items() if value}


def problems_of(nic: Nic) -> Iterator[WanlabError]:
    """Yield an error for each setting that no NIC can have."""
    if nic.queues is not None and not 1 <= nic.queues <= MOST_QUEUES:
        yield WanlabError(f"a NIC cannot have {nic.queues} queues", f"1 to {MOST_QUEUES}")
    coalescing_ns = nic.coalescing_ns
    if coalescing_ns is None:
        return
    if not 0 <= coalescing_ns <= MAX_COALESCING_NS:
        shown = f"{coalescing_ns} ns" if coalescing_ns < 0 else format_time(coalescing_ns)
        yield WanlabError(
            f"the time between interrupts cannot be {shown}", "0 (no coalescing) to 1s"
        )
    elif coalescing_ns % COALESCING_STEP_NS:
        yield WanlabError(
            f"the time between interrupts is a whole number of us, not {coalescing_ns} ns",
            'as in coalescing: "50us"',
        )


def _read_switch(word: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _SWITCH:
        return _SWITCH[value]
    raise WanlabError(f"{word} must be on or off, not {value!r}")


def _read_queues(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    raise WanlabError(f"queues must be a whole number, not {value!r}")


def _switch_word(is_on: bool | None) -> str:
    return "" if is_on is None else "on" if is_on else "off"
