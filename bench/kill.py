"""No kill, at any moment, leaves a process, a file, a mount or a socket behind.

Each kill has new PID, mount and network namespaces, with empty folders /tmp, /dev/shm, /run and home.
A program is started there and gets a signal at a random moment. Then the content of the namespaces is
compared with that before the start (`_killed.py`).

    program     exec, mn, python, lab, web, sweep
    target      wanlab's process, its process group, the kernel's process, or one guest process
    left        what remains. After SIGKILL, the note of the machine may remain until `wanlab clean`
    hangs       programs that had not ended 90 s after the signal
    tracebacks  of wanlab
    starts      tracebacks of Python itself, which was interrupted before it had loaded wanlab. They
                are counted, but are not failures: no program in Python can prevent them
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from _report import Report

PROGRAMS = ("exec", "mn", "python", "lab", "web", "sweep")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
TARGETS = ("wanlab", "wanlab", "group", "kernel", "guest")
PATIENCE_S = 300.0
NAMESPACES = ("--pid", "--fork", "--kill-child", "--mount", "--net", "--ipc", "--mount-proc")
COUNTS = ("hits", "hangs", "left", "tracebacks", "starts")


@dataclass(frozen=True)
class Kill:
    """A program, the process to kill, the signal, and the moment (a fraction of the watched time)."""

    program: str
    target: str
    signal: str
    moment: float


@dataclass
class Tally:
    """The outcomes of one program's kills."""

    times: int = 0
    gone_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: dict[str, float] | None) -> None:
        self.times += 1
        if outcome is not None:
            self.gone_s = max(self.gone_s, outcome["gone_s"])
            self.counts.update({name: int(outcome[name]) for name in COUNTS})


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    arguments.add_argument(
        "--programs", default=",".join(PROGRAMS), help="programs, separated by commas"
    )
    arguments.add_argument("--jobs", type=int, default=1, help="kills at the same time")
    options = arguments.parse_args()
    # A background job of a shell ignores Ctrl-C, and the programs to kill would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report("kill")
    programs = options.programs.split(",")
    tallies = {program: Tally() for program in programs}
    wrong: list[dict[str, object]] = []
    kills = [kill for kill in choose(options.times, options.seed) if kill.program in tallies]
    pool = ThreadPoolExecutor(options.jobs)
    try:
        outcomes = pool.map(lambda kill: perform(kill, wrong), kills)
        for kill, outcome in zip(kills, outcomes, strict=True):
            tallies[kill.program].add(outcome)
    except KeyboardInterrupt:
        pool.shutdown(cancel_futures=True)
        report.note("interrupted: the table shows the kills so far")
    table = report.table("kills", ("program", "times", *COUNTS, "gone_s"))
    for program, tally in tallies.items():
        counts = {name: tally.counts[name] for name in COUNTS}
        table.add(program=program, times=tally.times, **counts, gone_s=round(tally.gone_s, 2))
    report.more["wrong"] = wrong
    return report.finish(is_met=not wrong)


def choose(times: int, seed: int) -> list[Kill]:
    """Return the kills: the same ones for the same seed."""
    moments = random.Random(seed)
    kills = []
    for index in range(times):
        program = PROGRAMS[index % len(PROGRAMS)]
        target = moments.choice(TARGETS)
        # The kernel and guest processes ignore what a terminal or a batch system sends.
        number = signal.SIGKILL if target in ("kernel", "guest") else moments.choice(ENDING)
        kills.append(Kill(program, target, number.name, moments.random()))
    return kills


def perform(kill: Kill, wrong: list[dict[str, object]]) -> dict[str, float] | None:
    """Perform a kill and append failures to `wrong`.

    Return the counts, or None if the program had already ended.
    """
    namespaces = NAMESPACES if os.geteuid() == 0 else ("--user", "--map-root-user", *NAMESPACES)
    inside = Path(__file__).with_name("_killed.py")
    done = subprocess.run(
        ["unshare", *namespaces, sys.executable, inside, json.dumps(asdict(kill))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
    )
    outcome = json.loads(done.stdout)
    if not outcome["was_running"]:
        return None
    failures = {key: outcome[key] for key in ("left", "hangs", "tracebacks") if outcome[key]}
    if failures:
        wrong.append({**asdict(kill), **failures, "output": outcome["output"]})
        print(json.dumps(wrong[-1]), file=sys.stderr, flush=True)
    return {
        "hits": 1,
        "hangs": outcome["hangs"],
        "left": len(outcome["left"]),
        "tracebacks": outcome["tracebacks"],
        "starts": outcome["starts"],
        "gone_s": outcome["gone_s"],
    }


if __name__ == "__main__":
    sys.exit(main())
