"""Write the kernel's reply to a netlink dump to a file: `dump.py tcp|qdisc FILE`."""

import socket
import struct
import sys
from pathlib import Path

SOCK_DIAG_BY_FAMILY, RTM_GETQDISC = 20, 38
REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
NLMSG_DONE = 3

# struct inet_diag_req_v2: TCP over IPv4, every extension, every state but LISTEN and TIME-WAIT.
STATES = 0xFFF & ~(1 << 10 | 1 << 6)
TCP = struct.pack(
    "=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 0xFF, 0xFFF & ~(1 << 10 | 1 << 6)
)
# struct tcmsg: every interface.
QDISC = struct.pack("=B3xiIII", 0, 0, 0, 0, 0)
REQUESTS = {"tcp": (4, SOCK_DIAG_BY_FAMILY, TCP), "qdisc": (0, RTM_GETQDISC, QDISC)}


def main(what: str, path: str) -> None:
    protocol, kind, body = REQUESTS[what]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as kernel:
        kernel.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST_DUMP, 1, 0) + body)
        answer = b""
        while True:
            part = kernel.recv(1 << 20)
            answer += part
            if struct.unpack_from("=H", part, 4)[0] == NLMSG_DONE:
                break
    Path(path).write_bytes(answer)


main(sys.argv[1], sys.argv[2])
