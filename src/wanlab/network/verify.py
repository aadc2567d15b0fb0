"""Reads the rate, delay and queue of each shaped port back from the kernel, and checks them.

A kernel may round and a tool may misread. A measurement must rest on the actual conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wanlab.errors import CommandError
from wanlab.topology.model import Port

# netem counts in ns, but tc reads and shows whole microseconds, each time rounded down.
TOLERANCE_NS = 2_000

# What `tc` writes into its JSON in place of the options of a qdisc that is newer than itself.
UNKNOWN_QDISC = re.compile(r"\[Unknown qdisc, optlen=\d+\] *")

Qdiscs = Mapping[str, Mapping[str, Any]]
"""Entries of `tc -j qdisc show` for one port, by kind."""


def check_shaping(ports: Iterable[tuple[str, Port]], show_qdiscs: Callable[[str], str]) -> None:
    """Compare the conditions of ports with their qdiscs. CommandError names what differs.

    `ports`: (namespace, port). `show_qdiscs`: returns the output of `tc -j qdisc show` in a
    namespace.
    """
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for namespace, port in ports:
        if namespace not in by_namespace:
            by_namespace[namespace] = json.loads(UNKNOWN_QDISC.sub("", show_qdiscs(namespace)))
        qdiscs = {q["kind"]: q for q in by_namespace[namespace] if q.get("dev") == port.name}
        differences = list(_differences(port, qdiscs))
        if differences:
            raise CommandError(
                f"port {port.name} does not have the requested conditions: {'; '.join(differences)}",
                output=json.dumps(list(qdiscs.values())),
            )


def _differences(port: Port, qdiscs: Qdiscs) -> Iterable[str]:
    _, conditions = port.conditions.states()[0]
    if conditions.trace is not None and "opportunity" not in qdiscs:
        yield "does not deliver by its trace"
    if conditions.rate_bps is not None:
        rate_bps = qdiscs.get("tbf", {}).get("options", {}).get("rate", 0) * 8
        # The kernel keeps bytes per second.
        if abs(rate_bps - conditions.rate_bps) >= 8:
            yield f"rate {rate_bps} bit/s instead of {conditions.rate_bps}"
    if conditions.delay_ns:
        delay = qdiscs.get("netem", {}).get("options", {}).get("delay", {})
        delay_ns = round(float(delay.get("delay", 0)) * 1e9)
        if abs(delay_ns - conditions.delay_ns) > TOLERANCE_NS:
            yield f"delay {delay_ns} ns instead of {conditions.delay_ns}"
    queue = conditions.queue
    if queue is not None and queue.kind != "fifo" and queue.kind not in qdiscs:
        yield f"has no queue {queue.kind}"
