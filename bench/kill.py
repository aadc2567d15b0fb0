"""A network that is killed at any moment leaves nothing behind: no process, no file, no claimed CPU.

A program that starts a network and keeps it busy is ended by SIGINT, SIGTERM and SIGKILL, at a random
moment between its start and half a second after the network is up. Then the benchmark looks for its
processes and for files that it could have made.

    left       processes and files that remain; should be 0
    gone_s     time from the signal until the last process had ended
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _family import family
from _report import Report

VICTIM = """
import sys
from wanlab import Network, shapes
with Network(shapes.dumbbell(2, rate="100Mbps", delay="5ms"), folder=sys.argv[1]) as net:
    print("up", flush=True)
    net["h3"].start("iperf3 -s")
    net.run_for("100ms")
    net["h1"].run("iperf3 -c h3 -t 1000")
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
FOLDERS = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"), Path.home() / ".uml")
WHILE_BOOTING_FRACTION = 0.4
BOOT_S, BUSY_S = 0.3, 0.5
PATIENCE_S = 30.0


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    options = arguments.parse_args()
    report = Report("kill")
    table = report.table("kills", ("signal", "times", "gone_s", "left"))
    moments = random.Random(options.seed)
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for index, number in enumerate(SIGNALS):
            times = len(range(index, options.times, len(SIGNALS)))
            before = len(left)
            gone_s = [kill_once(number, moments, folder, left) for _ in range(times)]
            table.add(
                signal=number.name,
                times=times,
                gone_s=round(max(gone_s, default=0.0), 3),
                left=len(left) - before,
            )
    report.more["left"] = left
    return report.finish(is_met=not left)


def kill_once(
    number: signal.Signals, moments: random.Random, folder: str, left: list[str]
) -> float:
    """Kill a network once; return how long its processes lived on, and add what remains to `left`."""
    before = files()
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert victim.stdout is not None
    if moments.random() < WHILE_BOOTING_FRACTION:
        time.sleep(moments.uniform(0, BOOT_S))
    else:
        victim.stdout.readline()
        time.sleep(moments.uniform(0, BUSY_S))
    pids = family(victim.pid)
    begun = time.monotonic()
    victim.send_signal(number)
    victim.wait(PATIENCE_S)
    victim.stdout.close()
    while any(map(is_running, pids)) and time.monotonic() - begun < PATIENCE_S:
        time.sleep(0.005)
    gone_s = time.monotonic() - begun
    left += [f"process {pid}" for pid in pids if is_running(pid)]
    left += sorted(files() - before)
    return gone_s


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie, which waits for its parent, does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def files() -> set[str]:
    """Return the files that a machine could leave: memory, sockets, pid files."""
    return {
        str(path)
        for folder in FOLDERS
        if folder.is_dir() and os.access(folder, os.R_OK)
        for path in folder.iterdir()
        if any(word in path.name for word in ("vm_file", "uml", "mconsole"))
    }


if __name__ == "__main__":
    sys.exit(main())
