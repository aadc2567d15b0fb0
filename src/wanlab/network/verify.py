"""Reads back from the kernel what a plan has asked for: rate, delay and queue of each shaped port.

A kernel may round, and a tool may misread; a measurement must not rest on what was merely asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from wanlab.errors import CommandError
from wanlab.topology.model import Port

# netem counts in ns, but tc's JSON shows whole microseconds, rounded down twice.
CLOSE_ENOUGH_NS = 1_000


def check_shaping(ports: Iterable[tuple[str, Port]], show: Callable[[str], str]) -> None:
    """Compares each port's conditions with its qdiscs.

    `ports`: (namespace, port). `show`: the output of `tc -j qdisc show` in a namespace.
    CommandError names what differs.
    """
    shown: dict[str, list[dict[str, Any]]] = {}
    for namespace, port in ports:
        if namespace not in shown:
            shown[namespace] = json.loads(show(namespace))
        found = {q["kind"]: q for q in shown[namespace] if q.get("dev") == port.name}
        wrong = list(_differences(port, found))
        if wrong:
            raise CommandError(
                f"port {port.name} is not as asked: {'; '.join(wrong)}",
                output=json.dumps(list(found.values())),
            )


def _differences(port: Port, found: dict[str, dict[str, Any]]) -> Iterable[str]:
    _, wanted = port.conditions.states()[0]
    if wanted.trace is not None and "opportunity" not in found:
        yield "no delivery by its trace"
    if wanted.rate_bps is not None:
        rate_bps = found.get("tbf", {}).get("options", {}).get("rate", 0) * 8
        # The kernel keeps bytes per second.
        if abs(rate_bps - wanted.rate_bps) >= 8:
            yield f"rate {rate_bps} bit/s instead of {wanted.rate_bps}"
    if wanted.delay_ns:
        delay = found.get("netem", {}).get("options", {}).get("delay", {})
        delay_ns = round(float(delay.get("delay", 0)) * 1e9)
        if abs(delay_ns - wanted.delay_ns) > CLOSE_ENOUGH_NS:
            yield f"delay {delay_ns} ns instead of {wanted.delay_ns}"
    if wanted.queue is not None and wanted.queue.kind != "fifo" and wanted.queue.kind not in found:
        yield f"no queue {wanted.queue.kind}"
