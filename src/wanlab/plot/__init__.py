"""Records as figures.

    panels = [
        plot.throughput(record),
        plot.rtt(record),
        plot.congestion_window(record),
        plot.queue(record, device="s1-eth2", handle="2:", limit_bytes=2_621_440),
    ]
    plot.save(plot.timeline(panels, title="1 BDP"), "timeline.pdf")

A chart function turns a record into a panel; `timeline`, `comparison` and `overlay` put panels
together; `save` writes PDF, SVG or PNG, always the same bytes for the same figure.
"""

from wanlab.plot import quantities
from wanlab.plot.charts import congestion_window, quantity, queue, rtt, throughput
from wanlab.plot.figure import comparison, distribution, overlay, save, timeline
from wanlab.plot.panel import Limit, Line, Panel

__all__ = [
    "Limit",
    "Line",
    "Panel",
    "comparison",
    "congestion_window",
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
