"""A sweep of 200 runs is 1.9 times as fast on two cores as on one, and no kill changes its table.

One run is 10 s of one flow at 100 Mbit/s. The sweep is the command `wanlab sweep` from start to end,
without a cache; tables are compared byte for byte.

    one, two       with `-j 1`, and with `-j 2` or the value of `--jobs`
    killed         killed `--kills` times by SIGKILL, after some more runs each time, then run to the end
    cluster        a Dask scheduler on loopback and two worker processes with one thread each, one of
                   which is killed when a quarter of the runs is done; needs wanlab[cluster]

    wall_s         real time of all attempts together
    speedup        compared with one core; per_run_s: wall_s per run
    same_table     whether the table is the same as with one core
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from _report import Report

MIN_SPEEDUP = 1.9
FLOW = Path(__file__).with_name("_flow.py")
TABLE = "results.parquet"
COLUMNS = ("sweep", "runs", "wall_s", "per_run_s", "speedup", "kills", "same_table")
POLL_S = 0.05


def main() -> int:
    options = _arguments()
    report = Report("sweep")
    table = report.table("sweeps", COLUMNS)
    is_met = True
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        folder = Path(name)
        shared = ["--set", f"seconds={options.seconds}", "--repeats", str(options.runs // 4)]
        count = options.runs // 4 * 4

        def add(name: str, wall_s: float, kills: int) -> bool:
            same = (folder / name / TABLE).read_bytes() == (folder / "one" / TABLE).read_bytes()
            speedup = one_s / wall_s if not kills else None
            table.add(
                sweep=name,
                runs=count,
                wall_s=wall_s,
                per_run_s=wall_s / count,
                speedup=speedup,
                kills=kills,
                same_table=same,
            )
            return same

        one_s = _timed(_sweep(folder / "one", [*shared, "-j", "1"]))
        add("one", one_s, 0)
        two_s = _timed(_sweep(folder / "two", [*shared, "-j", str(options.jobs)]))
        is_met &= add("two", two_s, 0)
        if options.jobs == 2:
            is_met &= one_s / two_s >= MIN_SPEEDUP
        killed_s = _killed(folder / "killed", shared, count, options.kills)
        is_met &= add("killed", killed_s, options.kills)
        if importlib.util.find_spec("distributed") is None:
            report.note("no cluster: distributed is not installed (pip install 'wanlab[cluster]')")
        else:
            is_met &= add("cluster", _on_cluster(folder, shared, count), 1)
    return report.finish(is_met=is_met)


def _sweep(output: Path, options: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "wanlab.cli", "sweep", str(FLOW), "--output", str(output)]
    return [*command, "--no-cache", "--no-report", *options]


def _timed(command: Sequence[str]) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def _finished(output: Path) -> int:
    return len(list(output.glob("runs/*/result.json")))


def _killed(output: Path, common: Sequence[str], count: int, kills: int) -> float:
    """Run a sweep that is killed when 1/11, 2/11, ... of its runs are done; return the real time."""
    began = time.monotonic()
    for number in range(1, kills + 1):
        process = subprocess.Popen(_sweep(output, common), stdout=subprocess.DEVNULL)
        while process.poll() is None and _finished(output) < number * count // (kills + 1):
            time.sleep(POLL_S)
        process.kill()
        process.wait()
    _timed(_sweep(output, common))
    return time.monotonic() - began


def _on_cluster(folder: Path, common: Sequence[str], count: int) -> float:
    output = folder / "cluster"
    with _cluster(folder) as (address, workers):
        began = time.monotonic()
        options = [*common, "--scheduler", address]
        process = subprocess.Popen(_sweep(output, options), stdout=subprocess.DEVNULL)
        while process.poll() is None and _finished(output) < count // 4:
            time.sleep(POLL_S)
        workers[0].kill()
        process.wait()
        return time.monotonic() - began


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    address = str(folder / "scheduler.json")
    common = ["--no-dashboard", "--scheduler-file", address]

    def start(name: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", *common, *options]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    started = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")]
    worker_options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder / "dask")]
    started += [start("dask_worker", *worker_options) for _ in range(2)]
    try:
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="runs of each sweep, a multiple of 4")
    parser.add_argument("--seconds", type=int, default=10, help="length of each flow")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once, compared with one")
    parser.add_argument("--kills", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
