"""Changes of links and ports in the running network, in words and as events of the session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..drawing.option_names import option_name
from ..protocol.messages import LivePort
from ..protocol.model import Document, DrawnLink, Options
from ..timeline.session_events import SessionEvent

LINK_LOCAL = "fe80:"


def described_change(document: Document, before: DrawnLink | None, after: DrawnLink) -> str:
    """Describe a change of a link: "h1-s1: rate 10Mbps, delay 20ms"."""
    words = []
    was = before or DrawnLink(after.id, after.a, after.b)
    names = _names(document)
    for old, new, end in (
        (was.options, after.options, ""),
        (was.a_options, after.a_options, f" from {names.get(after.a, after.a)}"),
        (was.b_options, after.b_options, f" from {names.get(after.b, after.b)}"),
    ):
        words += [
            f"{_option(name, new.get(name))}{end}"
            for name in {**old, **new}
            if old.get(name) != new.get(name)
        ]
    return f"{link_name(document, after)}: {', '.join(words) or 'as before'}"


def described_plug(document: Document, id_: str, *, is_up: bool) -> str:
    """Describe that a link was set down, as if unplugged, or up again."""
    link = next((one for one in document.links if one.id == id_), None)
    name = link_name(document, link) if link is not None else id_
    return f"{name}: link {'up' if is_up else 'down'}"


def link_name(document: Document, link: DrawnLink) -> str:
    """Return the name of a link: "h1-s1"."""
    names = _names(document)
    return f"{names.get(link.a, link.a)}-{names.get(link.b, link.b)}"


def _names(document: Document) -> dict[str, str]:
    return {node.id: node.name for node in document.nodes}


def _option(name: str, value: object) -> str:
    if value is None:
        return f"no {option_name(name)}"
    if isinstance(value, dict):
        value = " ".join(str(one) for one in value.values())
    return f"{option_name(name)} {value}"


def port_changes(
    before: Sequence[LivePort], after: Sequence[LivePort], at_ns: int
) -> Iterator[SessionEvent]:
    """Yield an event for each port that has changed."""
    known = {(port.link, port.end): port for port in before}
    for port in after:
        old = known.get((port.link, port.end))
        if old is None or not (changes := list(_changes(old, port))):
            continue
        yield SessionEvent(
            at_ns=at_ns,
            kind="port",
            text=f"{port.name}: {', '.join(changes)}",
            where=port.name,
            link=port.link,
            port_before=old,
            port_after=port,
        )


def _changes(old: LivePort, new: LivePort) -> Iterator[str]:
    if old.is_up != new.is_up:
        yield "up" if new.is_up else "down"
    if old.tc != new.tc:
        yield "conditions as in the drawing again" if new.tc is None else f"tc {_options(new.tc)}"
    if (addresses := _global(new)) != _global(old):
        yield " ".join(addresses) or "no address"


def _options(options: Options) -> str:
    return (
        ", ".join(_option(name, value) for name, value in options.items()) or "without conditions"
    )


def _global(port: LivePort) -> tuple[str, ...]:
    """Return the addresses without link-local ones, which appear by themselves."""
    return tuple(address for address in port.addresses if not address.startswith(LINK_LOCAL))
