"""Pairs of interfaces that a script creates itself. (wanlab creates those of links.)"""

from __future__ import annotations

from collections.abc import Callable

from wanlab.errors import CommandError

from .commands import quietRun, retry
from .interfaces import NodeOfInterface
from .log import error


def makeIntfPair(
    intf1: str,
    intf2: str,
    addr1: str | None = None,
    addr2: str | None = None,
    node1: NodeOfInterface | None = None,
    node2: NodeOfInterface | None = None,
    deleteIntfs: bool = True,
    runCmd: Callable[..., object] | None = None,
) -> None:
    """Create a veth pair, each end in its node. Raises CommandError if that fails."""
    runner = runCmd or quietRun
    if deleteIntfs:
        for name in (intf1, intf2):
            runner(f"ip link del {name}")
    words = [f"name {intf1}"]
    if addr1:
        words.append(f"address {addr1}")
    words.append(f"type veth peer name {intf2}")
    if addr2:
        words.append(f"address {addr2}")
    failure = runner(f"ip link add {' '.join(words)}")
    if failure:
        raise CommandError(f"cannot create the interfaces {intf1} and {intf2}", output=str(failure))
    for name, node in ((intf1, node1), (intf2, node2)):
        if node is not None and node.inNamespace:
            moveIntf(name, node)


def moveIntfNoRetry(intf: str, dstNode: NodeOfInterface, printError: bool = False) -> bool:
    """Move an interface of the root namespace into a node; return whether that worked."""
    failure = quietRun(f"ip link set {intf} netns {dstNode.pid}")
    if failure and printError:
        error(f"*** Error: moving {intf} to {dstNode.name} failed: {failure}\n")
    return not failure


def moveIntf(
    intf: str,
    dstNode: NodeOfInterface,
    printError: bool = True,
    retries: int = 3,
    delaySecs: float = 0.001,
) -> None:
    retry(retries, delaySecs, moveIntfNoRetry, intf, dstNode, printError=printError)
