"""The document and its history: the edits of all browsers, one after the other.

Documents are immutable: an edit makes the next one, and undo returns to the one before. So a step of
undo keeps two documents, which share everything that the edit did not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from wanlab import Port, Topology
from wanlab.errors import WanlabError
from wanlab.topology import Link, draw, read_drawing, resolve

from ..protocol.commands import EditCommand
from ..protocol.messages import DocumentChanges, DrawingProblem, LivePort, Location
from ..protocol.model import (
    Document,
    DocumentPreferences,
    DrawnFrame,
    DrawnLabel,
    DrawnLink,
    DrawnNode,
    Elements,
    End,
    Options,
)

MAX_UNDO_STEPS = 500
MAX_ELEMENTS = 5000
ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

Element = TypeVar("Element", DrawnNode, DrawnLink, DrawnLabel, DrawnFrame)


@dataclass(frozen=True)
class UndoStep:
    """An edit that can be undone."""

    before: Document
    after: Document
    label: str


class History:
    """A document with the edits that can be undone and redone."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.saved: Document | None = document
        """The document as it is in its file."""
        self._done: list[UndoStep] = []
        self._undone: list[UndoStep] = []

    @property
    def is_saved(self) -> bool:
        """Whether the file has the current document."""
        return self.document == self.saved

    @property
    def undo_label(self) -> str | None:
        """The name of the edit that undo would undo."""
        return self._done[-1].label if self._done else None

    @property
    def redo_label(self) -> str | None:
        """The name of the edit that redo would redo."""
        return self._undone[-1].label if self._undone else None

    def edit(self, edit: EditCommand) -> DocumentChanges:
        """Perform an edit; return the changes."""
        before = self.document
        self.document = edited(before, edit)
        changes = changes_between(before, self.document)
        if changes != DocumentChanges():
            self._done.append(UndoStep(before, self.document, edit.label or "Edit"))
            del self._done[:-MAX_UNDO_STEPS]
            self._undone.clear()
        return changes

    def undo(self) -> tuple[DocumentChanges, str]:
        """Undo the last edit; return the changes and the edit's name."""
        if not self._done:
            raise WanlabError("there is nothing to undo")
        step = self._done.pop()
        self._undone.append(step)
        return self._switch_to(step.before), step.label

    def redo(self) -> tuple[DocumentChanges, str]:
        """Redo the last undone edit; return the changes and the edit's name."""
        if not self._undone:
            raise WanlabError("there is nothing to redo")
        step = self._undone.pop()
        self._done.append(step)
        return self._switch_to(step.after), step.label

    def _switch_to(self, document: Document) -> DocumentChanges:
        changes = changes_between(self.document, document)
        self.document = document
        return changes


def edited(document: Document, edit: EditCommand) -> Document:
    """Return the document after an edit. WanlabError if the edit makes no sense."""
    put, drop = edit.put, set(edit.drop)
    for element in _elements(put):
        if not ID.fullmatch(element.id):
            raise WanlabError(f'"{element.id}" cannot be an id', "use letters, digits, and _ . : -")
        if element.id in drop:
            raise WanlabError(f"an edit cannot both put and drop {element.id}")
    nodes = _merged(document.nodes, put.nodes, drop)
    known = {node.id: node for node in nodes}
    for link in put.links:
        _check_ends(link, known)
    links = _merged(document.links, put.links, drop)
    links = tuple(link for link in links if link.a in known and link.b in known)
    labels = _merged(document.labels, put.labels, drop)
    frames = _merged(document.frames, put.frames, drop)
    merged = Document(nodes, links, labels, frames, document.preferences)
    ids = [element.id for element in _elements(merged)]
    if len(ids) > MAX_ELEMENTS:
        raise WanlabError(
            f"the drawing would have {len(ids)} elements", f"it can have at most {MAX_ELEMENTS}"
        )
    if len(set(ids)) < len(ids):
        raise WanlabError("two elements would have the same id")
    if edit.preferences is None:
        return merged
    preferences = _with(document.preferences, edit.preferences)
    return msgspec.structs.replace(merged, preferences=preferences)


