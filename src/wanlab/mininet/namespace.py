"""In and out of a node's network namespace, and what one does there to an interface.

The kernel's own calls instead of programs: a process costs 10 ms in the embedded machine, a call
some microseconds. A socket stays in the namespace in which it was opened, and only the calling
thread moves (setns(2), netdevice(7)).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Runs the body in a node's network namespace; "" is the root namespace, where we are."""
    if not namespace:
        yield
        return
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"{NAMES}/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Interface:
    """An interface of a namespace, by name. OSError with the kernel's words if something fails."""

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
        """(IPv4 address, prefix length)"""
        try:
            address = self._call(SIOCGIFADDR)[4:8]
            mask = self._call(SIOCGIFNETMASK)[4:8]
        except OSError:
            return None
        return socket.inet_ntoa(address), int.from_bytes(mask, "big").bit_count()

    def set_address(self, address: str, prefix: int) -> None:
        """Replaces the IPv4 address; 0.0.0.0 takes it away."""
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
        """One ioctl of the interface's; `value` is what follows its name in struct ifreq."""
        with inside(self.namespace):
            control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with control:
            request = self.name.encode().ljust(16, b"\0") + value
            return fcntl.ioctl(control.fileno(), number, request)[16:]


def _socket_address(address: bytes) -> bytes:
    """struct sockaddr_in"""
    return struct.pack("=HH4s16x", socket.AF_INET, 0, address)
