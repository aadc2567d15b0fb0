"""Canvas steps: the steps of a lesson that are done in the editor, as lab.yaml words them.

    new, open FILE, save FILE, run, stop
    draw {hosts: [h1], switches: [s1], links: [[h1, s1]]}
    properties {h1: {ip: "10.0.0.1/8"}}
    preferences {ip_base: "15.0.0.0/8", start_cli: true}
    terminal h1 | [h1, h2]
    look ...                                     nothing to perform

`labs.canvas` knows what draw, properties and preferences do to a topology, here and in `wanlab lab
run`. This module turns the change of the topology into an edit of the document, and describes steps
for the page.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

import msgspec

from wanlab.labs.canvas import change_topology
from wanlab.labs.unit import Step

from ..drawing.document import document_of, read
from ..drawing.option_names import option_name
from ..protocol.commands import EditCommand
from ..protocol.model import Document, DrawnLink, DrawnNode, Elements, Options

LABELS = {"draw": "Draw", "properties": "Set properties", "preferences": "Set preferences"}


def can_perform(step: Step) -> bool:
    """Return whether a step does anything on the canvas; one that only looks does not."""
    return any(word != "look" for word in step.do)


def can_be_done(step: Step) -> bool:
    """Return whether a step can be marked as done: not if it only looks, or is left out."""
    has_keys = bool(step.lines or step.enter or step.stops or step.ends)
    return not step.skip and (has_keys or can_perform(step))


def counts(step: Step) -> bool:
    """Return whether a step counts for the progress in its unit."""
    return can_be_done(step) and not step.is_optional


def describe(step: Step) -> str:
    """Return a step as a user would perform it: "File > Open: a.mn; Run"."""
    return "; ".join(_sentence(word, argument) for word, argument in step.do.items())


def terminal_names(argument: object) -> list[str]:
    """Return the names in the argument of `terminal`: a list, or separated by commas."""
    names = argument if isinstance(argument, list) else str(argument).split(",")
    return [str(name).strip() for name in names]


# -- edits ------------------------------------------------------------------------------------------


def edit_for(document: Document, word: str, argument: object) -> EditCommand:
    """Return the edit that performs draw, properties or preferences.

    Only what these change is in the edit; elements keep their ids, positions and other options.
    """
    topology, _ = read(document)
    before = document_of(topology)
    after = document_of(change_topology(topology, word, argument))
    nodes = list(_changed_nodes(document, before, after))
    ids = {node.name: node.id for node in (*document.nodes, *nodes)}
    links = list(_new_links(before, after, ids))
    names = ", ".join(node.name for node in nodes)
    return EditCommand(
        put=Elements(nodes=tuple(nodes), links=tuple(links)),
        preferences=_changed_preferences(document, before, after) or None,
        label=f"{LABELS[word]} {'of ' if word == 'properties' else ''}{names}".strip(),
    )


def _changed_nodes(document: Document, before: Document, after: Document) -> Iterable[DrawnNode]:
    drawn = {node.name: node for node in document.nodes}
    old = {node.name: node for node in before.nodes}
    for node in after.nodes:
        if node.name not in drawn:
            yield msgspec.structs.replace(node, id=f"n{secrets.token_hex(8)}")
        elif node.options != old[node.name].options:
            options = _patched(drawn[node.name].options, old[node.name].options, node.options)
            yield msgspec.structs.replace(drawn[node.name], options=options)


def _new_links(before: Document, after: Document, ids: Mapping[str, str]) -> Iterable[DrawnLink]:
    names = {node.id: node.name for node in after.nodes}
    old_names = {node.id: node.name for node in before.nodes}
    known = {frozenset((old_names[link.a], old_names[link.b])) for link in before.links}
    for link in after.links:
        a, b = names[link.a], names[link.b]
        if frozenset((a, b)) not in known:
            link_id = f"l{secrets.token_hex(8)}"
            yield msgspec.structs.replace(link, id=link_id, a=ids[a], b=ids[b])


def _changed_preferences(document: Document, before: Document, after: Document) -> Options:
    changed: Options = {}
    old, new = before.preferences, after.preferences
    if new.ip_base != old.ip_base:
        changed["ip_base"] = new.ip_base
    if new.application != old.application:
        changed["application"] = _patched(
            document.preferences.application, old.application, new.application
        )
    return changed


def _patched(options: Options, before: Options, after: Options) -> Options:
    """Return `options` with the change that leads from `before` to `after`."""
    removed = before.keys() - after.keys()
    patched = {name: value for name, value in options.items() if name not in removed}
    patched |= {name: value for name, value in after.items() if before.get(name) != value}
    return patched


# -- descriptions -----------------------------------------------------------------------------------


def _sentence(word: str, argument: object) -> str:
    fields = argument if isinstance(argument, Mapping) else {}
    match word:
        case "new":
            return "File > New"
        case "open":
            return f"File > Open: {argument}"
        case "save":
            return f"File > Save as: {argument}"
        case "draw":
            names = ", ".join([*fields.get("hosts", ()), *fields.get("switches", ())])
            pairs = ", ".join("\N{EN DASH}".join(pair) for pair in fields.get("links", ()))
            return f"Draw {names}" + (f"; link {pairs}" if pairs else "")
        case "properties":
            return "; ".join(
                f"Properties of {name}: {_pairs(values)}" for name, values in fields.items()
            )
        case "preferences":
            return f"Edit > Preferences: {_pairs(fields)}"
        case "run" | "stop":
            return word.capitalize()
        case "terminal":
            return _open_sentence(terminal_names(argument))
        case "look":
            return "Look at the result" if argument is True else f"Look: {argument}"
        case _:
            return f"{word} {argument}"


def _open_sentence(names: list[str]) -> str:
    if names == ["mininet"]:
        return "Open Mininet's prompt"
    words = ["the client" if name == "client" else name for name in names]
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"Open {'terminals' if len(words) > 1 else 'a terminal'} of {listed}"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{option_name(name)} {_value_text(value)}" for name, value in values.items())


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "empty" if value == "" else str(value)
