"""Network namespaces of nodes: entering them, and configuring an interface there.

System calls are used instead of programs where possible: in the embedded machine a process costs
10 ms, a call a few microseconds. setns(2) moves only the calling thread, and a socket stays in the
namespace in which it was opened. The ioctls are those of netdevice(7).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from wanlab.errors import CommandError

NAMES = "/run/netns"
CLONE_NEWNET = 0x40000000

SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
SIOCGIFADDR, SIOCSIFADDR = 0x8915, 0x8916
SIOCGIFNETMASK, SIOCSIFNETMASK = 0x891B, 0x891C
SIOCSIFNAME = 0x8923
SIOCSIFHWADDR, SIOCGIFHWADDR = 0x8924, 0x8927
IFF_UP = 1
ARPHRD_ETHER = 1

_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Run the body in a node's network namespace; "" is the root namespace, where we are."""
    if not namespace:
        yield
        return
    previous = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(f"{NAMES}/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(previous)
    finally:
        os.close(previous)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def run_batch(namespace: str, program: str, lines: list[str], *, force: bool = False) -> None:
    """Run lines of `ip` or `tc` in a namespace, in one process.

    Raises CommandError, which names the line that failed; with `force` after the other lines have
    been run, too.
    """
    with inside(namespace):
        process = subprocess.Popen(
            [program, *(["-force"] if force else []), "-batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    output, _ = process.communicate("".join(f"{line}\n" for line in lines))
    if process.returncode != 0:
        numbers = re.findall(r"Command failed -:(\d+)", output)
        line = lines[int(numbers[0]) - 1] if numbers else "; ".join(lines)
        raise CommandError(f"`{program} {line}` failed", output=output)


class KernelInterface:
    """An interface of the kernel: a name in a namespace. Methods raise the kernel's OSError."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name

    def exists(self) -> bool:
        with inside(self.namespace):
            return any(name == self.name for _, name in socket.if_nameindex())

    def is_up(self) -> bool:
        return bool(self._flags() & IFF_UP)

    def set_up(self, up: bool) -> None:
        flags = self._flags()
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        self._call(SIOCSIFFLAGS, struct.pack("=h22x", flags))

    def mac(self) -> str:
        return self._call(SIOCGIFHWADDR)[2:8].hex(":")

    def set_mac(self, mac: str) -> None:
        address = bytes.fromhex(mac.replace(":", ""))
        self._call(SIOCSIFHWADDR, struct.pack("=H6s16x", ARPHRD_ETHER, address))

    def address(self) -> tuple[str, int] | None:
        """Return its IPv4 address and prefix length, or None if it has none."""
        try:
            address = self._call(SIOCGIFADDR)[4:8]
            mask = self._call(SIOCGIFNETMASK)[4:8]
        except OSError:
            return None
        return socket.inet_ntoa(address), int.from_bytes(mask, "big").bit_count()

    def set_address(self, address: str, prefix: int) -> None:
        """Replace its IPv4 address; 0.0.0.0 removes it."""
        mask = (0xFFFFFFFF << (32 - prefix) & 0xFFFFFFFF).to_bytes(4, "big")
        self._call(SIOCSIFADDR, _socket_address(socket.inet_aton(address)))
        if address != "0.0.0.0":
            self._call(SIOCSIFNETMASK, _socket_address(mask))

    def rename(self, new: str) -> None:
        self._call(SIOCSIFNAME, new.encode().ljust(24, b"\0"))
        self.name = new

    def _flags(self) -> int:
        flags: int = struct.unpack_from("=h", self._call(SIOCGIFFLAGS))[0]
        return flags

    def _call(self, number: int, value: bytes = b"\0" * 24) -> bytes:
        """Perform an ioctl; `value` follows the name in struct ifreq, and so does the result."""
        with inside(self.namespace):
            control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with control:
            request = self.name.encode().ljust(16, b"\0") + value
            return fcntl.ioctl(control.fileno(), number, request)[16:]


def _socket_address(address: bytes) -> bytes:
    """Return a struct sockaddr_in with this IPv4 address and port 0."""
    return struct.pack("=HH4s16x", socket.AF_INET, 0, address)
