"""Runs a lab and keeps what came of it: one folder, named by the run.

    results/lab14-seed1-3f2a9c01/
      report.json             findings, runs, provenance: what --json prints
      report.txt              the table
      transcript.txt          every command, and what it printed
      1-bdp/                  a record (see wanlab.record)
      figures/comparison.pdf  ...

The name's last part is the hash of everything that the run depends on, so equal runs have equal names. A
run that did not end leaves its folder with `.partial` behind its name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wanlab import Network, __version__, find_image, load, plot, record
from wanlab.errors import RequirementError

from .lab import Finding, Lab, LabResult

HASH_DIGITS = 8


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
) -> tuple[Path, dict[str, Any]]:
    """Runs a lab; returns its folder and the report. What was there under the same name is replaced."""
    name = f"lab{lab.number:02}-seed{seed}-{run_key(lab, seed, clock)}"
    folder = results / name
    partial = results / f"{name}.partial"
    try:
        results.mkdir(parents=True, exist_ok=True)
        if partial.exists():
            shutil.rmtree(partial)
        partial.mkdir()
    except OSError as error:
        raise RequirementError(
            f"cannot make the results folder {folder}: {error.strerror}",
            "name another place with --results",
        ) from None
    work = partial / "work"
    work.mkdir()
    with Network(
        load(lab.topology),
        clock=clock,  # type: ignore[arg-type]
        wire=lab.wire,  # type: ignore[arg-type]
        seed=seed,
        folder=work,
        sysctls=lab.sysctls,
        line_rate=lab.line_rate_bps,
    ) as network:
        result = lab.perform(network, say)
    say("writing records and figures")
    report = write_results(lab, result, partial, seed=seed, clock=clock)
    shutil.rmtree(work)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    report["folder"] = str(folder)
    return folder, report


def write_results(
    lab: Lab, result: LabResult, folder: Path, *, seed: int, clock: str
) -> dict[str, Any]:
    """Records, figures, transcript and report."""
    figures = folder / "figures"
    figures.mkdir()
    for run in result.runs:
        record.write(run.record, folder / run.name)
        figure = plot.timeline(run.panels, title=f"Lab {lab.number}: {run.title}")
        for kind in ("pdf", "png"):
            plot.save(figure, figures / f"{run.name}.{kind}")
    if len(result.runs) > 1:
        figure = plot.comparison(
            {run.title: run.panels for run in result.runs},
            title=f"Lab {lab.number}: {lab.title}",
        )
        for kind in ("pdf", "png"):
            plot.save(figure, figures / f"comparison.{kind}")
    transcript = "\n".join(f"{name}\n{text}" for name, text in result.outputs.items())
    (folder / "transcript.txt").write_text(transcript, encoding="utf-8")
    report = _report(lab, result, seed, clock)
    (folder / "report.json").write_text(
        json.dumps(report, indent=2, sort_keys=True) + os.linesep, encoding="utf-8"
    )
    return report


def _report(lab: Lab, result: LabResult, seed: int, clock: str) -> dict[str, Any]:
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
        "unit": finding.unit,
        "band": finding.band,
        "reproduced": finding.is_reproduced,
        "why": finding.why,
    }
