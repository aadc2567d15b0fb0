"""What `ethtool` sets: the speed of a port's wire, and what its card does for the stack.

Offloads are switched by the kernel's own names of its features. `ethtool -K DEVICE tso off` means every
kind of TCP segmentation that the kernel knows; the old ioctl of that name knows only those of its
time, and Linux 6.18 has one more, for Accurate ECN. (linux/ethtool.h)
"""

from __future__ import annotations

import _socket
import ctypes
import fcntl
import struct

SIOCETHTOOL = 0x8946
ETHTOOL_GSET, ETHTOOL_SSET = 0x1, 0x2
ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE = 0xE, 0xF
ETHTOOL_SPFLAGS = 0x28
MTU_WIRE = 1  # the only private flag of our veth
SETTINGS_BYTES, COALESCE_BYTES = 44, 92
RX_USECS_AT, ADAPTIVE_RX_AT = 4, 40  # struct ethtool_coalesce
SPEED_AT, SPEED_HIGH_AT = 12, 28  # struct ethtool_cmd: speed and speed_hi
ETHTOOL_GSTRINGS, ETHTOOL_GSSET_INFO, ETHTOOL_SFEATURES = 0x1B, 0x37, 0x3B
ETH_SS_FEATURES = 4
NAME_BYTES = 32
IS_UNSUPPORTED = 1

# The same for all devices of a kernel.
_names: list[str] = []


def set_speed(interface: str, speed_mbps: int) -> None:
    """The line rate of the wire out of this port (our patch of veth); 0 is no limit."""
    settings = bytearray(SETTINGS_BYTES)
    struct.pack_into("=I", settings, 0, ETHTOOL_GSET)
    _ethtool(interface, settings)
    struct.pack_into("=I", settings, 0, ETHTOOL_SSET)
    struct.pack_into("=H", settings, SPEED_AT, speed_mbps & 0xFFFF)
    struct.pack_into("=H", settings, SPEED_HIGH_AT, speed_mbps >> 16)
    _ethtool(interface, settings)


def set_offloads(interface: str, features: dict[str, bool]) -> None:
    """`features`: "tso", "gso", "gro". OSError if one cannot be had."""
    if not _names:
        _names.extend(_feature_names(interface))
    words = [[0, 0] for _ in range(-(-len(_names) // 32))]
    for feature, is_on in features.items():
        for position in _positions(feature):
            word = words[position // 32]
            word[0] |= 1 << position % 32
            word[1] |= is_on << position % 32
    request = bytearray(struct.pack("=II", ETHTOOL_SFEATURES, len(words)))
    for valid, requested in words:
        request += struct.pack("=II", valid, requested)
    if _ethtool(interface, request) & IS_UNSUPPORTED:
        raise OSError(f"{interface} cannot switch {' '.join(features)}")


def set_wire(interface: str) -> None:
    """What it sends leaves as packets of one MTU (our patch of veth)."""
    _ethtool(interface, bytearray(struct.pack("=II", ETHTOOL_SPFLAGS, MTU_WIRE)))


def set_moderation(interface: str, least_us: int) -> None:
    """The least time between two interrupts under load (our patch of veth)."""
    settings = bytearray(COALESCE_BYTES)
    struct.pack_into("=I", settings, 0, ETHTOOL_GCOALESCE)
    _ethtool(interface, settings)
    struct.pack_into("=I", settings, 0, ETHTOOL_SCOALESCE)
    struct.pack_into("=I", settings, RX_USECS_AT, least_us)
    struct.pack_into("=I", settings, ADAPTIVE_RX_AT, 1)
    _ethtool(interface, settings)


def _positions(feature: str) -> list[int]:
    """Where its bits are."""
    if feature == "tso":
        return [place for place, name in enumerate(_names) if name.startswith("tx-tcp")]
    return [_names.index({"gso": "tx-generic-segmentation", "gro": "rx-gro"}[feature])]


def _feature_names(interface: str) -> list[str]:
    info = bytearray(struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0))
    _ethtool(interface, info)
    (count,) = struct.unpack_from("=I", info, 16)
    answer = bytearray(struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count))
    answer += bytes(count * NAME_BYTES)
    _ethtool(interface, answer)
    return [
        answer[start : start + NAME_BYTES].rstrip(b"\0").decode()
        for start in range(12, len(answer), NAME_BYTES)
    ]


def _ethtool(interface: str, settings: bytearray) -> int:
    """One SIOCETHTOOL with `settings` in and out; returns its flags."""
    buffer = (ctypes.c_char * len(settings)).from_buffer(settings)
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM, 0)
    try:
        request = struct.pack("=16sQ16x", interface.encode(), ctypes.addressof(buffer))
        return int(fcntl.ioctl(control.fileno(), SIOCETHTOOL, bytearray(request), True))
    finally:
        control.close()
