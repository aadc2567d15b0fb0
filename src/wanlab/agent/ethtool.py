"""The settings that `ethtool` makes: the speed of a port, and the offloads and interrupts of its NIC.

Offloads are switched by the kernel's own feature names. `ethtool -K DEVICE tso off` means every kind of
TCP segmentation that the kernel knows. The old ioctl for TSO covers only the kinds that existed when it
was defined, and Linux 6.18 has one more, for Accurate ECN. (linux/ethtool.h)
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
RX_USECS_OFFSET, ADAPTIVE_RX_OFFSET = 4, 40  # struct ethtool_coalesce
SPEED_OFFSET, SPEED_HIGH_OFFSET = 12, 28  # struct ethtool_cmd: speed and speed_hi
ETHTOOL_GTSO = 0x1E
ETHTOOL_GSTRINGS, ETHTOOL_GSSET_INFO, ETHTOOL_SFEATURES = 0x1B, 0x37, 0x3B
ETH_SS_FEATURES = 4
NAME_BYTES = 32
ETHTOOL_F_UNSUPPORTED = 1

# All devices of a kernel share one list of features.
_feature_names: list[str] = []


def set_speed(interface: str, speed_mbps: int) -> None:
    """Set the line rate of a port (our patch of veth); 0 means no limit."""
    settings = bytearray(SETTINGS_BYTES)
    struct.pack_into("=I", settings, 0, ETHTOOL_GSET)
    _ethtool(interface, settings)
    struct.pack_into("=I", settings, 0, ETHTOOL_SSET)
    struct.pack_into("=H", settings, SPEED_OFFSET, speed_mbps & 0xFFFF)
    struct.pack_into("=H", settings, SPEED_HIGH_OFFSET, speed_mbps >> 16)
    _ethtool(interface, settings)


def set_offloads(interface: str, features: dict[str, bool]) -> None:
    """Switch "tso", "gso" and "gro". OSError if the device cannot switch one of them."""
    if not _feature_names:
        _feature_names.extend(_read_feature_names(interface))
    words = [[0, 0] for _ in range(-(-len(_feature_names) // 32))]
    for feature, is_on in features.items():
        for bit in _feature_bits(feature):
            word = words[bit // 32]
            word[0] |= 1 << bit % 32
            word[1] |= is_on << bit % 32
    request = bytearray(struct.pack("=II", ETHTOOL_SFEATURES, len(words)))
    for valid, requested in words:
        request += struct.pack("=II", valid, requested)
    if _ethtool(interface, request) & ETHTOOL_F_UNSUPPORTED:
        raise OSError(f"{interface} does not support changing {' '.join(features)}")


def has_tso(interface: str) -> bool:
    """Whether the port segments TCP: any kind of it."""
    settings = bytearray(struct.pack("=II", ETHTOOL_GTSO, 0))
    _ethtool(interface, settings)
    return bool(struct.unpack("=II", settings)[1])


def set_wire(interface: str) -> None:
    """Make a port send packets of at most one MTU (our patch of veth)."""
    _ethtool(interface, bytearray(struct.pack("=II", ETHTOOL_SPFLAGS, MTU_WIRE)))


def set_coalesce(interface: str, interval_us: int) -> None:
    """Set the shortest time between two interrupts under load (our patch of veth)."""
    settings = bytearray(COALESCE_BYTES)
    struct.pack_into("=I", settings, 0, ETHTOOL_GCOALESCE)
    _ethtool(interface, settings)
    struct.pack_into("=I", settings, 0, ETHTOOL_SCOALESCE)
    struct.pack_into("=I", settings, RX_USECS_OFFSET, interval_us)
    struct.pack_into("=I", settings, ADAPTIVE_RX_OFFSET, 1)
    _ethtool(interface, settings)


def _feature_bits(feature: str) -> list[int]:
    """Return the numbers of the kernel's feature bits that make up one offload."""
    if feature == "tso":
        return [bit for bit, name in enumerate(_feature_names) if name.startswith("tx-tcp")]
    return [_feature_names.index({"gso": "tx-generic-segmentation", "gro": "rx-gro"}[feature])]


def _read_feature_names(interface: str) -> list[str]:
    info = bytearray(struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0))
    _ethtool(interface, info)
    (count,) = struct.unpack_from("=I", info, 16)
    strings = bytearray(struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count))
    strings += bytes(count * NAME_BYTES)
    _ethtool(interface, strings)
    return [
        strings[start : start + NAME_BYTES].rstrip(b"\0").decode()
        for start in range(12, len(strings), NAME_BYTES)
    ]


def _ethtool(interface: str, settings: bytearray) -> int:
    """Call SIOCETHTOOL, which reads and writes `settings`; return its flags."""
    buffer = (ctypes.c_char * len(settings)).from_buffer(settings)
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM, 0)
    try:
        request = struct.pack("=16sQ16x", interface.encode(), ctypes.addressof(buffer))
        return int(fcntl.ioctl(control.fileno(), SIOCETHTOOL, bytearray(request), True))
    finally:
        control.close()
