"""Numbers of a network's state: what `tc -j qdisc show` and `sysctl` print.

netem.loss_percent    tbf.rate_mbps    kind(fq_codel).exists    sysctl.value
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from wanlab.errors import WanlabError, did_you_mean

State = Callable[[str], float]
Options = dict[str, Any]
NAMES = ("netem.loss_percent", "tbf.rate_mbps", "kind(KIND).exists", "sysctl.value")

_NETEM: dict[str, Callable[[Options], float]] = {
    "loss_percent": lambda o: 100 * float(_part(o, "loss-random", "loss")),
    "duplicate_percent": lambda o: 100 * float(_part(o, "duplicate", "duplicate")),
    "corrupt_percent": lambda o: 100 * float(_part(o, "corrupt", "corrupt")),
    "reorder_percent": lambda o: 100 * float(_part(o, "reorder", "reorder")),
    "delay_ms": lambda o: 1000 * float(_part(o, "delay", "delay")),
    "jitter_ms": lambda o: 1000 * float(_part(o, "delay", "jitter")),
    "limit_packets": lambda o: float(o.get("limit", 0)),
}
_TBF: dict[str, Callable[[Options], float]] = {
    "rate_mbps": lambda o: float(o["rate"]) * 8 / 1e6,
    "burst_bytes": lambda o: float(o["burst"]),
    "limit_bytes": lambda o: _limit_of(o),
}
_KINDS = {"netem": _NETEM, "tbf": _TBF}


def parse(name: str, argument: str | None, rest: str) -> State | None:
    """None if it is not of these; WanlabError if it nearly is."""
    if name == "kind" and argument and rest == "exists":
        return lambda output: float(any(q.get("kind") == argument for q in _qdiscs(output)))
    if name == "sysctl" and argument is None and rest == "value":
        return _sysctl
    if name not in _KINDS or argument is not None:
        return None
    if rest not in _KINDS[name]:
        raise WanlabError(f"there is no take '{name}.{rest}'", did_you_mean(rest, _KINDS[name]))
    return lambda output: _KINDS[name][rest](_options(output, name))


def _qdiscs(output: str) -> list[dict[str, Any]]:
    try:
        qdiscs = json.loads(output)
    except ValueError:
        raise WanlabError(f"this is not what tc -j prints: {output.strip()[:80]!r}") from None
    return [q for q in qdiscs if isinstance(q, dict)]


def _options(output: str, kind: str) -> Options:
    """Those of the first one of a kind. A netem that is not there does nothing: its numbers are 0."""
    for qdisc in _qdiscs(output):
        if qdisc.get("kind") == kind:
            return dict(qdisc.get("options") or {})
    if kind == "netem":
        return {}
    raise WanlabError(f"there is no {kind}")


def _part(options: Options, part: str, word: str) -> float:
    return float((options.get(part) or {}).get(word, 0))


def _limit_of(options: Options) -> float:
    """tc tells the limit as such, or as the time that it takes to send it."""
    if "limit" in options:
        return float(options["limit"])
    seconds = float(options["lat"]) / 1e6
    return round(seconds * float(options["rate"]) + float(options["burst"]))


def _sysctl(output: str) -> float:
    """The last number of `name = 10240 87380 16777216`: of buffers, the most."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", output.rpartition("=")[2])
    if not numbers:
        raise WanlabError(f"there is no number in {output.strip()[:80]!r}")
    return float(numbers[-1])
