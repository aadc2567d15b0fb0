"""Start jitter: how much later than intended a command starts, as on a computer that is busy.

On virtual time, commands that are started together start in the same nanosecond, and every run starts
them so. Two equal TCP flows then stay in step: their packets reach a full queue in the same order again
and again. A computer starts two programs some milliseconds apart, and never twice at the same distance.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

from wanlab.errors import WanlabError
from wanlab.units import format_time, parse_time

MAX_NS = 60_000_000_000


class StartJitter:
    """Draws the delay of each command, uniformly from 0 to a limit. The seed decides the sequence."""

    VARIABLE = "WANLAB_START_JITTER"
    """Tells Mininet's prompt in a lab's network the limit."""
    SEED_VARIABLE = "WANLAB_SEED"
    """Tells it, and checks that run there, the seed with which the network was started."""

    def __init__(self, limit_ns: int = 0, seed: int = 1) -> None:
        self.limit_ns = limit_ns
        self._random = random.Random(f"{seed} {limit_ns}")

    def next_ns(self) -> int:
        """Return the next delay; always 0 if the limit is 0."""
        return self._random.randint(0, self.limit_ns) if self.limit_ns else 0


def parse_start_jitter(text: str | None) -> int:
    """Return the limit in nanoseconds that "5ms" writes; 0 for None. WanlabError if it is not a time."""
    limit_ns = parse_time(text) if text else 0
    if limit_ns > MAX_NS:
        raise WanlabError(
            f"a start jitter of {text} is too long", f"the longest is {format_time(MAX_NS)}"
        )
    return limit_ns


def start_jitter_here(environment: Mapping[str, str] = os.environ) -> StartJitter:
    """Return the start jitter of the network in which this program runs."""
    limit_ns = parse_start_jitter(environment.get(StartJitter.VARIABLE))
    return StartJitter(limit_ns, int(environment.get(StartJitter.SEED_VARIABLE, "1")))
