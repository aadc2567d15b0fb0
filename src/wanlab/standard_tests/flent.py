"""RRUL by Flent itself (https://flent.org), on the path and with the metrics of wanlab's own test.

Flent runs inside the network, on its clock. It starts fping, netperf and irtt, whose servers run on the
other host. netperf must have been built with `--enable-demo`. Without irtt, Flent 2.1.1 would send its
UDP pings with netperf, and fail if no reply arrives within 0.2 s.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wanlab import Run
from wanlab.errors import RequirementError, WanlabError
from wanlab.jobs.programs import program_path
from wanlab.record import Table
from wanlab.standard_tests.catalog import find
from wanlab.standard_tests.experiment import (
    PING_INTERVAL_NS,
    dumbbell,
    keep_goodput_metrics,
    keep_ping_metrics,
)

PROGRAMS = ("flent", "fping", "irtt", "netperf", "netserver")
SHORT_TURNS = "import sys\n\nsys.setswitchinterval(1e-6)\n"
"""Flent reads its results in several threads, one of which polls while it waits for the others. Python
takes turns after 5 ms, which polling reaches only after thousands of system calls."""


@dataclass(frozen=True)
class FlentResults:
    """What Flent measured."""

    pings: Table
    """time_ns since the first ping, sequence from 1, rtt_ms. A ping without a reply has no row."""
    goodputs_mbps: dict[str, list[float]]
    """The goodput of each flow "up" and "down"."""


@cache
def is_installed() -> bool:
    """Return whether Flent and all programs that it needs are installed."""
    paths = {name: program_path(name) for name in PROGRAMS}
    netperf = paths["netperf"]
    if netperf is None or None in paths.values():
        return False
    # A netperf that was built without --enable-demo apologises for -D before it prints its version.
    try:
        answer = subprocess.run(
            [netperf, "-D", "0.2", "-V"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    output = answer.stdout + answer.stderr
    return answer.returncode == 0 and "Demo Mode not configured" not in output


def rrul_be(run: Run, *, seconds: int) -> None:
    """Let Flent perform its test rrul_be on the path of wanlab's test of that name.

    The run needs the parameters rate, delay, queue and buffer of `standard_test`, and the metrics have
    the same names. Download and upload are the sums of what netperf reports for each flow.
    RequirementError if Flent or a program that it needs is not installed.
    """
    if not is_installed():
        raise RequirementError(
            f"Flent needs the programs {', '.join(PROGRAMS)}",
            "install them (netperf built with --enable-demo), or leave out generator=flent",
        )
    with run.network(dumbbell(run, find("rrul_be")), wire="mtu") as net:
        client, server = "h1", "h2"
        net[server].run("netserver")
        net[server].start("irtt server")
        net[client].run(f"ping -c 1 {server}")  # so that no address has to be resolved later
        Path(run.folder, "sitecustomize.py").write_text(SHORT_TURNS, encoding="utf-8")
        net[client].run(f"PYTHONPATH=. flent rrul_be -l {seconds} -H {server} -D .")
    results = read_data(_data_file(run))
    run.keep("ping", results.pings)
    keep_goodput_metrics(run, results.goodputs_mbps)
    keep_ping_metrics(run, "ping", results.pings, seconds)


def read_data(path: Path) -> FlentResults:
    """Read a data file of Flent's rrul_be (JSON, compressed by gzip)."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    replies = data["raw_values"]["Ping (ms) ICMP"]
    pings = Table.of(
        {
            "time_ns": [int(reply["seq"]) * PING_INTERVAL_NS for reply in replies],
            "sequence": [int(reply["seq"]) + 1 for reply in replies],
            "rtt_ms": [float(reply["val"]) for reply in replies],
        }
    )
    goodputs_mbps: dict[str, list[float]] = {"up": [], "down": []}
    for name, series in data["metadata"]["SERIES_META"].items():
        for way, title in (("up", "TCP upload BE"), ("down", "TCP download BE")):
            if name.startswith(title):
                goodputs_mbps[way].append(float(series["MEAN_VALUE"]))
    return FlentResults(pings, goodputs_mbps)


def _data_file(run: Run) -> Path:
    found = sorted(Path(run.folder).glob("*.flent.gz"))
    if not found:
        raise WanlabError("Flent wrote no data file", "see its output in the record of the run")
    return found[0]
