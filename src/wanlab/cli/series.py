"""`wanlab lab run` of several units: side by side, each in a process of its own, the longest first.

Each place has a core of its own if there are as many. Whatever ends this ends all of them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wanlab.errors import RequirementError
from wanlab.labs import catalog, summary, unit_file, unit_process
from wanlab.labs.report import UnitReport
from wanlab.labs.unit import Unit

from .progress import Progress

LOOK_S = 0.1
TOLD_EVERY_S = {True: 1.0, False: 30.0}
"""Whether standard error is a terminal, whose line changes."""
END_LIMIT_S = 20.0
USUAL_FLOW_S = 10.0
USUAL_SCRIPT_S = 60.0
"""Of the flows in a file that is read at the prompt."""
OPTION = r"\s-{}\s*([\d.]+)"


@dataclass
class Run:
    """A unit that runs."""

    name: str
    process: subprocess.Popen[bytes]
    said: Path
    """What it says on standard error."""
    cores: frozenset[int]
    began: float = field(default_factory=time.monotonic)
    began_at: float = field(default_factory=time.time)

    @property
    def last_line(self) -> str:
        with suppress(OSError):
            lines = self.said.read_text(encoding="utf-8", errors="replace").splitlines()
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""


@dataclass(frozen=True)
class Ended:
    """A unit that has run."""

    name: str
    status: int
    report: UnitReport | None
    error: str


class Series:
    """`run` gives what came of each unit, in the order in which they were named."""

    def __init__(self, names: Sequence[str], *, jobs: int, seed: int, clock: str, results: Path):
        self.progress = Progress()
        self._names = list(dict.fromkeys(names))
        self._waiting = sorted(self._names, key=lambda name: -expected_s(catalog.find(name)))
        self._options = ["--seed", str(seed), "--clock", clock, "--results", str(results)]
        self._seed = seed
        self._results = results
        self._running: list[Run] = []
        self._ended: dict[str, Ended] = {}
        cores = sorted(os.sched_getaffinity(0))
        places = min(jobs, len(self._names))
        own = [frozenset({core}) for core in cores[:places]]
        self._places = own if 1 < places <= len(cores) else [frozenset(cores)] * places
        self._told = 0.0

    def run(self) -> list[Ended]:
        with tempfile.TemporaryDirectory(prefix="wanlab-series-") as folder:
            try:
                while self._waiting or self._running:
                    self._begin(Path(folder))
                    time.sleep(LOOK_S)
                    self._look()
            finally:
                self._end_all()
                self.progress.end()
        return [self._ended[name] for name in self._names]

    def _begin(self, folder: Path) -> None:
        while self._waiting and self._places:
            name, cores = self._waiting.pop(0), self._places.pop(0)
            command = unit_process.command(name, "--json", *self._options)
            said = folder / f"{name}.txt"
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, cores)  # what is started has it from here
            try:
                with said.open("wb") as errors:
                    process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=errors,
                        start_new_session=True,  # Ctrl-C is ours to pass on
                        preexec_fn=unit_process.end_with_parent,
                    )
            finally:
                os.sched_setaffinity(0, before)
            self._running.append(Run(name, process, said, cores))
            self._tell(f"{name} begins")

    def _look(self) -> None:
        for one in [one for one in self._running if one.process.poll() is not None]:
            self._running.remove(one)
            self._places.append(one.cores)
            took_s = time.monotonic() - one.began
            self._ended[one.name] = self._outcome(one)
            self._tell(f"{one.name} has ended with status {one.process.returncode}, {took_s:.0f} s")
        now = time.monotonic()
        if self._running and now - self._told >= TOLD_EVERY_S[self.progress.is_terminal]:
            running = ", ".join(
                f"{one.name} {one.last_line if len(self._running) < 3 else ''}".strip()
                for one in self._running
            )
            self._tell(running)

    def _tell(self, line: str) -> None:
        self._told = time.monotonic()
        self.progress.say(f"{len(self._ended)} of {len(self._names)} done; {line}")

    def _outcome(self, one: Run) -> Ended:
        status = one.process.returncode
        folder = self._results / catalog.find(one.name).run_name(self._seed)
        # An older one may lie there if this run has left none.
        with suppress(OSError, ValueError):
            path = folder / "report.json"
            if status in (0, 1) and path.stat().st_mtime >= one.began_at:
                return Ended(one.name, status, json.loads(path.read_text(encoding="utf-8")), "")
        return Ended(one.name, status or 1, None, one.last_line or f"status {status}")

    def _end_all(self) -> None:
        for one in self._running:
            with suppress(ProcessLookupError):
                one.process.terminate()
        limit = time.monotonic() + END_LIMIT_S
        for one in self._running:
            try:
                one.process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(one.process.pid, signal.SIGKILL)
                one.process.wait()


def expected_s(unit: Unit) -> float:
    """About how much of the network's time a unit takes: what its commands ask for."""
    steps = list(unit.steps)
    for file in sorted(unit.folder.glob("solution*.yaml"))[:1]:
        steps += unit_file.read_work(file).steps
    lines = [line for step in steps for line in step.lines]
    lines += [flow.command for check in unit.check for flow in check.flows]
    waits_s = sum((step.for_ns or 0) / 1e9 for step in steps)
    return waits_s + sum(_seconds_in(line) for line in lines)


def _seconds_in(line: str) -> float:
    if "iperf3" in line and " -c " in line:
        return _option(line, "t", USUAL_FLOW_S) + _option(line, "O", 0.0)
    if line.startswith("source "):
        return USUAL_SCRIPT_S
    if line.startswith("ping "):
        return _option(line, "c", 0.0)
    return 0.0


def _option(line: str, letter: str, usual: float) -> float:
    found = re.search(OPTION.format(letter), line)
    return float(found[1]) if found else usual


def keep(
    rows: Sequence[summary.Row], folder: Path, *, seed: int, clock: str, wall_s: float
) -> Path:
    """Writes the summary beside the units' reports: course-seed1.json and .html; the latter's path."""
    about = {"seed": seed, "clock": clock, "wall_s": round(wall_s, 1)}
    document = {**about, "units": rows, "together": summary.totals(rows)}
    path = folder / f"course-seed{seed}.html"
    heading = f"The course, seed {seed}, {clock} clock: {len(rows)} units in {wall_s:.0f} s"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=2, sort_keys=True) + "\n"
        path.with_suffix(".json").write_text(text, encoding="utf-8")
        path.write_text(summary.page(rows, heading), encoding="utf-8")
    except OSError as error:
        raise RequirementError(
            f"cannot write the summary to {folder}: {error.strerror or error}",
            "name another place with --results",
        ) from None
    return path
