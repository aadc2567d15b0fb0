"""Changes queueing disciplines by rtnetlink, where `tc` cannot do it or is too slow.

The qdisc `opportunity` is our own (kernel/patches/0017): `tc` can add one, but cannot load its delivery
opportunities. A schedule may change rates and delays very often, and running `tc` takes much longer
than the change.

    family u8 | index i32 | handle u32 | parent u32 | info u32, then attributes (linux/pkt_sched.h)
"""

from __future__ import annotations

import _socket
import struct
import sys
import time
from collections.abc import Iterator

from .links import Netlink, attribute, number, text

RTM_NEWQDISC = 36
TCA_KIND, TCA_OPTIONS = 1, 2
NLA_F_NESTED = 0x8000
TCA_OPPORTUNITY_AT_MS, TCA_OPPORTUNITY_ONCE, TCA_OPPORTUNITY_START = 1, 2, 3
TCA_TBF_PARMS, TCA_TBF_RATE64, TCA_TBF_BURST = 1, 4, 6
TCA_NETEM_REORDER, TCA_NETEM_LATENCY64, TCA_NETEM_JITTER64 = 3, 10, 11
LINKLAYER_ETHERNET = 1
OPPORTUNITIES_PER_MESSAGE = 15_000
"""An attribute has at most 64 KB."""

_MESSAGE = struct.Struct("=BxxxiIII")
_RATE = struct.Struct("=BBHhHI")
_U64 = struct.Struct("=Q")
_NETEM = struct.Struct("=IIIIII")
_REORDER = struct.Struct("=II")

Request = tuple[int, int, bytes]


def _change(index: int, handle: int, kind: str, options: bytes, nested: int = 0) -> Request:
    """Return the request to change the qdisc with this handle (its major number)."""
    body = _MESSAGE.pack(0, index, handle << 16, 0, 0)
    body += text(TCA_KIND, kind) + attribute(TCA_OPTIONS | nested, options)
    return RTM_NEWQDISC, 0, body


def add_opportunities(index: int, handle: int, at_ms: list[int]) -> Iterator[Request]:
    """Yield requests that each append a part of the opportunities."""
    for start in range(0, len(at_ms), OPPORTUNITIES_PER_MESSAGE):
        piece = at_ms[start : start + OPPORTUNITIES_PER_MESSAGE]
        packed = attribute(TCA_OPPORTUNITY_AT_MS, struct.pack(f"={len(piece)}I", *piece))
        yield _change(index, handle, "opportunity", packed, NLA_F_NESTED)


def start_opportunities(index: int, handle: int, once: bool, start_ns: int) -> Request:
    """Return the request that starts them at `start_ns` of CLOCK_MONOTONIC."""
    options = attribute(TCA_OPPORTUNITY_ONCE, b"") if once else b""
    options += attribute(TCA_OPPORTUNITY_START, _U64.pack(start_ns))
    return _change(index, handle, "opportunity", options, NLA_F_NESTED)


def change_shaper(index: int, handle: int, rate_bps: int, burst_bytes: int, limit: int) -> Request:
    """Return the request to change a tbf; `limit` is in the unit of its fifo (bytes or packets)."""
    rate_bytes_ps = rate_bps // 8
    rate = _RATE.pack(0, LINKLAYER_ETHERNET, 0, 0, 0, min(rate_bytes_ps, 2**32 - 1))
    parameters = rate + bytes(_RATE.size) + struct.pack("=III", limit, 0, 0)
    options = attribute(TCA_TBF_PARMS, parameters) + number(TCA_TBF_BURST, burst_bytes)
    if rate_bytes_ps >= 2**32:
        options += attribute(TCA_TBF_RATE64, _U64.pack(rate_bytes_ps))
    return _change(index, handle, "tbf", options)


def change_delay_line(
    index: int,
    handle: int,
    *,
    limit: int,
    delay_ns: int,
    jitter_ns: int,
    loss: int,
    duplicate: int,
    reorder: int,
    reorder_correlation: int,
    reorder_gap: int,
) -> Request:
    """Return the request to change a netem, with all parameters that a change would otherwise reset.

    Probabilities are in units of 2^-32.
    """
    gap = (reorder_gap or 1) if reorder else 0
    options = _NETEM.pack(0, limit, loss, gap, duplicate, 0)
    options += attribute(TCA_NETEM_LATENCY64, _U64.pack(delay_ns))
    options += attribute(TCA_NETEM_JITTER64, _U64.pack(jitter_ns))
    if reorder:
        options += attribute(TCA_NETEM_REORDER, _REORDER.pack(reorder, reorder_correlation))
    return _change(index, handle, "netem", options)


def main(arguments: list[str]) -> None:
    """Load opportunities (ms, one a line of stdin) and start them now: PORT HANDLE [once]."""
    port, handle, *options = arguments
    index, major = _socket.if_nametoindex(port), int(handle.rstrip(":"), 16)
    with Netlink() as netlink:
        for request in add_opportunities(index, major, [int(ms) for ms in sys.stdin]):
            netlink.request(*request)
        once, now_ns = "once" in options, time.monotonic_ns()
        netlink.request(*start_opportunities(index, major, once, now_ns))


if __name__ == "__main__":
    main(sys.argv[1:])
