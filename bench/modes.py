"""Random networks and programs give the same bytes in all modes of the machine's kernel.

A case is a random network, and random commands in it: flows with losses, tools, and a program that makes
random system calls and page faults, many of them wrong (`random_program.c`, which needs a C compiler).
Each case runs in each mode. Its bytes are what all programs print, and the kernel's own counters of
processes, memory and the network. Case N of a seed is the same in every run, so `--first N --cases 1`
repeats it.

    cases, bytes   how many were compared
    differing      cases in which a mode gave other bytes than the first, or no bytes; should be 0
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import _modes
from _report import Report

from wanlab import Network, Topology, shapes
from wanlab.errors import WanlabError
from wanlab.network.process import Process
from wanlab.plan import Wire

SOURCE = Path(__file__).with_name("random_program.c")
PROGRAM = "random_program"
LIMIT = "60s"
MAX_LINES = 40
CASES_PER_NOTE = 10
SHAPES = ("minimal", "single,3", "linear,3", "tree,2,2", "dumbbell,2", "ring,4", "parking_lot,2")
QUEUES = ("fifo", "fq_codel", "codel", "sfq", "pie", "red", "fq", "cake")
COUNTERS = (
    "cat /proc/meminfo /proc/vmstat /proc/stat /proc/slabinfo /proc/net/sockstat",
    "nstat -a; ss -tinm; ip -s link; tc -s qdisc show; ps -e -o pid,vsz,rss,min_flt,args",
)
PYTHON = """
import hashlib, os, random, socket, subprocess, threading, time
draw, digest = random.Random({seed}), hashlib.sha256()
left, right = socket.socketpair()
def echo():
    while data := right.recv(9000):
        right.sendall(data[::-1])
thread = threading.Thread(target=echo)
thread.start()
for _ in range({times}):
    left.sendall(draw.randbytes(draw.randrange(1, 5000)))
    digest.update(left.recv(9000))
    blocks = [bytearray(draw.randrange(1 << 16)) for _ in range(draw.randrange(20))]
    time.sleep(draw.random() / 500)
    if draw.random() < 0.2:
        digest.update(subprocess.check_output(["seq", str(draw.randrange(2000))]))
