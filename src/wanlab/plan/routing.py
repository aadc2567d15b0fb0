"""Finds out which of FRRouting's programs a configuration (frr.conf) needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

ALWAYS = ("zebra", "staticd")
"""The programs for interfaces and kernel routes, and for static routes: started first, in this order."""

_PATTERNS = {
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
    """Return the programs to start, recognised by the commands that only they have."""
    lines = [line.strip() for line in configuration.splitlines()]
    return (*ALWAYS, *_needed_by(lines))


def _needed_by(lines: list[str]) -> Iterator[str]:
    for program, pattern in _PATTERNS.items():
        if any(re.match(pattern, line) for line in lines):
            yield program
