"""MAC addresses of a script's interfaces: locally administered, and the same in every run.

02:00  number of the program (2 bytes)  count (2 bytes)
"""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path

from .addresses import macColonHex

PROGRAMS = Path("/run/wanlab/mininet-programs")
_numbers = count(1)


def next_mac() -> str:
    return macColonHex(0x02 << 40 | _program_number() << 16 | next(_numbers))


@cache
def _program_number() -> int:
    """Number the programs of a machine: it may run several, and their networks may be connected."""
    try:
        with PROGRAMS.open("ab") as file:
            file.write(b".")
            return (file.tell() - 1) & 0xFFFF
    except OSError:
        return 0
