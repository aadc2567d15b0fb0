"""Export a topology as a picture (SVG), with the conditions of each link. Nodes are drawn at their
positions, or arranged by rule. The format cannot be read back.

The picture suits light and dark pages: what is drawn directly on the page has colours that are visible
on both. The style rules apply to this picture only, even inside another page.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from wanlab.errors import TopologyError
from wanlab.topology.addresses import resolve
from wanlab.topology.check import ensure
from wanlab.topology.drawing import CanvasFrame, frames_in, labels_in
from wanlab.topology.layout import arranged
from wanlab.topology.model import Controller, Host, Link, Node, Router, Switch, Topology
from wanlab.topology.words import words_of

MARGIN = 90
SIZE = {"host": (60, 36), "switch": (64, 30), "router": (50, 50), "controller": (70, 34)}
LINE = 14
NAME = "wanlab-topology"
STYLE = "".join(
    f".{NAME} {rule}\n"
    for rule in (
        "text { font: 12px sans-serif; text-anchor: middle; fill: #1c2430; }",
        ".small { font-size: 10px; fill: #6e7781; }",
        ".label { font-size: 13px; fill: #6e7781; }",
        ".frame { stroke-width: 1.5; stroke-dasharray: 5 4; fill-opacity: 0.12; }",
        ".frame-text { font-size: 13px; font-weight: 600; text-anchor: start; fill: #6e7781; }",
        "line { stroke: #2f6fb3; stroke-width: 2; }",
        ".control { stroke: #c4473d; stroke-dasharray: 6 4; stroke-width: 1.5; }",
        ".host { fill: #e3eefa; stroke: #2f6fb3; }",
        ".switch { fill: #e6f4e8; stroke: #2c7a3f; }",
        ".router { fill: #fdf1dc; stroke: #a86a00; }",
        ".controller { fill: #fbe5e3; stroke: #c4473d; }",
    )
)

FRAME_COLOURS = {
    "": "#6e7781",
    "blue": "#2f6fb3",
    "green": "#2c7a3f",
    "yellow": "#a86a00",
    "red": "#c4473d",
    "purple": "#7a4fb5",
}
FRAME_TEXT = (8, 18)
"""Where the text of a frame begins, from its upper left corner."""


def dump(topology: Topology) -> str:
    """Return the text of the picture."""
    drawn = arranged(resolve(ensure(topology)))
    nodes = {node.name: node for node in drawn.nodes}
    labels = [
        (label["text"], float(label["x"]), float(label["y"])) for label in labels_in(topology.extra)
    ]
    points = [(node.x, node.y) for node in drawn.nodes] + [(x, y) for _, x, y in labels]
    frames = frames_in(topology.extra)
    for frame in frames:
        x, y = frame["x"], frame["y"]
        points += [(x, y), (x + frame["width"], y + frame["height"])]
    left = min((x for x, _ in points), default=0) - MARGIN
    top = min((y for _, y in points), default=0) - MARGIN
    width = max((x for x, _ in points), default=0) + MARGIN - left
    height = max((y for _, y in points), default=0) + MARGIN - top
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{NAME}" '
        f'viewBox="{left:g} {top:g} {width:g} {height:g}" width="{width:g}" height="{height:g}">',
        f"<style>\n{STYLE}</style>",
    ]
    for frame in frames:
        parts += _frame(frame)
    for switch in drawn.switches:
        for name in switch.controllers:
            if isinstance(nodes.get(name), Controller):
                parts.append(_line(switch, nodes[name], "control"))
    for link in drawn.links:
        parts += _link(link, nodes[link.a.node], nodes[link.b.node])
    for node in drawn.nodes:
        parts += _node(node)
    for text, x, y in labels:
        parts += _lines(x, y, text, "label")
    return "\n".join([*parts, "</svg>", ""])


def _line(a: Node, b: Node, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<line{attribute} x1="{a.x:g}" y1="{a.y:g}" x2="{b.x:g}" y2="{b.y:g}"/>'


def _link(link: Link, a: Node, b: Node) -> Iterator[str]:
    yield _line(a, b)
    directions = [_describe(words_of(port.conditions)) for port in link.ports]
    x, y = (a.x + b.x) / 2, (a.y + b.y) / 2 - 6
    if directions[0] == directions[1]:
        lines = [line for line in directions[0].split(", ") if line]
        for number, line in enumerate(lines):
            yield _text(x, y - (len(lines) - 1 - number) * LINE, line, "small")
        return
    for number, (port, conditions) in enumerate(zip(link.ports, directions, strict=True)):
        if conditions:
            yield _text(x, y + number * LINE, f"from {port.node}: {conditions}", "small")


def _describe(words: dict[str, object]) -> str:
    parts = []
    for word, value in words.items():
        if isinstance(value, dict):
            value = " ".join(str(part) for part in value.values())
        parts.append(f"{word} {value}" if word not in ("rate", "delay") else str(value))
    return ", ".join(parts)


def _node(node: Node) -> Iterator[str]:
    width, height = SIZE[node.kind_of_node]
    kind = node.kind_of_node
    if isinstance(node, Router):
        yield f'<circle class="{kind}" cx="{node.x:g}" cy="{node.y:g}" r="{width / 2:g}"/>'
    else:
        rounding = 4 if isinstance(node, Switch) else 10
        yield (
            f'<rect class="{kind}" x="{node.x - width / 2:g}" y="{node.y - height / 2:g}" '
            f'width="{width}" height="{height}" rx="{rounding}"/>'
        )
    yield _text(node.x, node.y + 4, node.name)
    if isinstance(node, Host) and node.ip:
        yield _text(node.x, node.y + height / 2 + LINE, node.ip, "small")


def _frame(frame: CanvasFrame) -> Iterator[str]:
    colour = FRAME_COLOURS[frame["colour"]]
    yield (
        f'<rect class="frame" x="{frame["x"]:g}" y="{frame["y"]:g}" width="{frame["width"]:g}" '
        f'height="{frame["height"]:g}" rx="8" fill="{colour}" stroke="{colour}"/>'
    )
    right, down = FRAME_TEXT
    yield from _lines(frame["x"] + right, frame["y"] + down, frame["text"], "frame-text")


def _lines(x: float, y: float, text: str, kind: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines()):
        yield _text(x, y + number * LINE * 1.2, line, kind)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text{attribute} x="{x:g}" y="{y:g}">{escape(text)}</text>'


def picture_or_none(topology: Topology) -> str | None:
    """Return the SVG of a topology for a notebook, or None if the topology has errors."""
    try:
        return dump(topology)
    except TopologyError:
        return None
