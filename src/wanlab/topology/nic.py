"""The card behind a port of a host or a router: what it does for the computer that it is in.

    tso           the computer sends super-packets of up to 64 KB, and the card cuts them into packets
                  of the wire; off, the computer makes the packets itself
    gro           what was received is joined to super-packets again before the computer looks at it
    moderation    the least time between two interrupts; what arrives meanwhile is handed up together

In Python `Nic(tso=False)`; in a file, and for those who prefer words, `{tso: off, moderation: 50us}`.
What is None is by rule (`wanlab.plan.nic`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wanlab.errors import WanlabError, did_you_mean
from wanlab.units import format_time, parse_time

LONGEST_MODERATION_NS = 1_000_000_000
GRAIN_NS = 1000
WORDS = ("tso", "gro", "moderation")
_SWITCHED = {"on": True, "off": False, "true": True, "false": False}


@dataclass(frozen=True, kw_only=True)
class Nic:
    """What a card does; None is by rule."""

    tso: bool | None = None
    gro: bool | None = None
    moderation_ns: int | None = None

    def over(self, rule: Nic) -> Nic:
        """This, and where it says nothing, `rule`."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        return replace(rule, **said)


BY_RULE = Nic()


def read_nic(words: object) -> Nic:
    """The card that is meant by {"tso": "off", "moderation": "50us"}."""
    if isinstance(words, Nic):
        nic = words
    elif isinstance(words, Mapping):
        for word in words:
            if word not in WORDS:
                raise WanlabError(
                    f'"{word}" is not known of a card', did_you_mean(str(word), WORDS)
                )
        moderation = words.get("moderation")
        nic = Nic(
            tso=_switched("tso", words.get("tso")),
            gro=_switched("gro", words.get("gro")),
            moderation_ns=None if moderation is None else parse_time(moderation),
        )
    else:
        raise WanlabError(f"{words!r} is not a card", 'as in {"tso": "off", "moderation": "50us"}')
    for problem in problems_of(nic):
        raise problem
    return nic


def nic_words(nic: Nic) -> dict[str, str]:
    """The words for what is not by rule."""
    words = {"tso": _word(nic.tso), "gro": _word(nic.gro)}
    if nic.moderation_ns is not None:
        words["moderation"] = format_time(nic.moderation_ns)
    return {word: value for word, value in words.items() if value}


def problems_of(nic: Nic) -> Iterator[WanlabError]:
    """What no card can do."""
    moderation_ns = nic.moderation_ns
    if moderation_ns is None:
        return
    if not 0 <= moderation_ns <= LONGEST_MODERATION_NS:
        shown = f"{moderation_ns} ns" if moderation_ns < 0 else format_time(moderation_ns)
        yield WanlabError(f"{shown} is no time between interrupts", "0 (none) to 1s")
    elif moderation_ns % GRAIN_NS:
        yield WanlabError(
            f"a card counts the time between interrupts in whole us, {moderation_ns} ns is not",
            'as in moderation "50us"',
        )


def _switched(word: str, value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _SWITCHED:
        return _SWITCHED[value]
    raise WanlabError(f"{word} is on or off, not {value!r}")


def _word(switched: bool | None) -> str:
    return "" if switched is None else "on" if switched else "off"
