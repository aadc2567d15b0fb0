"""What the kernel can do, found out by trying it in a network namespace that is thrown away.

A kind that is a module is loaded by being asked for, as `tc` and `ip` would.
"""

from __future__ import annotations

import _socket
import errno
import os
import struct

from . import links, system
from .namespaces import ROOT, Namespaces

RTM_NEWQDISC, RTM_DELQDISC = 36, 37
TCA_KIND = 1
TC_H_ROOT, TC_H_INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
BESIDE_THE_ROOT = ("ingress", "clsact")
LOOPBACK = 1
TCP_CONGESTION = 13
UNKNOWN_KIND = (errno.ENOENT, errno.EPERM)
_TC_MESSAGE = struct.Struct("=BxxxiIII")


class Probe:
    """Each list is answered by a dictionary: the name, and why not ("" if it can be had). A sysctl's
    name is "key = value"."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    def probe(
        self,
        qdiscs: list[str],
        links: list[str],
        algorithms: list[str],
        sysctls: list[list[str]],
    ) -> dict[str, dict[str, str]]:
        """`links`: kinds of network device. `algorithms`: of TCP, for a single connection. `sysctls`:
        key and value, in a namespace such as a node's."""
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


def _attempt(do: object, *arguments: str) -> str:
    try:
        do(*arguments)  # type: ignore[operator]
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)
    return ""


def _add_qdisc(kind: str) -> None:
    """Without parameters. That it wants some shows that it is there."""
    parent = TC_H_INGRESS if kind in BESIDE_THE_ROOT else TC_H_ROOT
    place = _TC_MESSAGE.pack(_socket.AF_UNSPEC, LOOPBACK, 0, parent, 0)
    with links.Netlink() as netlink:
        try:
            netlink.request(
                RTM_NEWQDISC,
                links.NLM_F_CREATE | links.NLM_F_EXCL,
                place + links.text(TCA_KIND, kind),
            )
            netlink.request(RTM_DELQDISC, 0, place)
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
