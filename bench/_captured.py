"""Times of packets in a capture: for `traces`, and for the tests of links that vary."""

from __future__ import annotations

import struct
from pathlib import Path

from wanlab import Network
from wanlab.machine.embedded.boot import START_OF_DAY_NS
from wanlab.measure import pcapng


def packets(net: Network, path: Path) -> list[tuple[int, int]]:
    """Return the network's time in ns and the frame's bytes of each packet of a capture.

    The capture was taken on virtual time.
    """
    data, position = path.read_bytes(), 0
    zero_ns = START_OF_DAY_NS + net.machine.now_ns - net.now_ns
    packets_found = []
    while position < len(data):
        kind, length = struct.unpack_from("=II", data, position)
        if kind == pcapng.PACKET:
            high, low, _, size = struct.unpack_from("=IIII", data, position + 12)
            packets_found.append(((high << 32 | low) - zero_ns, size))
        position += length
    return packets_found
