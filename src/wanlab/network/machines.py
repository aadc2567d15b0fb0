"""Which machine carries a network, and what it inherits when it runs inside another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wanlab.errors import RequirementError
from wanlab.machine import DEFAULT_LINE_RATE_BPS, Clock, Machine, MachineKind
from wanlab.machine.here import HereMachine, read_about
from wanlab.operations import (
    MoveInterface,
    Operation,
)
from wanlab.plan import Wire
from wanlab.plan.native import KernelFeatures
from wanlab.topology.nic import Nic, nic_words


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a network asks of its machine."""

    folder: Path
    guest_folder: str
    visible_folders: tuple[str, ...]
    clock: Clock
    seed: int | None
    memory_bytes: int
    line_rate_bps: int
    wire: Wire
    nic: Nic


def start_machine(kind: MachineKind, needs: Needs) -> Machine:
    """Each kind is imported when it is wanted: what runs inside needs none of the others."""
    if kind == "here":
        return HereMachine(needs.folder)
    about = {
        "wire": needs.wire,
        "nic": nic_words(needs.nic),
        "line_rate_bps": needs.line_rate_bps,
    }
    if kind == "native":
        from wanlab.machine.native import NativeMachine

        return NativeMachine(needs.folder, visible_folders=needs.visible_folders, about=about)
    from wanlab.machine.embedded import EmbeddedMachine

    assert needs.seed is not None
    return EmbeddedMachine(
        needs.folder,
        visible_folders=needs.visible_folders,
        clock=needs.clock,
        seed=needs.seed,
        memory_bytes=needs.memory_bytes,
        line_rate_bps=needs.line_rate_bps,
        about=about,
        guest_folder=needs.guest_folder,
    )


def settle_choices(kind: MachineKind, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What holds where nothing was asked for (None). In a machine that runs already, its clock and its
    seed are given: RequirementError for others. Wire, card and line rate are what it was started with.
    """
    if kind == "native":
        _refuse_what_native_lacks(asked)
        return {**NATIVE, "wire": asked["wire"] or "mtu", "nic": asked["nic"] or {}}
    if kind != "here":
        usual = {
            "clock": "virtual",
            "seed": 1,
            "wire": "mtu",
            "nic": {},
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
        "nic": about["nic"] if asked["nic"] is None else asked["nic"],
        "line_rate_bps": line_rate_bps,
    }


NATIVE = {"clock": "real", "seed": None, "line_rate_bps": 0}
"""What the native machine has no choice of: its random numbers are the computer's, its wires are as fast
as the computer."""


def _refuse_what_native_lacks(asked: Mapping[str, Any]) -> None:
    """RequirementError for all of it at once."""
    reasons = {
        "clock": "its clock is the real one",
        "seed": "its random numbers are the computer's",
        "line_rate_bps": "its wires are as fast as the computer",
        "memory": "its memory is the computer's",
    }
    refused = [
        f"{key} {asked[key]}: {why}"
        for key, why in reasons.items()
        if asked.get(key) is not None and asked[key] != NATIVE.get(key)
    ]
    if refused:
        raise RequirementError(
            f"the native machine cannot do that: {'; '.join(refused)}",
            'leave it out, or use the embedded machine: --machine embedded (machine="embedded")',
        )


def is_native(kind: MachineKind) -> bool:
    """Whether the kernel is the computer's own."""
    return kind == "native" or (kind == "here" and read_about()["machine"] == "native")


def take_interfaces(machine: Machine, operations: Iterable[Operation]) -> None:
    """Brings the computer's interfaces that operations want into its machine."""
    names = [it.interface for it in operations if isinstance(it, MoveInterface)]
    if names:
        machine.move_interfaces(names)


def look_at_kernel(machine: Machine, operations: Iterable[Operation]) -> KernelFeatures:
    """What the computer's kernel has. RequirementError lists all that it lacks for the operations."""
    from wanlab.machine.native import check_native

    return KernelFeatures(has_bridge_netfilter=check_native(machine, operations))
