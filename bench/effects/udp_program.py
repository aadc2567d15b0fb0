"""Send UDP packets at fixed times, or record when packets arrive; runs inside a node.

    udp_program.py send ADDRESS PORT BYTES COUNT INTERVAL_NS   INTERVAL_NS 0: all at once
    udp_program.py receive PORT FILE                           until it is interrupted

A packet carries its number and the time at which it was passed to the kernel. For each packet, in the
order of arrival, FILE gets three 64-bit numbers: its number, the time of sending, and the time at which
the kernel received it (ns). Both ends run on the same kernel, so they have the same clock.
"""

from __future__ import annotations

import signal
import socket
import struct
import sys
import time
from pathlib import Path

HEADER = struct.Struct("=QQ")
ROW = struct.Struct("=QQQ")
STAMP = struct.Struct("=qq")
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # asm-generic/socket.h


def send(address: str, port: int, length: int, count: int, interval_ns: int) -> None:
    """Send at fixed times: one late packet does not delay the next ones."""
    Path("/proc/self/timerslack_ns").write_text("1")
    rest = bytes(length - HEADER.size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect((address, port))
        began_ns = time.monotonic_ns()
        for number in range(count):
            left_ns = began_ns + number * interval_ns - time.monotonic_ns()
            if left_ns > 0:
                time.sleep(left_ns / 1e9)
            try:
                end.send(HEADER.pack(number, time.time_ns()) + rest)
            except OSError:  # the port's own queue is full: this one is lost
                continue


def receive(port: int, file: str) -> None:
    """Print "ready", then record packets until interrupted."""
    signal.signal(signal.SIGINT, _end)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end,
        Path(file).open("wb") as rows,
    ):
        end.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
        end.bind(("", port))
        print("ready", flush=True)
        try:
            while True:
                data, control, _, _ = end.recvmsg(HEADER.size, 64)
                seconds, ns = STAMP.unpack(control[0][2][: STAMP.size])
                rows.write(ROW.pack(*HEADER.unpack(data), seconds * 1_000_000_000 + ns))
        except KeyboardInterrupt:
            return


def _end(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        receive(int(sys.argv[2]), sys.argv[3])
