"""IPv4 and MAC addresses as numbers and as text."""

from __future__ import annotations

import re

from wanlab.errors import WanlabError

UNSPECIFIED = "0.0.0.0"
"""The address of an interface without an address; scripts give it to routers."""

_DECIMAL = re.compile("[0-9]{1,9}")


def _colonHex(val: int, bytecount: int) -> str:
    return val.to_bytes(bytecount, "big").hex(":")


def macColonHex(mac: int) -> str:
    """Return a MAC address as text."""
    return _colonHex(mac, 6)


def ipStr(ip: int) -> str:
    """Return an IPv4 address as text."""
    return ".".join(map(str, ip.to_bytes(4, "big")))


def ipNum(w: int, x: int, y: int, z: int) -> int:
    return (w << 24) | (x << 16) | (y << 8) | z


def ipAdd(i: int, prefixLen: int = 8, ipBaseNum: int = 0x0A000000) -> str:
    """Return the ith address of a network."""
    host_mask = 0xFFFFFFFF >> prefixLen
    if not 0 <= i <= host_mask:
        raise WanlabError(
            f"{ipStr(ipBaseNum)}/{prefixLen} has no address number {i}",
            "use a larger ipBase, such as 10.0.0.0/8",
        )
    return ipStr((ipBaseNum & ~host_mask & 0xFFFFFFFF) + i)


def ipParse(ip: str) -> int:
    """Return an IPv4 address as a number; missing parts are 0, as in 10.0.

    As in Mininet, spaces around it do not matter.
    """
    parts = [int(part) if _DECIMAL.fullmatch(part) else -1 for part in ip.strip().split(".")]
    if len(parts) > 4 or not all(0 <= part <= 255 for part in parts):
        raise WanlabError(f"{ip!r} is not an IPv4 address", "as in 10.0.0.1")
    return ipNum(*[*parts, 0, 0, 0][:4])


def netParse(ipstr: str) -> tuple[int, int]:
    """Return (number, prefix length) of "10.0.0.0/8". Without a prefix each part counts 8 bits."""
    address, _, prefix = (part.strip() for part in ipstr.partition("/"))
    if prefix and not (_DECIMAL.fullmatch(prefix) and int(prefix) <= 32):
        raise WanlabError(f"{ipstr!r} is not an IPv4 network", "as in 10.0.0.0/8")
    return ipParse(address), int(prefix) if prefix else 8 * len(address.split("."))
