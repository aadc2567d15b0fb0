"""Performs a test in a machine of its own, so that no test finds what another has left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from dev.errors import DevError
from dev.places import VENV

from .expected import Expectations
from .outcome import Check, checks_of, reported_checks
from .processor_time import seconds_of
from .suites import Case, script_of

_NO_MACHINE = "wanlab: "
_BETWEEN_LOOKS_S = 1.0
_REAL_TIME = 10
"""A test that takes this many times its limit in real time waits for something that does not happen."""


@dataclass(frozen=True)
class Options:
    """How tests are performed. `results` gets a file with the output of each.

    The limit is of processor time, because a busy computer must not decide which tests are cut off.
    """

    kernel: str
    modes: Sequence[str]
    limit_s: float
    jobs: int
    results: Path


@dataclass(frozen=True)
class Outcome:
    """What a test gave. If it was cut off, it has the checks until then, and one that failed."""

    case: str
    mode: str
    checks: Sequence[Check]
    unexpected: Sequence[Check]
    output: str
    wall_s: float


def perform_all(
    cases: Sequence[Case], options: Options, expectations: Expectations
) -> Iterator[Outcome]:
    """Perform the tests in each mode, and yield what they gave, as they end."""
    interrupted = Event()
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [
            pool.submit(_perform, case, mode, options, expectations, interrupted)
            for case in cases
            for mode in options.modes
        ]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            interrupted.set()
            for future in waiting:
                future.cancel()


def _perform(
    case: Case, mode: str, options: Options, expectations: Expectations, interrupted: Event
) -> Outcome:
    began_s = time.monotonic()
    command = [str(VENV / "bin" / "wanlab"), "exec", "--no-drops"]
    command += ["--traps", mode] if mode else []
    command += ["--kernel", options.kernel] if options.kernel else []
    command += ["--clock", "real"] if case.name in expectations.real_clock else []
    script = script_of(case, expectations.port_mbps.get(case.name))
    with tempfile.TemporaryDirectory() as folder:
        command += ["--", "/bin/sh", "-c", script]
        output, errors, status = _run(command, Path(folder), options.limit_s, interrupted)
    if status is None:
        cut_off = Check(f"cut off after {options.limit_s:.0f} s", "failed")
        checks = [*reported_checks(output), cut_off]
    else:
        if not output and errors.startswith(_NO_MACHINE) and status == 1:
            raise DevError(f"{case.name} has no machine", errors.strip())
        checks = checks_of(output, status)
    return Outcome(
        case=case.name,
        mode=mode,
        checks=checks,
        unexpected=expectations.unexpected(case.name, mode, checks),
        output=output,
        wall_s=time.monotonic() - began_s,
    )


def _run(
    command: Sequence[str], folder: Path, limit_s: float, interrupted: Event
) -> tuple[str, str, int | None]:
    """Return output, errors and exit status of a command; None as status if it was cut off."""
    ends_s = time.monotonic() + _REAL_TIME * limit_s
    with _started(command, folder) as process:
        while True:
            try:
                output, errors = process.communicate(timeout=_BETWEEN_LOOKS_S)
            except subprocess.TimeoutExpired:
                is_late = seconds_of(process.pid) >= limit_s or time.monotonic() >= ends_s
                if not is_late and not interrupted.is_set():
                    continue
                process.terminate()
                output, errors = process.communicate()
                return _text(output), _text(errors), None
            return _text(output), _text(errors), process.returncode


@contextmanager
def _started(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)  # it ends its machine


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
