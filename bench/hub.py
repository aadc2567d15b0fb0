"""In a JupyterHub, a student with a running network takes less than 150 MB and 2 % of a core.

A real hub starts the laboratories as its page says (docs/how-to/jupyterhub.md). The students are clients
without a browser.

    empty     the laboratories run, and no page is open
    running   each student has opened the laboratory and runs a network of two hosts and a switch, at the
              pace of real time, which is the page's default

Memory is that of a laboratory with its networks, where pages that n processes share count 1/n (PSS); a
core's share is that of one student, over some seconds. `hub_mb`: the hub, its proxy and the class.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import mean

sys.path.extend(
    str(Path(__file__).parents[1] / name) for name in ("tests/browser", "tests/machine", "tools")
)

from _report import Report, Table
from class_client import TWO_HOSTS
from jupyter_hub import HubUser, PrintedHub
from process_tree import descendants

MAX_MB, MAX_SHARE = 150.0, 0.02
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    options = parser.parse_args()
    report = Report("hub")
    columns = ("state", "students", "start_s", "mb", "max_mb", "core_percent", "hub_mb")
    table = report.table("students", columns)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place, PrintedHub(Path(place)) as hub:
        names = [f"student{number}" for number in range(options.students)]
        began = time.monotonic()
        for name in names:
            hub.start_laboratory(name)
        start_s = (time.monotonic() - began) / len(names)
        _measure(table, hub, "empty", start_s, options.seconds)
        students = [HubUser(hub, name, f"/user/{name}") for name in names]
        with ExitStack() as pages:
            began = time.monotonic()
            for student in students:
                (student.folder / "two.yaml").write_text(TWO_HOSTS)
                client = pages.enter_context(student.connect_client())
                client.do("open", path="two.yaml")
                client.run()
            start_s = (time.monotonic() - began) / len(names)
            mb, share = _measure(table, hub, "running", start_s, options.seconds)
    return report.finish(is_met=mb < MAX_MB and share < MAX_SHARE)


def _measure(
    table: Table, hub: PrintedHub, state: str, start_s: float, seconds: float
) -> tuple[float, float]:
    """Add a row; return the memory of a student in MB, and the share of a core."""
    laboratories = hub.laboratories()
    trees = [[pid, *descendants(pid)] for pid in laboratories]
    before = sum(map(_processor_s, _flat(trees)))
    time.sleep(seconds)
    used_s = sum(map(_processor_s, _flat(trees))) - before
    sizes = [sum(map(_pss_mb, tree)) for tree in trees]
    of_hub = {hub.process.pid, *descendants(hub.process.pid)} - {*_flat(trees)}
    share = used_s / seconds / len(trees)
    table.add(
        state=state,
        students=len(trees),
        start_s=round(start_s, 1),
        mb=round(mean(sizes)),
        max_mb=round(max(sizes)),
        core_percent=round(100 * share, 1),
        hub_mb=round(sum(map(_pss_mb, of_hub))),
    )
    return mean(sizes), share


def _flat(trees: Iterable[Sequence[int]]) -> list[int]:
    return [pid for tree in trees for pid in tree]


def _pss_mb(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it has ended
        return 0.0
    found = re.search(r"^Pss: +(\d+) kB", text, re.M)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def _processor_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    sys.exit(main())
