"""Runs a lab and keeps what came of it: one folder, named by the run.

    results/lab14-seed1-3f2a9c01/
      report.json             findings, runs, provenance: what --json prints
      report.txt              the table
      transcript.txt          every command, and what it printed
      1-bdp/                  a record (see wanlab.record)
      figures/comparison.pdf  ...

The name's last part is the hash of everything that the run depends on, so equal runs have equal names. A
run that did not end leaves its folder with `.partial` behind its name: what was measured until then,
without figures. It is the folder that a run works in, so a second run of that name has to wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wanlab import Network, __version__, load, plot, record
from wanlab.errors import RequirementError, WanlabError
from wanlab.machine.embedded import find_image

from . import table
from .lab import Finding, Lab, LabResult, Run, readable

HASH_DIGITS = 8
# Several times what a lab leaves behind.
LEAST_FREE_BYTES = 64 << 20

Report = dict[str, Any]


def run_key(lab: Lab, seed: int, clock: str) -> str:
    """Hash of what decides the results."""
    parts = {
        "wanlab": __version__,
        "topology": lab.topology.read_text(encoding="utf-8"),
        "program": (lab.topology.parent / "__init__.py").read_text(encoding="utf-8"),
        "wire": lab.wire,
        "line_rate_bps": lab.line_rate_bps,
        "sysctls": dict(lab.sysctls),
        "seed": seed,
        "clock": clock,
        "kernel": find_image().manifest_hash,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:HASH_DIGITS]


def run_lab(
    lab: Lab,
    *,
    seed: int,
    clock: str,
    results: Path,
    say: Callable[[str], None],
) -> tuple[Path, Report]:
    """Runs a lab; returns its folder and the report. What was there under the same name is replaced.

    An exception, of whatever kind, carries a note that says where what was measured is kept.
    """
    name = f"lab{lab.number:02}-seed{seed}-{run_key(lab, seed, clock)}"
    folder = results / name
    with _told_as_ours(folder), _own_folder(results / f"{name}.partial") as partial:
        result = LabResult()
        try:
            _perform(lab, result, partial, seed, clock, say)
            say("writing records and figures")
            report = write_results(lab, result, partial, seed=seed, clock=clock)
        except BaseException as error:
            _keep(lab, result, partial, seed, clock, error)
            raise
        shutil.rmtree(partial / "work")
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    return folder, report | {"folder": str(folder)}


def _perform(
    lab: Lab, result: LabResult, partial: Path, seed: int, clock: str, say: Callable[[str], None]
) -> None:
    (partial / "work").mkdir()
    with Network(
        load(lab.topology),
        clock=clock,  # type: ignore[arg-type]
        wire=lab.wire,  # type: ignore[arg-type]
        seed=seed,
        folder=partial / "work",
        sysctls=lab.sysctls,
        line_rate=lab.line_rate_bps,
    ) as network:
        try:
            lab.perform(network, result, say)
        except BaseException:
            # A network that has died tells nothing more; what it has told before is kept all the same.
            with contextlib.suppress(WanlabError):
                _add_underway(network, result)
            raise


def _add_underway(network: Network, result: LabResult) -> None:
    """The measurement that was interrupted, as far as it went."""
    underway = result.underway
    tables = underway.sampling.tables() if underway else {}
    if underway and tables:
        result.underway = None
        provenance = network.provenance(parameters={"interrupted": True})
        name = f"{underway.name}-interrupted"
        result.runs.append(Run(name, underway.title, record.Record(provenance, tables), []))


def _keep(
    lab: Lab, result: LabResult, partial: Path, seed: int, clock: str, error: BaseException
) -> None:
    """What there is when a run ends before its time."""
    if not result.outputs:
        shutil.rmtree(partial, ignore_errors=True)
        return
    with contextlib.suppress(OSError, WanlabError):
        _write_records(result, partial)
        _write_report(_report(lab, result, seed, clock), result, partial)
    error.add_note(f"what was measured until then is in {partial}")


# -- the folder -----------------------------------------------------------------------------------


@contextlib.contextmanager
def _told_as_ours(folder: Path) -> Iterator[None]:
    """Disks are full, and folders not ours to write to: no reason for a traceback."""
    try:
        yield
    except OSError as error:
        problem = RequirementError(
            f"cannot write results to {folder}: {error.strerror or error}",
            "name another place with --results",
        )
        for note in getattr(error, "__notes__", ()):
            problem.add_note(note)
        raise problem from None


@contextlib.contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """A folder, empty, that is ours alone until it is left. What holds it is a lock on the folder
    itself, which goes away with us, however we end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free
    if free < LEAST_FREE_BYTES:
        raise RequirementError(
            f"cannot write results to {folder.parent}: only {free >> 20} MB are free there",
            f"a lab may need {LEAST_FREE_BYTES >> 20} MB; name another place with --results",
        )
    held = _hold(folder)
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        yield folder
    finally:
        os.close(held)


