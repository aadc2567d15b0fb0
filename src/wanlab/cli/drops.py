"""`wanlab drops`: a table of the packets that were lost in the network that it runs in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from wanlab.measure import Drop
from wanlab.measure.here import LocalView
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


def lines(found: Sequence[Drop]) -> list[str]:
    """Return the table as lines of text."""
    if not found:
        return [NOTHING]
    rows = [("PLACE", "LOST", "SHARE", "BY", "CAUSE")]
    for drop in found:
        share = f"{100 * drop.share:.2g} %" if drop.share else ""
        cause = f"{drop.cause} (try: {drop.remedy})" if drop.remedy else drop.cause
        rows.append((drop.place, str(drop.packets), share, drop.what, cause))
    return aligned(rows, "<>><<")
