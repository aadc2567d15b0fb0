"""In a machine, system calls, page faults and new processes cost limited multiples of their host costs.

Each switch between a program and the machine's kernel is a switch between two processes of the computer.
The number of these switches, and not of packets, decides how long a run takes. `traps.c` is compiled
with `cc` and runs alternately on the computer and in a machine, on one processor. It counts cycles of
the time stamp counter, because no time passes in a machine while a program runs. The fastest of many
series counts, because a busy computer can only make a series slower.

    getppid            the cheapest system call
    clock_gettime      the C library's function; _raw is the system call
    mmap_fault_munmap  one page: mapped, written to, unmapped
    fault              a page of a larger mapping is written to for the first time
    pipe_ping_pong     a byte to another process and back
    fork_exit_wait     a small process: fork(), exit() and wait()
    exec_true          /bin/true, by posix_spawn(), until it has ended
    python             `python3 -c pass`, until it has ended

    host_us, machine_us  microseconds on the computer and in a machine
    ratio                the second divided by the first; at_most: the claim

With several --kernel or --modes (docs/how-to/kernels.md), their machines run side by side, and
the runs take turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import _modes
from _report import Report

from wanlab import Network, Topology
from wanlab.machine.guest_environment import ENVIRONMENT

SOURCE = Path(__file__).with_suffix(".c")
# Twice the ratios measured on a busy computer with 2 CPUs; on an idle one, most are a third of these.
AT_MOST = {
    "getppid": 150.0,
    "clock_gettime": 3.0,
    "clock_gettime_raw": 110.0,
    "mmap_fault_munmap": 55.0,
    "fault": 180.0,
    "pipe_ping_pong": 25.0,
    "fork_exit_wait": 90.0,
    "exec_true": 80.0,
    "python": 20.0,
}
COLUMNS = ("kernel", "mode", "measure", "host_us", "machine_us", "ratio", "at_most", "is_met")


def main() -> int:
    options = _arguments()
    compiler = shutil.which("cc")
    if compiler is None:
        print("the benchmark needs a C compiler (cc): sudo apt install gcc", file=sys.stderr)
        return 2
    kinds = [(kernel, mode) for kernel in options.kernel or [""] for mode in options.modes]
    report = Report("traps", kinds[0][0])
    measures = options.only or list(AT_MOST)
    host: dict[str, float] = {}
    machines: list[dict[str, float]] = [{} for _ in kinds]
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder, ExitStack() as stack:
        program = Path(folder) / "traps"
        subprocess.run([compiler, "-O2", "-o", program, SOURCE], check=True)
        command = [str(program), str(options.repeats), *measures]
        _keep_fastest(host, _on_the_computer([str(program), "cycles_per_us"]))
        networks = [stack.enter_context(_network(*kind, folder)) for kind in kinds]
        for _ in range(options.rounds):
            _keep_fastest(host, _on_the_computer(command))
            for machine, net in zip(machines, networks, strict=True):
                _keep_fastest(machine, net.root.run(command).output)
    per_us = host["cycles_per_us"]
    report.more = {"cycles_per_us": round(per_us, 1)}
    table = report.table("traps", COLUMNS)
    met = []
    for (kernel, mode), machine in zip(kinds, machines, strict=True):
        for name in measures:
            ratio = machine[name] / host[name]
            met.append(ratio <= AT_MOST[name])
            table.add(
                kernel=kernel or None,
                mode=mode or None,
                measure=name,
                host_us=host[name] / per_us,
                machine_us=machine[name] / per_us,
                ratio=ratio,
                at_most=AT_MOST[name],
                is_met=met[-1],
            )
    return report.finish(is_met=all(met))


def _network(kernel: str, mode: str, folder: str) -> Network:
    return Network(Topology(), kernel=kernel, folder=folder, traps=mode)


def _on_the_computer(command: list[str]) -> str:
    # As in a machine: the same programs, and standard input and output are not a terminal.
    done = subprocess.run(
        command,
        check=True,
        env=os.environ | {"PATH": ENVIRONMENT["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _keep_fastest(fastest: dict[str, float], output: str) -> None:
    for line in output.splitlines():
        name, cycles = line.split()
        fastest[name] = min(float(cycles), fastest.get(name, float("inf")))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs, alternately in and outside")
    parser.add_argument("--repeats", type=int, default=60, help="series of each measure in a run")
    parser.add_argument("--only", action="append", choices=AT_MOST)
    parser.add_argument("--kernel", action="append", help="the kernel's name; may be repeated")
    _modes.add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
