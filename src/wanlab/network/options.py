"""The options of a network: what the user chose, and the machine's defaults for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import RequirementError, WanlabError
from wanlab.machine import DEFAULT_LINE_RATE_BPS, Clock, Machine, MachineKind, MachineTraits
from wanlab.machine.defaults import user_default
from wanlab.machine.here import HereMachine, is_inside, read_about
from wanlab.machine.kinds import traits_of
from wanlab.plan import Wire
from wanlab.topology.cpu import Processor, cpu_words, read_cpu
from wanlab.topology.nic import Nic, nic_words, read_nic
from wanlab.units import parse_rate, parse_size, whole_number

BASE_MEMORY_BYTES = 2 << 30
NODE_MEMORY_BYTES = 2 << 20
MAX_SEED = 2**64 - 1
"""The kernel's generator starts from 64 bits."""


@dataclass(frozen=True, kw_only=True)
class _Defaults:
    """The defaults of a kind of machine."""

    clock: Clock = "virtual"
    seed: int | None = 1
    wire: Wire = "mtu"
    nic: Mapping[str, str] | None = None
    cpu: Mapping[str, object] | str | None = None
    line_rate_bps: int = DEFAULT_LINE_RATE_BPS


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """All options with their final values. `Network` explains them."""

    machine_kind: MachineKind
    traits: MachineTraits
    clock: Clock
    wire: Wire
    nic: Nic
    cpu: Processor | None
    """The processor of hosts and routers; None: computing takes no time."""
    seed: int | None
    folder: Path
    guest_folder: str
    sysctls: Mapping[str, str]
    memory_bytes: int
    line_rate_bps: int
    allow_connect: tuple[tuple[str, int], ...]
    visible_folders: tuple[str, ...]
    kernel: str
    traps: str

    @classmethod
    def resolved(
        cls,
        *,
        node_count: int,
        machine: MachineKind | None,
        clock: Clock | None,
        wire: Wire | None,
        nic: Nic | Mapping[str, object] | None,
        cpu: Processor | str | Mapping[str, object] | None,
        seed: int | None,
        folder: str | Path,
        guest_folder: str,
        sysctls: Mapping[str, str] | None,
        memory: str | int | None,
        line_rate: str | int | None,
        allow_connect: Sequence[str],
        visible_folders: Sequence[str | Path],
        kernel: str | None,
        kernel_of_topology: str,
        cpu_of_topology: Processor | None,
        traps: str | None,
    ) -> NetworkOptions:
        """Check the user's choices and fill in the defaults of the machine (where a choice is
        None).

        RequirementError for what the machine does not offer.
        """
        machine_kind: MachineKind = machine or ("here" if is_inside() else "embedded")
        traits = traits_of(machine_kind)
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise WanlabError(f"the seed {seed} is out of range", f"from 0 to {MAX_SEED}")
        line_rate_bps = None if line_rate is None else parse_rate(line_rate)
        if traits.is_shared:
            defaults = _defaults_inside(clock, seed, kernel or kernel_of_topology, traps)
        else:
            defaults = _Defaults(cpu=user_default().cpu)
        absolute_folder = _absolute(Path(folder))
        choices = (cpu, defaults.cpu, cpu_of_topology)
        processor = read_cpu(next((words for words in choices if words is not None), None))
        chosen_clock = defaults.clock if clock is None else clock
        if processor is not None and chosen_clock == "real":
            raise RequirementError(
                f"the processor {processor.model} needs virtual time: on the real clock, the computer's "
                "own processor computes",
                'use clock="virtual" or cpu="free"',
            )
        return cls(
            machine_kind=machine_kind,
            traits=traits,
            clock=chosen_clock,
            wire=wire or defaults.wire,
            nic=read_nic((defaults.nic or {}) if nic is None else nic),
            cpu=processor,
            seed=defaults.seed if seed is None else seed,
            folder=absolute_folder,
            guest_folder=(not traits.is_shared and guest_folder) or str(absolute_folder),
            sysctls=dict(sysctls or {}),
            memory_bytes=(
                BASE_MEMORY_BYTES + NODE_MEMORY_BYTES * node_count
                if memory is None
                else parse_size(memory)
            ),
            line_rate_bps=defaults.line_rate_bps if line_rate_bps is None else line_rate_bps,
            allow_connect=tuple(_read_address(text) for text in allow_connect),
            visible_folders=tuple(str(_absolute(Path(path))) for path in visible_folders),
            kernel=kernel or user_default().kernel or kernel_of_topology,
            traps=traps or "",
        )

    @property
    def has_own_path(self) -> bool:
        """Whether programs see the working folder at the path that it has on the computer."""
        return not self.traits.is_shared and self.guest_folder == str(self.folder)

    @property
    def default_speed_bps(self) -> int | None:
        """The speed of ports where the topology sets none; None: the machine's line rate."""
        if self.traits.is_shared and self.line_rate_bps != _line_rate_inside_bps():
            return self.line_rate_bps
        return None


