#!/usr/bin/python3
"""Start networks on a simulated computer, as its first process (computer.sh boots it).

Tests the settings of Linux that hold for a whole computer one by one, and restores each before the
next. Prints a line per step with its seconds. With --transfer, runs only the transfer whose output must
be the same on every computer, and prints the hash of the output. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

WANLAB = "/opt/wanlab/bin/wanlab"
PING = f"{WANLAB} exec --topo single,2 --node h1 -- ping -c 2 h2"
TRANSFER = """
from wanlab import Network, shapes
topology = shapes.dumbbell(pairs=2, rate="20Mbps", delay="10ms", queue="fq_codel")
with Network(topology, seed=1) as net:
    servers = [net[name].start("iperf3 -s") for name in ("h3", "h4")]
    pairs = ("h1", "h3"), ("h2", "h4")
    flows = [net[client].start(f"iperf3 -c {server} -t 3") for client, server in pairs]
    print(net["h1"].run("ping -c 5 -i 0.2 h4").output)
    print(*(flow.finish().output for flow in flows))
"""
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SESSIONS = Path("/sessions")
LIMIT_S = 1800


def transfer() -> str:
    """Return the hash of the output of two flows and a ping through a bottleneck."""
    command = ["/opt/wanlab/bin/python", "-c", TRANSFER]
    done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
    return hashlib.sha256(done.stdout).hexdigest()


def as_student(line: str) -> tuple[bool, str]:
    """Run a line of shell as an ordinary user; return whether it succeeded, and its output."""
    command = ["su", "-", "student", "-c", f"ulimit -Sn 1024; {line}"]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"it took longer than {LIMIT_S} s"
    return done.returncode == 0, done.stdout


def runs(line: str, *settings: tuple[Path, str]) -> tuple[bool, str]:
    """Run a line while files of /proc/sys and /sys have these values."""
    before = [(path, _current(path)) for path, _ in settings]
    for path, value in settings:
        path.write_text(value)
    try:
        return as_student(line)
    finally:
        for path, value in before:
            path.write_text(value)


def refused(line: str, *settings: tuple[Path, str]) -> tuple[bool, str]:
    """Run a line as `runs` does; it must fail with an error that names `wanlab doctor`."""
    succeeded, output = runs(line, *settings)
    return not succeeded and "wanlab doctor" in output, output


def _current(path: Path) -> str:
    text = path.read_text()
    return text.partition("[")[2].partition("]")[0] or text


def steps() -> Iterator[tuple[str, tuple[bool, str]]]:
    """Perform the steps one after the other; the last setting of Yama cannot be undone."""
    if SESSIONS.is_dir():
        for file in sorted(SESSIONS.iterdir()):
            yield f"replay {file.name}", runs(f"cd && {WANLAB} replay {file} --verify")
        return
    expected = Path("/expected").read_text().strip()
    yield "first ping", runs(PING)
    yield "second ping", runs(PING)
    _, output = as_student("cd && /opt/wanlab/bin/python /inside_computer.py --transfer")
    yield f"transfer, the same bytes ({output.strip()[:16]})", (output.strip() == expected, output)
    yield "wanlab doctor", runs(f"{WANLAB} doctor")
    yield "overcommit_memory=2", runs(PING, (OVERCOMMIT, "2"))
    yield "huge pages always", runs(PING, (HUGE_PAGES, "always"))
    yield "huge pages never", runs(PING, (HUGE_PAGES, "never"))
    yield "ptrace_scope 1", runs(PING, (YAMA, "1"))
    yield "ptrace_scope 2 is refused", refused(PING, (YAMA, "2"))
    YAMA.write_text("3")
    yield "ptrace_scope 3 is refused", refused(PING)


def boot() -> None:
    """Mount the file systems that a system has, run the steps and switch off."""
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LANG="C.UTF-8")
    for kind, mount_point in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")):
        subprocess.run(
            ["mount", "-t", kind, kind, mount_point], check=False, stderr=subprocess.DEVNULL
        )
    for mount_point in ("/dev/pts", "/dev/shm"):
        Path(mount_point).mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "devpts", "devpts", "/dev/pts"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "shm", "/dev/shm"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            print(" ", line.partition(":")[2].strip(), flush=True)
    failures = 0
    started = time.monotonic()
    for name, (succeeded, output) in steps():
        seconds, started = time.monotonic() - started, time.monotonic()
        print(f"  {name}: {'ok' if succeeded else 'FAILED'} ({seconds:.0f} s)", flush=True)
        failures += not succeeded
        for line in [] if succeeded else output.splitlines()[-20:]:
            print("    ", line, flush=True)
    print(f"  {failures} steps failed" if failures else "  all steps succeeded", flush=True)
    subprocess.run(["sync"], check=False)
    Path("/proc/sysrq-trigger").write_text("o")
    time.sleep(60)


if __name__ == "__main__":
    if sys.argv[1:] == ["--transfer"]:
        print(transfer())
    else:
        boot()
