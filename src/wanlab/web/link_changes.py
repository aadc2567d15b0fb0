"""How a link is changed by a word: in both directions, or in one, in the options that a document has."""

from __future__ import annotations

from typing import Any

from .model import DrawnLink, End

OF_PORTS = ("name", "ip", "mac", "number", "speed", "mtu", "vlan", "trunks", "nic")


def changed_link(link: DrawnLink, said: dict[str, Any], end: End | None) -> DrawnLink:
    """What is said holds from now on, in both directions or for what leaves at one end. None takes a
    word away."""
    both, a, b = dict(link.options), dict(link.a_options), dict(link.b_options)
    ends = {"a": a, "b": b}
    for word, value in said.items():
        if end is None:
            for options in (both, a, b):
                options.pop(word, None)
            if value is not None:
                both[word] = value
            continue
        own, other = ends[end], ends["b" if end == "a" else "a"]
        if word in both:
            other.setdefault(word, both.pop(word))
        own.pop(word, None)
        if value is not None:
            own[word] = value
        if word in own and own[word] == other.get(word):
            both[word] = own.pop(word)
            del other[word]
    return DrawnLink(link.id, link.a, link.b, both, a, b)


def words_of_ends(link: DrawnLink) -> dict[End, dict[str, Any]]:
    """By end, what holds for packets that leave there."""
    both = {word: value for word, value in link.options.items() if word != "extra"}
    return {
        "a": {**both, **_conditions(link.a_options)},
        "b": {**both, **_conditions(link.b_options)},
    }


def _conditions(options: dict[str, Any]) -> dict[str, Any]:
    return {word: value for word, value in options.items() if word not in OF_PORTS}