def start_machine(options: NetworkOptions) -> Machine:
    """Start the machine that the options ask for.

    Each kind is imported when it is needed: a program inside a machine needs none of the others.
    """
    if options.traits.is_shared:
        return HereMachine(options.folder)
    about = {
        "wire": options.wire,
        "nic": nic_words(options.nic),
        **({"cpu": cpu_words(options.cpu)} if options.cpu else {}),
        "line_rate_bps": options.line_rate_bps,
    }
    from wanlab.machine.embedded import EmbeddedMachine

    assert options.seed is not None
    return EmbeddedMachine(
        options.folder,
        visible_folders=options.visible_folders,
        clock=options.clock,
        seed=options.seed,
        memory_bytes=options.memory_bytes,
        line_rate_bps=options.line_rate_bps,
        about=about,
        guest_folder=options.guest_folder,
        kernel=options.kernel,
        traps=options.traps,
    )


def _defaults_inside(
    clock: Clock | None, seed: int | None, kernel: str | None, traps: str | None
) -> _Defaults:
    """Return what the machine that this program runs in was started with.

    RequirementError for another clock, seed or kernel than the machine's, and for any mode: a machine
    looks the same in all of them.
    """
    if traps:
        raise RequirementError(
            f"traps {traps}: this program runs in a machine, which has been started",
            f"choose it outside: wanlab python --traps {traps} SCRIPT",
        )
    about = read_about()
    for name, value, machine_value in (
        ("clock", clock, about["clock"]),
        ("seed", seed, about["seed"]),
        ("kernel", kernel or None, about["kernel"]),
    ):
        if value not in (None, machine_value):
            raise RequirementError(
                f"{name} {value}: this program runs in a machine whose {name} is {machine_value}",
                f"choose it outside: wanlab python --{name} {value} SCRIPT",
            )
    return _Defaults(
        clock=about["clock"],
        seed=about["seed"],
        wire=about["wire"],
        nic=about["nic"],
        cpu=about.get("cpu"),
        line_rate_bps=about["line_rate_bps"],
    )


def _line_rate_inside_bps() -> int:
    return read_about()["line_rate_bps"]


def _absolute(folder: Path) -> Path:
    try:
        return folder.resolve()
    except FileNotFoundError:
        raise RequirementError(
            f"working folder {folder}: the current folder no longer exists",
            "change to another one",
        ) from None


def _read_address(text: str) -> tuple[str, int]:
    """Read "127.0.0.1:6653" into address and port. WanlabError if it is something else."""
    address, _, port = text.rpartition(":")
    number = whole_number(port)
    if not address or number is None or not 0 < number < 65536:
        raise WanlabError(
            f'"{text}" is not an address to connect to', 'ADDRESS:PORT, as in "127.0.0.1:6653"'
        )
    return address, number
