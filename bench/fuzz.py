"""wanlab accepts any file or argument, or refuses it with an error for its user, in a short time.

Inputs of each kind are made from valid ones by random changes (`_inputs.py`) and read as wanlab reads
them. Each must be accepted, or refused with a WanlabError.

    refused, accepted   how many inputs were
    wrong               other exceptions (tracebacks), more than LIMIT_S of processor time, more than
                        MAX_BYTES of memory
    slowest_s, most_mb  the processor time and the memory of the input that took most

The same seed makes the same inputs. `--keep FOLDER` keeps the wrong ones. The times are shared between
the kinds; `--each 20000` reads that many inputs of each.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType

from _foreign_inputs import FOREIGN_KINDS
from _inputs import KINDS as OWN_KINDS
from _inputs import Kind
from _report import Report

from wanlab.errors import WanlabError

LIMIT_S = 5.0
MAX_BYTES = 500 << 20
MAX_ADDRESSES_BYTES = 4 << 30
KINDS = {**OWN_KINDS, **FOREIGN_KINDS}


class TookTooLong(BaseException):
    """An input took more than LIMIT_S of processor time."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--times", type=int, default=20_000)
    arguments.add_argument("--each", type=int, help="inputs of each kind")
    arguments.add_argument("--seed", type=int, default=1, help="seed of the inputs")
    arguments.add_argument(
        "--kinds", default=",".join(KINDS), help="kinds of inputs, separated by commas"
    )
    arguments.add_argument("--keep", type=Path, help="keep wrong inputs in FOLDER")
    options = arguments.parse_args()
    # Large numbers in an input must not take the computer's memory.
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESSES_BYTES, resource.RLIM_INFINITY))
    report = Report("fuzz")
    columns = ("kind", "number", "refused", "accepted", "wrong", "slowest_s", "most_mb")
    table = report.table("inputs", columns)
    names = options.kinds.split(",")
    wrong: list[dict[str, object]] = []
    for name in names:
        shared = options.times * KINDS[name].share // sum(KINDS[kind].share for kind in names)
        times = options.each or shared
        with tempfile.TemporaryDirectory() as folder:
            outcome = Outcome(name)
            for number in range(times):
                outcome.attempt(KINDS[name], f"{options.seed}:{name}:{number}", Path(folder))
        if options.keep:
            outcome.keep(options.keep)
        counts = {verdict: outcome.counts[verdict] for verdict in ("refused", "accepted", "wrong")}
        slowest_s = round(outcome.slowest_s, 2)
        most_mb = outcome.most_bytes >> 20
        table.add(kind=name, number=times, **counts, slowest_s=slowest_s, most_mb=most_mb)
        wrong += [{"kind": name, **failure} for failure in outcome.wrong.values()]
    report.more["wrong"] = wrong
    for failure in wrong:
        report.note(
            f"{failure['kind']}, seed {failure['seed']}: {failure['error']}\n{failure['where']}"
        )
    return report.finish(is_met=not wrong)


class Outcome:
    """The results of the inputs of one kind; of inputs that fail alike, the first is kept."""

    def __init__(self, name: str) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: dict[str, dict[str, object]] = {}
        self.slowest_s = 0.0
        self.most_bytes = 0
        self._name = name
        self._inputs: dict[str, bytes] = {}

    def attempt(self, kind: Kind, seed: str, folder: Path) -> None:
        data = kind.make(random.Random(seed))
        before_bytes = _reset_peak_bytes()
        before = _processor_s()
        error = read_within_limit(kind, data, folder)
        self.slowest_s = max(self.slowest_s, _processor_s() - before)
        peak_bytes = _memory_bytes("VmHWM") - before_bytes
        self.most_bytes = max(self.most_bytes, peak_bytes)
        if peak_bytes > MAX_BYTES:
            error = MemoryError(f"{peak_bytes >> 20} MB")
        if error is None:
            self.counts["accepted"] += 1
        elif isinstance(error, WanlabError):
            self.counts["refused"] += 1
        else:
            self.counts["wrong"] += 1
            where = "".join(traceback.format_tb(error.__traceback__)[-2:]).rstrip()
            key = f"{type(error).__name__}: {where}"
            what = f"{type(error).__name__}: {str(error)[:200]}"
            self.wrong.setdefault(key, {"seed": seed, "error": what, "where": where})
            self._inputs.setdefault(key, data)

    def keep(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(self._inputs.values()):
            (folder / f"{self._name}-{number}").write_bytes(data)


def read_within_limit(kind: Kind, data: bytes, folder: Path) -> BaseException | None:
    """Read an input as wanlab does; return the exception, or None if the input is accepted."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"more than {LIMIT_S:.0f} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        kind.read(data, folder)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return None


def _reset_peak_bytes() -> int:
    """Return how much memory is used, and forget the highest use so far."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory_bytes("VmRSS")


def _memory_bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) << 10


def _processor_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
