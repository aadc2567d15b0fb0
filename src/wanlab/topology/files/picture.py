"""The picture of a topology as shapes: its nodes at their positions, or arranged by rule, and the
conditions of each link. `svg` and `pdf` draw the shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wanlab.topology.addresses import resolve
from wanlab.topology.check import ensure
from wanlab.topology.drawing import CanvasFrame, frames_in, labels_in
from wanlab.topology.layout import arranged
from wanlab.topology.model import Controller, Host, Link, Node, Router, Switch, Topology
from wanlab.topology.words import words_of

MARGIN = 90
SIZE = {"host": (60, 36), "switch": (64, 30), "router": (50, 50), "controller": (70, 34)}
LINE = 14
FRAME_COLOURS = {
    "": "#6e7781",
    "blue": "#2f6fb3",
    "green": "#2c7a3f",
    "yellow": "#a86a00",
    "red": "#c4473d",
    "purple": "#7a4fb5",
}
FRAME_TEXT = (8, 18)
"""The offset of the text of a frame from its upper left corner."""


@dataclass(frozen=True)
class Style:
    """The look of elements of a kind. `stroke` "" means no line, `fill` "" means transparent."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dashes: tuple[float, ...] = ()
    size: float = 12.0
    """The size of a text in pixels."""
    is_bold: bool = False
    is_centred: bool = True
    opacity: float = 1.0
    """The opacity of the inside."""


STYLES = {
    "text": Style("#1c2430"),
    "small": Style("#6e7781", size=10),
    "label": Style("#6e7781", size=13),
    "frame": Style(width=1.5, dashes=(5, 4), opacity=0.12),
    "frame-text": Style("#6e7781", size=13, is_bold=True, is_centred=False),
    "line": Style(stroke="#2f6fb3", width=2),
    "control": Style(stroke="#c4473d", width=1.5, dashes=(6, 4)),
    "host": Style("#e3eefa", "#2f6fb3"),
    "switch": Style("#e6f4e8", "#2c7a3f"),
    "router": Style("#fdf1dc", "#a86a00"),
    "controller": Style("#fbe5e3", "#c4473d"),
}
"""Colours that are visible on light and on dark pages."""


@dataclass(frozen=True)
class Segment:
    """A line between two points."""

    kind: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Box:
    """A rectangle with rounded corners. `colour` is that of a frame."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    rounding: float
    colour: str = ""


@dataclass(frozen=True)
class Circle:
    """A circle around a point."""

    kind: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Text:
    """A line of text: the middle or the beginning of its base line."""

    kind: str
    x: float
    y: float
    text: str


Shape = Segment | Box | Circle | Text


@dataclass(frozen=True)
class Picture:
    """Shapes, and the part of the plane that the picture shows, in pixels (y grows downwards)."""

    left: float
    top: float
    width: float
    height: float
    shapes: tuple[Shape, ...]


def picture_of(topology: Topology) -> Picture:
    """Return the picture of a topology. TopologyError if it has errors."""
    drawn = arranged(resolve(ensure(topology)))
    labels = [
        (label["text"], float(label["x"]), float(label["y"])) for label in labels_in(topology.extra)
    ]
    frames = frames_in(topology.extra)
    points = [(node.x, node.y) for node in drawn.nodes] + [(x, y) for _, x, y in labels]
    for frame in frames:
        x, y = frame["x"], frame["y"]
        points += [(x, y), (x + frame["width"], y + frame["height"])]
    left = min((x for x, _ in points), default=0) - MARGIN
    top = min((y for _, y in points), default=0) - MARGIN
    width = max((x for x, _ in points), default=0) + MARGIN - left
    height = max((y for _, y in points), default=0) + MARGIN - top
    return Picture(left, top, width, height, tuple(_shapes(drawn, frames, labels)))


def _shapes(
    drawn: Topology, frames: list[CanvasFrame], labels: list[tuple[str, float, float]]
) -> Iterator[Shape]:
    nodes = {node.name: node for node in drawn.nodes}
    for frame in frames:
        yield from _frame(frame)
    for switch in drawn.switches:
        for name in switch.controllers:
            if isinstance(nodes.get(name), Controller):
                yield _line("control", switch, nodes[name])
    for link in drawn.links:
        yield from _link(link, nodes[link.a.node], nodes[link.b.node])
    for node in drawn.nodes:
        yield from _node(node)
    for text, x, y in labels:
        yield from _lines("label", x, y, text)


def _line(kind: str, a: Node, b: Node) -> Segment:
    return Segment(kind, a.x, a.y, b.x, b.y)


def _link(link: Link, a: Node, b: Node) -> Iterator[Shape]:
    yield _line("line", a, b)
    directions = [_describe(words_of(port.conditions)) for port in link.ports]
    x, y = (a.x + b.x) / 2, (a.y + b.y) / 2 - 6
    if directions[0] == directions[1]:
        lines = [line for line in directions[0].split(", ") if line]
        for number, line in enumerate(lines):
            yield Text("small", x, y - (len(lines) - 1 - number) * LINE, line)
        return
    for number, (port, conditions) in enumerate(zip(link.ports, directions, strict=True)):
        if conditions:
            yield Text("small", x, y + number * LINE, f"from {port.node}: {conditions}")


def _describe(words: dict[str, object]) -> str:
    parts = []
    for word, value in words.items():
        if isinstance(value, dict):
            value = " ".join(str(part) for part in value.values())
        parts.append(f"{word} {value}" if word not in ("rate", "delay") else str(value))
    return ", ".join(parts)


def _node(node: Node) -> Iterator[Shape]:
    width, height = SIZE[node.kind_of_node]
    kind = node.kind_of_node
    if isinstance(node, Router):
        yield Circle(kind, node.x, node.y, width / 2)
    else:
        rounding = 4 if isinstance(node, Switch) else 10
        yield Box(kind, node.x - width / 2, node.y - height / 2, width, height, rounding)
    yield Text("text", node.x, node.y + 4, node.name)
    if isinstance(node, Host) and node.ip:
        yield Text("small", node.x, node.y + height / 2 + LINE, node.ip)


def _frame(frame: CanvasFrame) -> Iterator[Shape]:
    x, y, colour = frame["x"], frame["y"], FRAME_COLOURS[frame["colour"]]
    yield Box("frame", x, y, frame["width"], frame["height"], 8, colour)
    right, down = FRAME_TEXT
    yield from _lines("frame-text", x + right, y + down, frame["text"])


def _lines(kind: str, x: float, y: float, text: str) -> Iterator[Text]:
    for number, line in enumerate(text.splitlines()):
        yield Text(kind, x, y + number * LINE * 1.2, line)
