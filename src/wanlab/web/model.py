"""The document as the protocol has it: what is drawn."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

End = Literal["a", "b"]
NodeKind = Literal["host", "switch", "router", "controller"]
ClockKind = Literal["virtual", "real"]
Wire = Literal["mtu", "gso"]
Pace = Literal["real", "fast"]


class DrawnNode(msgspec.Struct, frozen=True):
    """Options are those of the YAML format: ip, default_route, kind (of a switch), ..."""

    id: str
    kind: NodeKind
    name: str
    x: float = 0.0
    y: float = 0.0
    options: dict[str, Any] = {}


class DrawnLink(msgspec.Struct, frozen=True):
    """A link to a controller is what a switch obeys, and has no options.

    options     of both directions: rate, delay, jitter, loss, queue, ... (words of the YAML format)
    a_options   of the port at a: name, ip, mac, number, speed, mtu, vlan, trunks, nic; and what holds
                for packets that leave through it only: rate, delay, ...
    b_options   the same at b
    """

    id: str
    a: str
    b: str
    options: dict[str, Any] = {}
    a_options: dict[str, Any] = {}
    b_options: dict[str, Any] = {}


class DrawnLabel(msgspec.Struct, frozen=True):
    """A text on the canvas."""

    id: str
    text: str
    x: float = 0.0
    y: float = 0.0


class DocumentPreferences(msgspec.Struct, frozen=True):
    """Of the whole network. `application` has MiniEdit's own words: dpctl, netflow, openFlowVersions,
    sflow, startCLI, switchType, terminalType."""

    name: str = ""
    ip_base: str = "10.0.0.0/8"
    clock: ClockKind = "virtual"
    wire: Wire = "mtu"
    seed: int = 1
    pace: Pace = "real"
    application: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    """What a file said and nobody here understands."""


class Document(msgspec.Struct, frozen=True):
    """What the editor edits."""

    nodes: tuple[DrawnNode, ...] = ()
    links: tuple[DrawnLink, ...] = ()
    labels: tuple[DrawnLabel, ...] = ()
    preferences: DocumentPreferences = DocumentPreferences()


class Elements(msgspec.Struct, frozen=True):
    """Things as they are from now on; those of ids that are new are added."""

    nodes: tuple[DrawnNode, ...] = ()
    links: tuple[DrawnLink, ...] = ()
    labels: tuple[DrawnLabel, ...] = ()