def _hold(folder: Path) -> int:
    """The descriptor that holds the lock."""
    while True:
        folder.mkdir(exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between mkdir and lock another run may have ended, and taken the folder with it.
            if folder.exists() and os.path.samestat(os.fstat(held), folder.stat()):
                return held
        except BlockingIOError:
            os.close(held)
            raise RequirementError(
                f"the same run is under way already: it writes to {folder}",
                "wait for it, choose another --seed, or another place with --results",
            ) from None
        os.close(held)


# -- what is written ------------------------------------------------------------------------------


def write_results(lab: Lab, result: LabResult, folder: Path, *, seed: int, clock: str) -> Report:
    """Records, figures, transcript and report."""
    _write_records(result, folder)
    _write_figures(lab, result, folder / "figures")
    report = _report(lab, result, seed, clock)
    _write_report(report, result, folder)
    return report


def _write_records(result: LabResult, folder: Path) -> None:
    for run in result.runs:
        record.write(run.record, folder / run.name, replace=True)


def _write_figures(lab: Lab, result: LabResult, folder: Path) -> None:
    folder.mkdir()
    for run in result.runs:
        figure = plot.timeline(run.panels, title=f"Lab {lab.number}: {run.title}")
        for kind in ("pdf", "png"):
            plot.save(figure, folder / f"{run.name}.{kind}")
    if len(result.runs) > 1:
        figure = plot.comparison(
            {run.title: run.panels for run in result.runs},
            title=f"Lab {lab.number}: {lab.title}",
        )
        for kind in ("pdf", "png"):
            plot.save(figure, folder / f"comparison.{kind}")


def _write_report(report: Report, result: LabResult, folder: Path) -> None:
    transcript = "\n".join(f"{name}\n{text}" for name, text in result.outputs.items())
    (folder / "transcript.txt").write_text(transcript, encoding="utf-8")
    (folder / "report.txt").write_text(table.text(report), encoding="utf-8")
    (folder / "report.json").write_text(
        json.dumps(report, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def _report(lab: Lab, result: LabResult, seed: int, clock: str) -> Report:
    return {
        "lab": lab.number,
        "title": lab.title,
        "seed": seed,
        "clock": clock,
        "wire": lab.wire,
        "line_rate_bps": lab.line_rate_bps,
        "findings": [_finding(finding) for finding in result.findings],
        "reproduced": sum(finding.is_reproduced for finding in result.findings),
        "runs": {run.name: {"digest": run.record.digest()} for run in result.runs},
        "warnings": sorted({w for run in result.runs for w in run.record.provenance.warnings}),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "what": finding.what,
        "manual": finding.manual,
        "ours": finding.ours,
        "ours_text": readable(finding.ours),
        "unit": finding.unit,
        "band": finding.band,
        "at_least": finding.at_least,
        "at_most": finding.at_most,
        "reproduced": finding.is_reproduced,
        "why": finding.why,
    }
