"""`wanlab drops`: a table of the packets that were lost in the network that it runs in.

`report` says the same in a few lines when a network ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from wanlab import Network
from wanlab.measure import Drop
from wanlab.measure.here import LocalView
from wanlab.measure.lost_packets import cause_and_remedy, percentage, summary
from wanlab.text_table import aligned

NOTHING = "no packet was lost at a queue, an interface, or in IP, UDP or TCP"


def run(*, as_json: bool) -> int:
    """Print the table of the machine that this program runs in."""
    with LocalView() as here:
        found = here.drops()
    if as_json:
        print(json.dumps([asdict(drop) for drop in found], indent=2))
    else:
        print("\n".join(lines(found)))
    return 0


def report(network: Network) -> None:
    """Say on standard error where a network that is about to end lost packets, if it did."""
    if not network.is_running or not network.topology.nodes:
        return
    for line in summary(network):
        print(f"wanlab: {line}", file=sys.stderr)


def lines(found: Sequence[Drop]) -> list[str]:
    """Return the table as lines of text."""
    if not found:
        return [NOTHING]
    rows = [("PLACE", "LOST", "SHARE", "BY", "CAUSE")]
    for drop in found:
        share = percentage(drop) if drop.share else ""
        rows.append((drop.place, str(drop.packets), share, drop.what, cause_and_remedy(drop)))
    return aligned(rows, "<>><<")
