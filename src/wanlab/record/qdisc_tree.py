"""The tree of a port's qdiscs: which share of their counters belongs to the port's queue.

A port may have several qdiscs, one below the other, and the kernel counts a packet in each qdisc that
holds it. The packets before the bottleneck are those in shapers and AQMs, but not those in netem, which
are in flight on an emulated wire.

    netem 1:  ----- tbf 2: ----- codel 3:          a qdisc's own share is its backlog without that
    5 MB            3 MB         2.9 MB            of the qdiscs below it: 2, 0.1 and 2.9 MB
    `- 2 MB are     `-- the queue is 3 MB --'
       on the wire

The queue is the sum of the own shares of all qdiscs but netem. That is a weighted sum of the backlogs:
a qdisc has weight 1 unless it is netem, less 1 if its parent is not netem. Drops are counted in the
same way (net/sched/sch_api.c, qdisc_tree_reduce_backlog), so losses that netem makes on purpose do not
belong to the queue.
"""

from collections.abc import Sequence

DELAY_LINE = "netem"


def queue_weights(
    kinds: Sequence[str], handles: Sequence[str], parents: Sequence[str]
) -> list[int]:
    """Return the weight of each qdisc of one port in the sum that is the port's queue: -1, 0 or 1.

    The three sequences have an entry per qdisc, written as tc writes it: "tbf", "2:", and "root" or
    "1:10".
    """
    kind_of = dict(zip(handles, kinds, strict=True))
    weights = []
    for kind, parent in zip(kinds, parents, strict=True):
        major, is_class, _ = parent.partition(":")
        kind_above = kind_of.get(f"{major}:", DELAY_LINE) if is_class else DELAY_LINE
        weights.append((kind != DELAY_LINE) - (kind_above != DELAY_LINE))
    return weights
