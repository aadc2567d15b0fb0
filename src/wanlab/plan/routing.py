"""Which of FRRouting's programs a text of frr.conf calls for."""

from __future__ import annotations

import re
from collections.abc import Iterator

ALWAYS = ("zebra", "staticd")
"""Interfaces and the kernel's routes; static routes. They go first, in this order."""

_CALLED_FOR = {
    "bfdd": r"bfd$|.* bfd( |$)",
    "ospfd": r"router ospf( |$)",
    "ospf6d": r"router ospf6( |$)",
    "bgpd": r"router bgp( |$)",
    "ripd": r"router rip( |$)",
    "ripngd": r"router ripng( |$)",
    "isisd": r"router isis( |$)",
    "eigrpd": r"router eigrp( |$)",
    "babeld": r"router babel( |$)",
    "fabricd": r"router openfabric( |$)",
    "ldpd": r"mpls ldp( |$)",
    "pimd": r"ip (pim|igmp)( |$)",
    "pbrd": r"pbr-(map|policy) ",
    "vrrpd": r"vrrp ",
    "nhrpd": r"ip nhrp( |$)",
    "pathd": r"segment-routing( |$)",
}


def programs_for(configuration: str) -> tuple[str, ...]:
    """By the commands that only one of them knows."""
    lines = [line.strip() for line in configuration.splitlines()]
    return (*ALWAYS, *_called_for(lines))


def _called_for(lines: list[str]) -> Iterator[str]:
    for program, pattern in _CALLED_FOR.items():
        if any(re.match(pattern, line) for line in lines):
            yield program
