"""Export a topology as a picture in PDF, on a page of its size. The format cannot be read back."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import TYPE_CHECKING

from wanlab.topology.model import Topology

from .picture import STYLES, Box, Circle, Segment, Shape, Text, picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch

PIXELS_PER_INCH = 96
POINTS_PER_PIXEL = 72 / PIXELS_PER_INCH
METADATA = {"Creator": "wanlab", "CreationDate": None}
"""The file has no date, so that the same topology gives the same bytes."""


def dump(topology: Topology) -> bytes:
    """Return the bytes of the picture."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture = picture_of(topology)
    width, height = picture.width, picture.height
    with mpl.rc_context({"pdf.fonttype": 42, "font.family": "sans-serif"}):
        figure = Figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(picture.left, picture.left + width)
        axes.set_ylim(picture.top + height, picture.top)
        for order, shape in enumerate(picture.shapes):
            _draw(axes, shape, order)
        written = BytesIO()
        with warnings.catch_warnings():
            # The font has no letters of East Asia; they are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(written, format="pdf", metadata=METADATA)
    return written.getvalue()


def _draw(axes: Axes, shape: Shape, order: int) -> None:
    from matplotlib import patches
    from matplotlib.colors import to_rgba

    style = STYLES[shape.kind]
    width = style.width * POINTS_PER_PIXEL
    dashes = [length / style.width for length in style.dashes]  # in widths of the line
    if isinstance(shape, Segment):
        ends = ([shape.x1, shape.x2], [shape.y1, shape.y2])
        (line,) = axes.plot(*ends, color=style.stroke, linewidth=width, zorder=order)
        if dashes:
            line.set_linestyle((0, dashes))
    elif isinstance(shape, Text):
        axes.text(
            shape.x,
            shape.y,
            shape.text,
            color=style.fill,
            fontsize=style.size * POINTS_PER_PIXEL,
            fontweight="bold" if style.is_bold else "normal",
            horizontalalignment="center" if style.is_centred else "left",
            verticalalignment="baseline",
            parse_math=False,
            zorder=order,
        )
    else:
        patch: patches.Patch
        if isinstance(shape, Circle):
            patch = patches.Circle((shape.x, shape.y), shape.radius)
        else:
            patch = _rounded(shape)
        colour = shape.colour if isinstance(shape, Box) else ""
        patch.set_facecolor(to_rgba(colour or style.fill, style.opacity))
        patch.set_edgecolor(colour or style.stroke)
        patch.set_linewidth(width)
        if dashes:
            patch.set_linestyle((0, dashes))
        patch.set_zorder(order)
        axes.add_patch(patch)


def _rounded(box: Box) -> FancyBboxPatch:
    from matplotlib.patches import FancyBboxPatch

    corners = f"round,pad=0,rounding_size={box.rounding}"
    return FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corners)