def _merged(
    elements: tuple[Element, ...], put: tuple[Element, ...], drop: set[str]
) -> tuple[Element, ...]:
    """Return the elements after an edit: in their old order, new ones at the end."""
    merged = {element.id: element for element in elements if element.id not in drop}
    return tuple((merged | {element.id: element for element in put}).values())


def _check_ends(link: DrawnLink, known: dict[str, DrawnNode]) -> None:
    for end in (link.a, link.b):
        if end not in known:
            raise WanlabError(
                "a node at one end of this link does not exist",
                "was it deleted in another tab?",
            )


def _with(preferences: DocumentPreferences, values: Options) -> DocumentPreferences:
    unknown = values.keys() - set(DocumentPreferences.__struct_fields__)
    if unknown:
        raise WanlabError(f'unknown preference "{min(unknown)}"')
    try:
        return msgspec.convert(msgspec.to_builtins(preferences) | values, DocumentPreferences)
    except msgspec.ValidationError as error:
        raise WanlabError(f"invalid preferences: {error}") from None


def changes_between(before: Document, after: Document) -> DocumentChanges:
    """Return the changes that lead from one document to another."""
    old = {element.id for element in _elements(before)}
    new = {element.id for element in _elements(after)}
    return DocumentChanges(
        Elements(
            _changed(before.nodes, after.nodes),
            _changed(before.links, after.links),
            _changed(before.labels, after.labels),
            _changed(before.frames, after.frames),
        ),
        tuple(sorted(old - new)),
        after.preferences if after.preferences != before.preferences else None,
    )


def _elements(
    document: Document | Elements,
) -> Iterable[DrawnNode | DrawnLink | DrawnLabel | DrawnFrame]:
    yield from document.nodes
    yield from document.links
    yield from document.labels
    yield from document.frames


def _changed(before: tuple[Element, ...], after: tuple[Element, ...]) -> tuple[Element, ...]:
    old = {element.id: element for element in before}
    return tuple(
        element
        for element in after
        if (known := old.get(element.id)) is not element and known != element
    )


# -- documents and topologies -----------------------------------------------------------------------


def document_of(topology: Topology) -> Document:
    """Return the document that draws a topology."""
    try:
        return msgspec.convert(draw(topology), Document)
    except msgspec.ValidationError as error:
        raise WanlabError(f"this topology cannot be shown on the canvas: {error}") from None


def read(document: Document) -> tuple[Topology, tuple[DrawingProblem, ...]]:
    """Return the topology of a document, as far as it makes sense, and its problems."""
    topology, faults = read_drawing(msgspec.to_builtins(document))
    problems = tuple(
        DrawingProblem(fault.what, fault.hint, Location(fault.id, fault.field)) for fault in faults
    )
    return topology, problems


def network_links(document: Document) -> list[DrawnLink]:
    """Return the links of the network, in its order: all but those to controllers."""
    controllers = {node.id for node in document.nodes if node.kind == "controller"}
    return [link for link in document.links if not {link.a, link.b} & controllers]


def ports_of(document: Document, topology: Topology) -> tuple[LivePort, ...]:
    """Return the ports of a document without problems, with the names and addresses they will get."""
    resolved = resolve(topology).links
    return tuple(
        LivePort(
            link=link.id,
            end=end,
            node=node,
            name=port.name or "",
            mac=port.mac or "",
            addresses=(port.ip,) if port.ip else (),
        )
        for link, live in zip(network_links(document), resolved, strict=True)
        for end, node, port in _ends(link, live)
    )


def _ends(link: DrawnLink, live: Link) -> tuple[tuple[End, str, Port], ...]:
    return ("a", link.a, live.a), ("b", link.b, live.b)
