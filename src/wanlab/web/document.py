"""The document and its history: edits of all browsers, one after the other.

A document does not change; an edit makes the next one, and undo goes back to the one before. So what
is kept of an edit is two documents, which share all that the edit left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from wanlab import Port, Topology
from wanlab.errors import WanlabError
from wanlab.topology import Link, draw, read_drawing, resolve

from .commands import EditCommand
from .model import Document, DocumentPreferences, DrawnLabel, DrawnLink, DrawnNode, Elements, End
from .protocol import DocumentChanges, DrawingProblem, LivePort, Location

MAX_UNDO_STEPS = 500
MAX_ELEMENTS = 5000
ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

Element = TypeVar("Element", DrawnNode, DrawnLink, DrawnLabel)


@dataclass(frozen=True)
class UndoStep:
    """An edit that can be taken back."""

    before: Document
    after: Document
    label: str


class History:
    """A document, how it became what it is, and what was taken back."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.saved: Document | None = document
        """As it is in its file."""
        self._done: list[UndoStep] = []
        self._undone: list[UndoStep] = []

    @property
    def is_saved(self) -> bool:
        return self.document == self.saved

    @property
    def undo_label(self) -> str | None:
        return self._done[-1].label if self._done else None

    @property
    def redo_label(self) -> str | None:
        return self._undone[-1].label if self._undone else None

    def edit(self, edit: EditCommand) -> DocumentChanges:
        """Carries out an edit; what has changed."""
        before = self.document
        self.document = edited(before, edit)
        changes = changes_between(before, self.document)
        if changes != DocumentChanges():
            self._done.append(UndoStep(before, self.document, edit.label or "Edit"))
            del self._done[:-MAX_UNDO_STEPS]
            self._undone.clear()
        return changes

    def undo(self) -> tuple[DocumentChanges, str]:
        """Takes the last edit back."""
        if not self._done:
            raise WanlabError("there is nothing to undo")
        step = self._done.pop()
        self._undone.append(step)
        return self._become(step.before), step.label

    def redo(self) -> tuple[DocumentChanges, str]:
        """Makes the last edit that was taken back again."""
        if not self._undone:
            raise WanlabError("there is nothing to do again")
        step = self._undone.pop()
        self._done.append(step)
        return self._become(step.after), step.label

    def _become(self, document: Document) -> DocumentChanges:
        changes = changes_between(self.document, document)
        self.document = document
        return changes


def edited(document: Document, edit: EditCommand) -> Document:
    """The document after an edit. WanlabError where the edit makes no sense."""
    put, drop = edit.put, set(edit.drop)
    for thing in _elements(put):
        if not ID.fullmatch(thing.id):
            raise WanlabError(f'"{thing.id}" cannot be an id', "letters, digits, and _ . : - serve")
        if thing.id in drop:
            raise WanlabError(f"{thing.id} is to be put and dropped in one edit")
    nodes = _merged(document.nodes, put.nodes, drop)
    known = {node.id: node for node in nodes}
    for link in put.links:
        _check_ends(link, known)
    links = _merged(document.links, put.links, drop)
    links = tuple(link for link in links if link.a in known and link.b in known)
    labels = _merged(document.labels, put.labels, drop)
    made = Document(nodes, links, labels, document.preferences)
    ids = [thing.id for thing in _elements(made)]
    if len(ids) > MAX_ELEMENTS:
        raise WanlabError(f"that would be {len(ids)} things", f"{MAX_ELEMENTS} have room")
    if len(set(ids)) < len(ids):
        raise WanlabError("two things would have one id")
    if edit.preferences is None:
        return made
    return Document(nodes, links, labels, _with(document.preferences, edit.preferences))


def _merged(
    things: tuple[Element, ...], put: tuple[Element, ...], drop: set[str]
) -> tuple[Element, ...]:
    """Each in its old place, new ones behind."""
    merged = {thing.id: thing for thing in things if thing.id not in drop}
    return tuple((merged | {thing.id: thing for thing in put}).values())


def _check_ends(link: DrawnLink, known: dict[str, DrawnNode]) -> None:
    for end in (link.a, link.b):
        if end not in known:
            raise WanlabError(
                f"link {link.id} leads to {end}, which is not there", "was it deleted meanwhile?"
            )


def _with(preferences: DocumentPreferences, said: dict[str, Any]) -> DocumentPreferences:
    unknown = said.keys() - set(DocumentPreferences.__struct_fields__)
    if unknown:
        raise WanlabError(f'there is no preference "{min(unknown)}"')
    try:
        return msgspec.convert(msgspec.to_builtins(preferences) | said, DocumentPreferences)
    except msgspec.ValidationError as error:
        raise WanlabError(f"these preferences are not understood: {error}") from None


def changes_between(before: Document, after: Document) -> DocumentChanges:
    """What leads from one document to another."""
    old = {thing.id for thing in _elements(before)}
    new = {thing.id for thing in _elements(after)}
    return DocumentChanges(
        Elements(
            _changed(before.nodes, after.nodes),
            _changed(before.links, after.links),
            _changed(before.labels, after.labels),
        ),
        tuple(sorted(old - new)),
        after.preferences if after.preferences != before.preferences else None,
    )


def _elements(document: Document | Elements) -> Iterable[DrawnNode | DrawnLink | DrawnLabel]:
    yield from document.nodes
    yield from document.links
    yield from document.labels


def _changed(before: tuple[Element, ...], after: tuple[Element, ...]) -> tuple[Element, ...]:
    old = {thing.id: thing for thing in before}
    return tuple(
        thing for thing in after if (known := old.get(thing.id)) is not thing and known != thing
    )


# -- documents and topologies -----------------------------------------------------------------------


def document_of(topology: Topology) -> Document:
    """A topology, drawn."""
    return msgspec.convert(draw(topology), Document)


def read(document: Document) -> tuple[Topology, tuple[DrawingProblem, ...]]:
    """The topology of a document, as far as it can be understood, and what is wrong."""
    topology, faults = read_drawing(msgspec.to_builtins(document))
    problems = tuple(
        DrawingProblem(fault.what, fault.hint, Location(fault.id, fault.field)) for fault in faults
    )
    return topology, problems


def network_links(document: Document) -> list[DrawnLink]:
    """Those that are links of the network, too, in its order: those to controllers are not."""
    controllers = {node.id for node in document.nodes if node.kind == "controller"}
    return [link for link in document.links if not {link.a, link.b} & controllers]


def ports_of(document: Document, topology: Topology) -> tuple[LivePort, ...]:
    """The ports that a sound document means, named and addressed by rule."""
    meant = resolve(topology).links
    return tuple(
        LivePort(
            link=link.id,
            end=end,
            node=node,
            name=port.name or "",
            mac=port.mac or "",
            addresses=(port.ip,) if port.ip else (),
        )
        for link, live in zip(network_links(document), meant, strict=True)
        for end, node, port in _ends(link, live)
    )


def _ends(link: DrawnLink, live: Link) -> tuple[tuple[End, str, Port], ...]:
    return ("a", link.a, live.a), ("b", link.b, live.b)
