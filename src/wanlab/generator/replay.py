"""The sizes and times of datagrams that replay a capture.

A datagram fills an IP packet as long as the captured one. One that is shorter than the generator's own
header is enlarged to it, and one that is longer than a datagram can be is cut.
"""

from __future__ import annotations

import _socket

from wanlab.capture_file import address_text, has_both_directions, ip_packets, is_capture
from wanlab.errors import WanlabError

from .arguments import UsageError
from .messages import DATAGRAM

MAX_DATAGRAM_BYTES = 65507
HEADER_BYTES = {_socket.AF_INET: 20 + 8, _socket.AF_INET6: 40 + 8}
"""Of IP and UDP."""


def packets_of(path: str, sender: str, until_ns: int, family: int) -> list[tuple[int, int]]:
    """Return time in ns and payload in bytes of each datagram. Raises UsageError if there is none.

    `sender`: the address whose packets are replayed, "" for all. The times count from the first of
    them; those after `until_ns` are left out, unless it is 0. `family` is that of the datagrams.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"cannot read the capture {path}: {error.strerror}") from None
    if not is_capture(data):
        raise UsageError(f"{path} is not a capture (pcap or pcapng)")
    try:
        packets = ip_packets(data, path)
    except WanlabError as error:
        raise UsageError(f"{error.what} ({error.hint})" if error.hint else error.what) from None
    senders = list(dict.fromkeys(address_text(packet.source) for packet in packets))
    if sender and sender not in senders:
        raise UsageError(f"{path} has no packets from {sender}; it has those of {_some(senders)}")
    if not sender and has_both_directions(packets):
        raise UsageError(f"{path} has both directions; choose one by --from: {_some(senders)}")
    chosen = [packet for packet in packets if sender in ("", address_text(packet.source))]
    first_ns = chosen[0].time_ns
    header_bytes = HEADER_BYTES[family]
    return [
        (
            packet.time_ns - first_ns,
            min(max(packet.length - header_bytes, DATAGRAM.size), MAX_DATAGRAM_BYTES),
        )
        for packet in chosen
        if not until_ns or packet.time_ns - first_ns < until_ns
    ]


def _some(addresses: list[str]) -> str:
    return ", ".join(addresses[:5]) + (", ..." if len(addresses) > 5 else "")
