"""A measured model, and its file: what was measured here, and what is another model's, and says so."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from wanlab.topology.cpu import ABOUT, COSTS, MAX_CORES, CpuModel

from .loops import Measured

STACK = "stack"
STACK_PARTS = ("tx_stack_ns", "rx_stack_ns")
PART_OF_MODEL = "threshold_ns"
CPU_INFO = Path("/proc/cpuinfo")


def calibrated(
    base: CpuModel,
    name: str,
    measured: Mapping[str, Measured],
    error: float,
    *,
    version: str,
    day: str,
) -> CpuModel:
    """Return a model of this computer with this name. `base` has the costs that were not measured.

    `version` is that of wanlab, and `day` the date of the measurement.
    """
    costs, sources = dict(base.costs), dict(base.sources)
    for cost in COSTS:
        if cost in measured:
            costs[cost] = round(measured[cost].value)
            sources[cost] = f"measured, up to {_percent(measured[cost])} too high"
        elif cost != PART_OF_MODEL:
            sources[cost] = f"of {base.name}, not measured: {base.sources[cost]}"
    if STACK in measured:
        share = measured[STACK].value / sum(base.costs[name] for name in STACK_PARTS)
        for part in STACK_PARTS:
            costs[part] = round(base.costs[part] * share)
            sources[part] = f"measured as their sum, divided as in {base.name}"
    return replace(
        base,
        name=name,
        cores=min(len(os.sched_getaffinity(0)), MAX_CORES),
        processor=processor_name(),
        kernel=platform.release(),
        about=f"measured by wanlab {version} on {day}",
        error=f"an exchange over TCP between two programs takes {1 + error:.2f} times as long as "
        "the costs say",
        costs=costs,
        sources=sources,
    )


def model_text(model: CpuModel) -> str:
    """Return the file of a model."""
    lines = [f"{name}: {_quoted(getattr(model, name))}" for name in ABOUT if getattr(model, name)]
    lines += [f"cores: {model.cores}", "costs:"]
    for name in COSTS:
        source = _quoted(model.sources[name])
        lines.append(f"  {name}: {{value: {model.costs[name]}, source: {source}}}")
    return "\n".join(lines) + "\n"


def processor_name() -> str:
    """Return what the processor calls itself; "" if the kernel does not say it."""
    for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _percent(cost: Measured) -> str:
    return f"{100 * cost.error / max(cost.value, 1):.0f} %"