left.shutdown(socket.SHUT_WR)
thread.join()
print(digest.hexdigest(), time.monotonic_ns(), len(blocks), os.times().children_user)
"""


@dataclass(frozen=True)
class Case:
    """A network and the commands that run in it at the same time, each with its host."""

    topology: Topology
    wire: Wire
    seed: int
    servers: tuple[str, ...]
    commands: tuple[tuple[str, str | list[str]], ...]


def main() -> int:
    options = _arguments()
    report = Report("modes")
    modes = options.modes if options.modes != [_modes.DEFAULT] else ["ptrace", "inprocess"]
    table = report.table("cases", ("modes", "cases", "bytes", "differing", "seconds"))
    differing: list[int] = []
    compared = compared_bytes = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        folder = Path(name)
        has_program = _compile(folder / PROGRAM)
        if not has_program:
            report.note("without random system calls: there is no C compiler (gcc)")
        for number in range(options.first, options.first + options.cases):
            if time.monotonic() - began > options.seconds:
                break
            case = random_case(options.seed, number, has_program=has_program)
            outputs = [_output(case, mode, folder) for mode in modes]
            compared, compared_bytes = compared + 1, compared_bytes + len(outputs[0])
            if compared % CASES_PER_NOTE == 0:
                report.note(f"{compared} cases, {len(differing)} differing")
            if lines := different_lines(outputs):
                differing.append(number)
                report.note("\n".join([f"case {number} of seed {options.seed} differs:", *lines]))
    table.add(
        modes=" ".join(modes),
        cases=compared,
        bytes=compared_bytes,
        differing=len(differing),
        seconds=round(time.monotonic() - began),
    )
    report.more = {"seed": options.seed, "first": options.first, "differing": differing}
    return report.finish(is_met=not differing)


def random_case(seed: int, number: int, *, has_program: bool) -> Case:
    """Return case `number` of a seed."""
    draw = random.Random(f"{seed}:{number}")
    name, *sizes = draw.choice(SHAPES).split(",")
    topology = getattr(shapes, name)(*map(int, sizes), **_conditions(draw))
    hosts = [host.name for host in topology.hosts]
    commands = [_command(draw, hosts, has_program=has_program) for _ in range(draw.randint(2, 7))]
    return Case(topology, draw.choice(("gso", "mtu")), number, tuple(hosts), tuple(commands))


def _conditions(draw: random.Random) -> dict[str, object]:
    words: dict[str, object] = {}
    if draw.random() < 0.7:
        words["rate"] = f"{draw.choice((1, 5, 20, 100, 1000))}Mbps"
        words["queue"] = draw.choice(QUEUES)
    if draw.random() < 0.7:
        words["delay"] = f"{draw.randint(1, 40_000)}us"
    if draw.random() < 0.5:
        words["loss"] = f"{draw.choice((0.1, 1, 5))}%"
    if "delay" in words and draw.random() < 0.3:
        words["jitter"] = f"{draw.randint(1, 900)}us"
    return words


def _command(
    draw: random.Random, hosts: list[str], *, has_program: bool
) -> tuple[str, str | list[str]]:
    host, other = draw.sample(hosts, 2)
    number, seconds = draw.randrange(10**6), draw.choice((0.2, 0.5, 1))
    python = PYTHON.format(seed=number, times=draw.randrange(60))
    flow = f"iperf3 -c {other} -p {5201 + number % 4} -t {seconds:g}"
    program = f"./{PROGRAM} {number} {draw.randint(5, 80)} 2>&1"
    choices: list[str | list[str]] = [
        f"ping -c {draw.randint(1, 40)} -i 0.0{draw.randint(2, 9)} {other}",
        f"{flow} -J",
        f"{flow} -u -b {draw.choice((1, 20, 300))}M",
        f"{flow} -P {draw.randint(2, 5)} -C {draw.choice(('reno', 'cubic', 'bbr'))}",
        ["python3", "-I", "-c", python],
        f"seq {number % 5000} | xargs -n {draw.randint(50, 400)} -P {draw.randint(1, 6)} | md5sum",
        f"head -c {number} /dev/urandom | gzip -1 | md5sum; mktemp; date +%N",
        f"for i in $(seq {number % 15}); do (sleep 0.0$i; echo $i $$) & done; wait; cat /proc/uptime",
    ]
    return host, draw.choice([*choices, *[program] * (len(choices) if has_program else 0)])


def _output(case: Case, mode: str, folder: Path) -> str:
    """Run the case in a mode; return all that it printed, or the error that ended it."""
    work = folder / "work"
    work.mkdir()
    if (folder / PROGRAM).exists():
        shutil.copy(folder / PROGRAM, work)
    try:
        with (
            _modes.in_mode(mode),
            Network(case.topology, wire=case.wire, seed=case.seed + 1, folder=work) as net,
        ):
            for host in case.servers:
                net[host].start("for p in 5201 5202 5203 5204; do iperf3 -s -p $p & done; wait")
            net.run_for("100ms")
            started = [(net[host].start(command), command) for host, command in case.commands]
            net.run_for(LIMIT)
            shown = [_shown(command, process) for process, command in started]
            shown += [net.root.run(command, check=False).output for command in COUNTERS]
            return "".join([*shown, f"end {net.now_ns} {net.warnings}\n"])
    except WanlabError as error:
        return f"error {error}\n"
    finally:
        shutil.rmtree(work)


def _shown(command: str | list[str], process: Process) -> str:
    status = process.status if process.status is not None else process.stop()
    return f"=== {command}: {status}\n{process.output}{process.stderr}"


def different_lines(outputs: Sequence[str]) -> list[str]:
    """Return the first lines that differ, as a diff, or the errors of runs that have failed."""
    if errors := [output.rstrip() for output in outputs if output.startswith("error ")]:
        return errors
    lines = [output.splitlines() for output in outputs]
    diffs = [difflib.unified_diff(lines[0], other, n=0, lineterm="") for other in lines[1:]]
    return [line for diff in diffs for line in itertools.islice(diff, MAX_LINES)]


def _compile(program: Path) -> bool:
    if shutil.which("gcc") is None:
        return False
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", program, SOURCE], check=True)
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="the first case")
    parser.add_argument("--cases", type=int, default=20, help="how many, at most")
    parser.add_argument("--seconds", type=float, default=600, help="begin no case after this time")
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
