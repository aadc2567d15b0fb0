"""Finds out which features the kernel has, by trying them in a temporary network namespace.

Asking for a kind of qdisc or device loads its kernel module, as `tc` and `ip` would.
"""

from __future__ import annotations

import _socket
import errno
import os
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import links, system
from .namespaces import ROOT, Namespaces

RTM_NEWQDISC, RTM_DELQDISC = 36, 37
TCA_KIND = 1
TC_H_ROOT, TC_H_INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
INGRESS_QDISCS = ("ingress", "clsact")
LOOPBACK = 1
TCP_CONGESTION = 13
UNKNOWN_KIND = (errno.ENOENT, errno.EPERM)
_TC_MESSAGE = struct.Struct("=BxxxiIII")


if TYPE_CHECKING:
    from typing import TypedDict

    class ProbeResult(TypedDict):
        """For each name, the reason why the kernel lacks the feature; "" if it has it. Sysctls are
        named "key = value"."""

        qdiscs: dict[str, str]
        links: dict[str, str]
        algorithms: dict[str, str]
        sysctls: dict[str, str]


class Probe:
    """Tries features of the kernel."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    def probe(
        self,
        qdiscs: list[str],
        links: list[str],
        algorithms: list[str],
        sysctls: list[tuple[str, str]],
    ) -> ProbeResult:
        """Try each kind of qdisc and of network device (`links`), each TCP congestion control algorithm
        for a single connection, and each sysctl (key, value) as in a node."""
        system.unshare(system.CLONE_NEWNET)
        try:
            return {
                "qdiscs": {kind: _attempt(_add_qdisc, kind) for kind in qdiscs},
                "links": {kind: _attempt(_add_link, kind) for kind in links},
                "algorithms": {name: _attempt(_choose_algorithm, name) for name in algorithms},
                "sysctls": {
                    f"{key} = {value}": _attempt(_write, key, value) for key, value in sysctls
                },
            }
        finally:
            system.setns(self._namespaces.net(ROOT), system.CLONE_NEWNET)


def _attempt(use_feature: Callable[..., None], *arguments: str) -> str:
    try:
        use_feature(*arguments)
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)
    return ""


def _add_qdisc(kind: str) -> None:
    """Add it without parameters. An error that asks for parameters shows that the kernel has it."""
    parent = TC_H_INGRESS if kind in INGRESS_QDISCS else TC_H_ROOT
    position = _TC_MESSAGE.pack(_socket.AF_UNSPEC, LOOPBACK, 0, parent, 0)
    with links.Netlink() as netlink:
        try:
            netlink.request(
                RTM_NEWQDISC,
                links.NLM_F_CREATE | links.NLM_F_EXCL,
                position + links.text(TCA_KIND, kind),
            )
            netlink.request(RTM_DELQDISC, 0, position)
        except OSError as error:
            if error.errno in UNKNOWN_KIND:
                raise


def _add_link(kind: str) -> None:
    info = links.attribute(links.IFLA_LINKINFO, links.text(links.IFLA_INFO_KIND, kind))
    with links.Netlink() as netlink:
        netlink.request(*links.new_link(links.text(links.IFLA_IFNAME, f"p-{kind}"[:15]) + info))


def _choose_algorithm(name: str) -> None:
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        control.setsockopt(_socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
    finally:
        control.close()


def _write(key: str, value: str) -> None:
    with open("/proc/sys/" + key.replace(".", "/"), "w", encoding="ascii") as file:
        file.write(value)
