"""Export a topology as a picture in SVG. The format cannot be read back.

The style rules apply to this picture only, even inside another page.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from wanlab.errors import TopologyError
from wanlab.topology.model import Topology

from .picture import STYLES, Box, Circle, Segment, Shape, Style, Text, picture_of

NAME = "wanlab-topology"


def dump(topology: Topology) -> str:
    """Return the text of the picture."""
    picture = picture_of(topology)
    left, top, width, height = picture.left, picture.top, picture.width, picture.height
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{NAME}" '
            f'viewBox="{left:g} {top:g} {width:g} {height:g}" width="{width:g}" height="{height:g}">',
            "<style>",
            *(f".{NAME} .{kind} {{ {'; '.join(_rules(STYLES[kind]))} }}" for kind in STYLES),
            "</style>",
            *map(_element, picture.shapes),
            "</svg>",
            "",
        ]
    )


def _rules(style: Style) -> Iterator[str]:
    """Yield the CSS declarations of a style."""
    if style.stroke or style.dashes:
        yield f"stroke-width: {style.width:g}"
    if style.stroke:
        yield f"stroke: {style.stroke}"
    if style.dashes:
        yield f"stroke-dasharray: {' '.join(f'{length:g}' for length in style.dashes)}"
    if style.opacity < 1:
        yield f"fill-opacity: {style.opacity:g}"
    if style.fill:
        yield f"fill: {style.fill}"
    if style.fill and not style.stroke:
        yield f"font: {'bold ' if style.is_bold else ''}{style.size:g}px sans-serif"
        yield f"text-anchor: {'middle' if style.is_centred else 'start'}"


def _element(shape: Shape) -> str:
    kind = f'class="{shape.kind}"'
    match shape:
        case Segment(_, x1, y1, x2, y2):
            return f'<line {kind} x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'
        case Box(_, x, y, width, height, rounding, colour):
            colours = f' fill="{colour}" stroke="{colour}"' if colour else ""
            return (
                f'<rect {kind} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                f'rx="{rounding:g}"{colours}/>'
            )
        case Circle(_, x, y, radius):
            return f'<circle {kind} cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'
        case Text(_, x, y, text):
            return f'<text {kind} x="{x:g}" y="{y:g}">{escape(text)}</text>'


def picture_or_none(topology: Topology) -> str | None:
    """Return the SVG of a topology for a notebook, or None if the topology has errors."""
    try:
        return dump(topology)
    except TopologyError:
        return None
