"""Draw records as figures.

    panels = [
        plot.throughput(record),
        plot.rtt(record),
        plot.congestion_window(record),
        plot.queue(record, device="s1-eth2", handle="2:", limit_bytes=2_621_440),
    ]
    plot.save(plot.timeline(panels, title="1 BDP"), "timeline.pdf")

A chart function turns a record into a panel. `timeline`, `comparison` and `overlay` combine panels.
`save` writes PDF, SVG or PNG; the same figure always gives the same bytes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wanlab.errors import did_you_mean
from wanlab.plot import quantities
from wanlab.plot.charts import congestion_window, quantity, queue, rtt, throughput
from wanlab.plot.panel import Limit, Line, Panel, decimate

if TYPE_CHECKING:
    from wanlab.plot.figure import comparison, distribution, overlay, save, timeline

__all__ = [
    "Limit",
    "Line",
    "Panel",
    "comparison",
    "congestion_window",
    "decimate",
    "distribution",
    "overlay",
    "quantities",
    "quantity",
    "queue",
    "rtt",
    "save",
    "throughput",
    "timeline",
]


def __getattr__(name: str) -> object:
    """Import the functions that draw on first use: matplotlib is slow to import."""
    if name in __all__:
        return getattr(import_module("wanlab.plot.figure"), name)
    raise AttributeError(f"wanlab.plot has no {name} ({did_you_mean(name, __all__)})")
