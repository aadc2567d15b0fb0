"""Which machine carries a network, and what it inherits when it runs inside another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wanlab.errors import RequirementError
from wanlab.machine import DEFAULT_LINE_RATE_BPS, Clock, Machine, MachineKind
from wanlab.machine.here import HereMachine, read_about
from wanlab.plan import Wire


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a network asks of its machine."""

    folder: Path
    clock: Clock
    seed: int
    memory_bytes: int
    line_rate_bps: int
    wire: Wire


def start_machine(kind: MachineKind, needs: Needs) -> Machine:
    """Each kind is imported when it is wanted: what runs inside needs none of the others."""
    if kind == "here":
        return HereMachine(needs.folder)
    about = {"wire": needs.wire, "line_rate_bps": needs.line_rate_bps}
    from wanlab.machine.embedded import EmbeddedMachine

    return EmbeddedMachine(
        needs.folder,
        clock=needs.clock,
        seed=needs.seed,
        memory_bytes=needs.memory_bytes,
        line_rate_bps=needs.line_rate_bps,
        about=about,
    )


def settle_choices(kind: MachineKind, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What holds where nothing was asked for (None). In a machine that runs already, its clock and its
    seed are given: RequirementError for others. Its wire and its line rate are what it was started with.
    """
    if kind != "here":
        usual = {
            "clock": "real" if kind == "native" else "virtual",
            "seed": 1,
            "wire": "mtu",
            "line_rate_bps": DEFAULT_LINE_RATE_BPS,
        }
        return {key: usual[key] if asked[key] is None else asked[key] for key in usual}
    about = read_about()
    for key in ("clock", "seed"):
        if asked[key] not in (None, about[key]):
            raise RequirementError(
                f"{key} {asked[key]}: this program runs in a machine whose {key} is {about[key]}",
                f"choose it outside: wanlab python --{key} {asked[key]} SCRIPT",
            )
    wire = asked["wire"] or about["wire"]
    line_rate_bps = asked["line_rate_bps"]
    if line_rate_bps is None:
        line_rate_bps = about["line_rate_bps"]
    return {
        "clock": about["clock"],
        "seed": about["seed"],
        "wire": wire,
        "line_rate_bps": line_rate_bps,
    }
