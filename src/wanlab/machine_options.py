"""Options that choose the machine of a network: one table for the whole command line.

`wanlab mn` and `wanlab python` have all of them, other commands some. Help, completion and the check of
a value are read from here. Standard library only, because programs in a machine read it, too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

INDENT = 32


@dataclass(frozen=True)
class MachineOption:
    """An option that chooses the machine.

    help      a phrase, without the default
    default   in words; "" if `help` says it
    """

    metavar: str
    help: str
    default: str = ""
    choices: tuple[str, ...] = ()

    @property
    def phrase(self) -> str:
        """The help with the default, for `mn`."""
        return f"{self.help} (default: {self.default})" if self.default else self.help

    def sentence(self, *, with_default: bool) -> str:
        """Return the help for commands whose options are explained in sentences."""
        text = self.phrase if with_default else self.help
        starts_with_a_value = text.startswith(self.choices) if self.choices else False
        return f"{text if starts_with_a_value else text[0].upper() + text[1:]}."


def as_lines(width: int) -> str:
    """Return all options with their help, for a command that does not parse them itself."""
    lines = []
    for name, option in MACHINE_OPTIONS.items():
        first = f"  --{name} {option.metavar}"
        wrapped = textwrap.wrap(option.phrase, width - INDENT)
        lines += [
            f"{first:{INDENT - 2}}  {wrapped[0]}",
            *(" " * INDENT + rest for rest in wrapped[1:]),
        ]
    return "\n".join(lines)


MACHINE_OPTIONS: Mapping[str, MachineOption] = {
    "clock": MachineOption(
        "CLOCK",
        "virtual: as fast as it can be computed, and repeatable; or real",
        "virtual",
        ("virtual", "real"),
    ),
    "pace": MachineOption(
        "PACE",
        "fast, or real: virtual time never passes faster than real time",
        "fast",
        ("fast", "real"),
    ),
    "wire": MachineOption(
        "WIRE",
        "mtu: packets as on a real wire; or gso: up to 64 KB, as on plain veth, which is faster",
        "mtu",
        ("mtu", "gso"),
    ),
    "cpu": MachineOption(
        "MODEL", "the processor of hosts and routers, see: wanlab docs processors", "free"
    ),
    "seed": MachineOption("NUMBER", "seed of all random numbers in the machine", "1"),
    "kernel": MachineOption("NAME", "the kernel to boot; see: wanlab kernel list", "6.12"),
    "traps": MachineOption(
        "MODE",
        "how the kernel takes over system calls: ptrace, inprocess or seccomp; results are the same",
        "the best that is possible; wanlab docs kernels",
        ("ptrace", "inprocess", "inprocess-nopatch", "seccomp"),
    ),
    "memory": MachineOption(
        "SIZE", "memory of the machine, such as 4GB", "depends on the topology"
    ),
    "line-rate": MachineOption(
        "RATE", "line rate of the ports; `bw` of a link limits it further", "1Gbps"
    ),
    "allow-connect": MachineOption(
        "ADDRESS:PORT",
        "let programs in the machine connect to this address; separate several by commas (addresses of"
        " --controller remote are allowed anyway)",
    ),
    "session": MachineOption(
        "FILE", "record all input (including passwords) and output, for: wanlab replay FILE"
    ),
    "date": MachineOption(
        "DATE",
        "the date (UTC) at which the network begins, such as 2026-11-28, or now",
        "2026-01-01",
    ),
    "keep-files": MachineOption(
        "FOLDER",
        "at the end, copy files that programs wrote outside the current folder to FOLDER in it",
        "they are lost, and named",
    ),
    "guest-folder": MachineOption(
        "FOLDER",
        "where programs see the current folder, such as /mine; some take some microseconds more or less "
        "at another path",
        "its own path",
    ),
    "venv": MachineOption(
        "FOLDER",
        "virtual environment (Python and packages) for scripts",
        "the active one",
    ),
}
