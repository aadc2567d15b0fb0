"""Change an option of a drawn link, in one direction or in both.

In a document, `options` hold for both directions, `a_options` and `b_options` for what leaves at one
end. An option that is equal at both ends is kept in `options`.
"""

from __future__ import annotations

from ..protocol.model import DrawnLink, End, Options

PORT_OPTIONS = ("name", "ip", "mac", "number", "speed", "mtu", "vlan", "trunks", "nic")


def changed_link(link: DrawnLink, values: Options, end: End | None) -> DrawnLink:
    """Return the link with these options, in both directions or for what leaves at `end`.

    None removes an option.
    """
    both, a, b = dict(link.options), dict(link.a_options), dict(link.b_options)
    ends = {"a": a, "b": b}
    for name, value in values.items():
        if end is None:
            for options in (both, a, b):
                options.pop(name, None)
            if value is not None:
                both[name] = value
            continue
        this, other = ends[end], ends["b" if end == "a" else "a"]
        if name in both:
            other.setdefault(name, both.pop(name))
        this.pop(name, None)
        if value is not None:
            this[name] = value
        if name in this and this[name] == other.get(name):
            both[name] = this.pop(name)
            del other[name]
    return DrawnLink(link.id, link.a, link.b, both, a, b)


def conditions_of_ends(link: DrawnLink) -> dict[End, Options]:
    """Return, by end, the conditions that hold for packets that leave there."""
    both = {name: value for name, value in link.options.items() if name != "extra"}
    return {
        "a": {**both, **_conditions(link.a_options)},
        "b": {**both, **_conditions(link.b_options)},
    }


def _conditions(options: Options) -> Options:
    return {name: value for name, value in options.items() if name not in PORT_OPTIONS}
