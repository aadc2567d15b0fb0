"""A network of 2, 200 and 1000 hosts is up and down faster than Mininet's on the same computer.

The hosts are on one switch. A run is a whole process: the start of Python, the network, one ping from
h1 to h2, the end. Mininet does the same with Linux bridges and no controller, alternately, if it is
installed (Debian's packages `mininet` and `bridge-utils`) and the benchmark runs as root; otherwise the
JSON says why it was not compared. The fastest of several runs counts.

    first_ping_s   from the start of the process to the first reply
    whole_s        until the process has ended and nothing is left
    ratio          Mininet's whole_s divided by wanlab's; at_least: the budget
    memory_mb      memory of all processes after the ping, shared pages counted once; Mininet's network
                   is in the computer's own kernel, which is not counted
    kernel_mb      resident memory of the machine's kernel, which includes everything in the machine
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _modes
from _family import family, memory
from _mininet import add_rows, in_private, mininet_version, why_no_mininet
from _report import Report

from wanlab import Network, shapes

# hosts: (least ratio of Mininet's time to ours, runs by default)
SIZES = {2: (1.0, 5), 200: (4.0, 2), 1000: (4.0, 1)}
MEGABYTE = 1e6
POST = "h1 ping -c 1 h2"
COMMANDS = """
echo '{post}' > /tmp/post &&
exec mn --topo single,{hosts} --switch lxbr --controller none --test none --post /tmp/post
"""
COLUMNS = (
    "hosts",
    "mode",
    "first_ping_s",
    "whole_s",
    "memory_mb",
    "kernel_mb",
    "mn_first_ping_s",
    "mn_whole_s",
    "mn_memory_mb",
    "ratio",
    "at_least",
    "is_met",
)


@dataclass(frozen=True)
class StartRun:
    """One start and end of wanlab or Mininet; times begin with its process."""

    first_ping_s: float
    whole_s: float
    processes: int
    memory_mb: float
    kernel_mb: float | None = None


def main() -> int:
    options = _arguments()
    if options.one:
        _start_one(options.one, options.wire)
        return 0
    report = Report("start")
    reason = why_no_mininet()
    report.more = {
        "wire": options.wire,
        "mininet": reason or mininet_version(),
    }
    if reason:
        report.note(f"without Mininet: {reason}")
    table = report.table("starts", COLUMNS)
    met: list[bool] = []
    for hosts in options.hosts or SIZES:
        at_least, runs = SIZES.get(hosts, (1.0, 1))
        ours: dict[str, list[StartRun]] = {mode: [] for mode in options.modes}
        theirs: list[StartRun] = []
        for _ in range(options.runs or runs):
            for mode in options.modes:
                with _modes.in_mode(mode):
                    ours[mode].append(run_ours(hosts, options.wire))
            if not reason:
                mininet_run = run_mininet(hosts, options.limit_s)
                if isinstance(mininet_run, str):
                    report.note(f"Mininet, {hosts} hosts: {mininet_run}")
                    report.more[f"mininet_{hosts}"] = mininet_run
                else:
                    theirs.append(mininet_run)
        met += add_rows(table, ours, theirs, at_least, hosts=hosts)
    return report.finish(is_met=all(met) if met else None)


# -- ours ---------------------------------------------------------------------------------------------


def run_ours(hosts: int, wire: str) -> StartRun:
    """Run this script again, as a process that makes one network."""
    command = [sys.executable, __file__, "--one", str(hosts), "--wire", wire]
    began = time.monotonic()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    whole_s = time.monotonic() - began
    figures = json.loads(done.stdout)
    pinged_s = figures.pop("pinged_monotonic_s") - began
    return StartRun(first_ping_s=pinged_s, whole_s=whole_s - figures.pop("looked_s"), **figures)


def _start_one(hosts: int, wire: Any) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        Network(shapes.single(hosts), wire=wire, folder=folder) as net,
    ):
        net["h1"].run("ping -c 1 h2")
        pinged = time.monotonic()
        used = memory(family(os.getpid()))
        figures = {
            "pinged_monotonic_s": pinged,
            "looked_s": time.monotonic() - pinged,
            "processes": used.processes,
            "memory_mb": used.proportional_bytes / MEGABYTE,
            "kernel_mb": used.largest_resident_bytes / MEGABYTE,
        }
    print(json.dumps(figures))


# -- Mininet's ----------------------------------------------------------------------------------------


def run_mininet(hosts: int, limit_s: float) -> StartRun | str:
    """Run Mininet once; return the reason if there is no result."""
    script = COMMANDS.format(hosts=hosts, post=POST)
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder:
        output = Path(folder) / "output"
        with output.open("wb") as sink:
            began = time.monotonic()
            process = subprocess.Popen(
                in_private(script),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
            try:
                pinged_s, used = _watch(process, output, began, limit_s)
                whole_s = time.monotonic() - began
            finally:
                # With --kill-child all processes in its namespace end with it.
                process.kill()
                process.wait()
        text = output.read_text(errors="replace")
    if pinged_s is None:
        tail = " / ".join(text.strip().splitlines()[-3:])
        ended = f"status {process.returncode}" if whole_s < limit_s else f"over {limit_s:.0f} s"
        return f"no ping ({ended}): {tail}"
    if whole_s >= limit_s:
        return f"first ping after {pinged_s:.1f} s, not down after {limit_s:.0f} s"
    return StartRun(pinged_s, whole_s, *(used or (0, 0.0)))


def _watch(
    process: subprocess.Popen[bytes], output: Path, began: float, limit_s: float
) -> tuple[float | None, tuple[int, float] | None]:
    """Wait for the first reply and the end; return the time of the reply, and the memory then."""
    pinged_s, used = None, None
    while process.poll() is None and time.monotonic() - began < limit_s:
        if pinged_s is None and b"bytes from" in output.read_bytes():
            pinged_s = time.monotonic() - began
            measured = memory(family(process.pid))
            used = (measured.processes, measured.proportional_bytes / MEGABYTE)
        time.sleep(0.005)
    return pinged_s, used


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, action="append", help="by default 2, 200 and 1000")
    parser.add_argument("--runs", type=int, help="runs of each size (by default 5, 2, 1)")
    parser.add_argument("--wire", choices=("gso", "mtu"), default="gso")
    parser.add_argument("--limit-s", type=float, default=300.0, help="limit of one run of Mininet")
    parser.add_argument("--one", type=int, metavar="HOSTS", help=argparse.SUPPRESS)
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
