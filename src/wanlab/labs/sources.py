"""The sources of a record, written as in the metric language.

queue(s1-eth2)    sampled: the qdiscs of a port                 table "qdisc"
tcp(h1)           sampled: the TCP flows of a host              table "tcp"
ping, iperf3      read from the output of the step's terminals  tables "ping", "iperf3"
iperf3(out.json)  read from a file of `iperf3 -J`               table "iperf3"
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wanlab.errors import WanlabError, did_you_mean

QUEUE, TCP, PING, IPERF3 = "queue", "tcp", "ping", "iperf3"
SAMPLED = (QUEUE, TCP)
WITH_ARGUMENT = (*SAMPLED, IPERF3)
WITHOUT_ARGUMENT = (PING, IPERF3)


class RecordSource(NamedTuple):
    """Where a table of a record comes from."""

    kind: str
    argument: str = ""


def parse_source(text: str) -> RecordSource:
    """Parse one source. Raises WanlabError if there is no such source."""
    match = re.fullmatch(r"(\w+)(?:\((.+)\))?", text.strip())
    kind, argument = (match[1], match[2] or "") if match else (text, "")
    if kind not in (WITH_ARGUMENT if argument else WITHOUT_ARGUMENT):
        known = [*WITHOUT_ARGUMENT, *(f"{kind}(...)" for kind in WITH_ARGUMENT)]
        raise WanlabError(f"there is no source {text!r}", did_you_mean(text, known))
    return RecordSource(kind, argument)
