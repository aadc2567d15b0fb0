"""The document that is drawn in the browser: nodes, links, labels, frames and preferences.

Documents are immutable: an edit makes the next one. Ids are texts that an element keeps for as long
as the document lives; names may change.
"""

from __future__ import annotations

from typing import Literal

import msgspec

End = Literal["a", "b"]
NodeKind = Literal["host", "switch", "router", "controller"]
ClockKind = Literal["virtual", "real"]
Wire = Literal["mtu", "gso"]
Pace = Literal["real", "fast"]
FrameColour = Literal["", "blue", "green", "yellow", "red", "purple"]

Options = dict[str, object]
"""Options by their name in the YAML format, with JSON values."""


class DrawnNode(msgspec.Struct, frozen=True):
    """A node. Its options are those of the YAML format: ip, default_route, kind (of a switch), ..."""

    id: str
    kind: NodeKind
    name: str
    x: float = 0.0
    y: float = 0.0
    options: Options = {}


class DrawnLink(msgspec.Struct, frozen=True):
    """A link between the nodes `a` and `b`. A link to a controller has no options.

    options     for both directions: rate, delay, jitter, loss, queue, ... (as in the YAML format)
    a_options   for the port at a: name, ip, mac, number, speed, mtu, vlan, trunks, nic; and conditions
                that hold only for packets that leave through it: rate, delay, ...
    b_options   the same at b
    """

    id: str
    a: str
    b: str
    options: Options = {}
    a_options: Options = {}
    b_options: Options = {}


class DrawnLabel(msgspec.Struct, frozen=True):
    """A text on the canvas."""

    id: str
    text: str
    x: float = 0.0
    y: float = 0.0


class DrawnFrame(msgspec.Struct, frozen=True):
    """A rectangle behind the nodes, with a text; `x` and `y` are its upper left corner."""

    id: str
    text: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 200.0
    height: float = 120.0
    colour: FrameColour = ""


class DocumentPreferences(msgspec.Struct, frozen=True):
    """Settings of the whole network.

    `application` holds MiniEdit's own settings: dpctl, netflow, openFlowVersions, sflow, startCLI,
    switchType, terminalType.
    """

    name: str = ""
    ip_base: str = "10.0.0.0/8"
    clock: ClockKind = "virtual"
    wire: Wire = "mtu"
    seed: int = 1
    pace: Pace = "real"
    application: Options = {}
    extra: Options = {}
    """Fields of the file that wanlab does not know; they are kept when it is saved."""


class Document(msgspec.Struct, frozen=True):
    """What the editor edits."""

    nodes: tuple[DrawnNode, ...] = ()
    links: tuple[DrawnLink, ...] = ()
    labels: tuple[DrawnLabel, ...] = ()
    frames: tuple[DrawnFrame, ...] = ()
    preferences: DocumentPreferences = DocumentPreferences()


class Elements(msgspec.Struct, frozen=True):
    """Elements to add to a document, or to replace those with the same ids."""

    nodes: tuple[DrawnNode, ...] = ()
    links: tuple[DrawnLink, ...] = ()
    labels: tuple[DrawnLabel, ...] = ()
    frames: tuple[DrawnFrame, ...] = ()
