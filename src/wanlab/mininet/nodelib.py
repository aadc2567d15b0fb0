"""More nodes: a bridge of the kernel, and a NAT gateway."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, ClassVar

import wanlab
from wanlab.errors import CommandError, RequirementError, WanlabError

from .addresses import ipStr, netParse
from .commands import quietRun as quietRun
from .hosts import NODE_PARAMETERS, IntfOrName, Node
from .live_network import live_network
from .log import info as info
from .log import warn as warn
from .moduledeps import pathCheck as pathCheck
from .namespace import KernelInterface
from .parameters import Params, once
from .switches import SWITCH_PARAMETERS, ControllerAddress, Switch, run_in_root

# Of ovs-ofctl(8), for switches that the prompt's `dpctl` is often typed for.
FLOW_COMMANDS = frozenset(
    f"{verb}-{what}"
    for verb in ("dump", "add", "del", "mod", "diff", "replace")
    for what in ("flow", "flows", "groups", "group", "ports", "ports-desc", "tables", "aggregate")
)
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
NO_INTERNET = (
    "leads to the machine's root namespace only: a machine has no connection to the Internet"
)
_shown: set[str] = set()


class LinuxBridge(Switch):
    """A learning bridge of the kernel.

    With `stp` it runs the spanning tree protocol, at priority `prio`.
    """

    needs_dpid = False
    nextPrio = 100
    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | {"stp", "prio"}

    def __init__(
        self, name: str, stp: bool = False, prio: int | None = None, **kwargs: Any
    ) -> None:
        if kwargs.get("inNamespace"):
            raise WanlabError(
                f"{name}: a bridge is in the root namespace, where its ports are",
                "leave out inNamespace=True",
            )
        self.stp = stp
        if stp and prio is None:
            prio = LinuxBridge.nextPrio
            LinuxBridge.nextPrio += 1
        self.prio = prio
        super().__init__(name, **kwargs)

    def as_wanlab_node(self) -> wanlab.Switch:
        return wanlab.Switch(self.name, stp=bool(self.stp), priority=self.prio)

    def start(self, controllers: Sequence[ControllerAddress]) -> None:
        super().start(controllers)
        bridge = KernelInterface("", self.name)
        if not bridge.is_up():
            bridge.set_up(True)
        for intf in self.foreign_intfs():
            self.attach(intf)

    def stop(self, deleteIntfs: bool = True) -> None:
        """Stop forwarding until it is started again."""
        if self.is_started and not deleteIntfs:
            KernelInterface("", self.name).set_up(False)
        super().stop(deleteIntfs)

    def attach(self, intf: IntfOrName) -> None:
        live_network().create_pending()
        run_in_root(["ip", "link", "set", str(intf), "up", "master", self.name])

    def detach(self, intf: IntfOrName) -> None:
        live_network().create_pending()
        run_in_root(["ip", "link", "set", str(intf), "nomaster"])

    def connected(self) -> bool:
        """Whether all its ports are in a final state; with STP that takes 30 s."""
        if not self.stp:
            return True
        folder = Path(f"/sys/class/net/{self.name}/brif")
        states = [(port / "state").read_text().strip() for port in folder.iterdir()]
        return all(state in ("3", "4") for state in states)  # forwarding, blocking

    def dpctl(self, *args: object) -> str:
        """Run brctl (show, showmacs, showstp), or `bridge` if brctl is not installed."""
        live_network().create_pending()
        if args and str(args[0]) in FLOW_COMMANDS:
            raise RequirementError(
                f"{self.name} is a bridge of the kernel, which has no flows",
                "use Open vSwitch: mn --switch ovsk, or Mininet(switch=OVSSwitch)",
            )
        if shutil.which("brctl"):
            words = list(map(str, args)) or ["show"]
            if words[0] in ("showmacs", "showstp", "show") and len(words) == 1:
                words.append(self.name)
            return self.cmd("brctl", *words)
        return self.cmd("bridge", *args)


class NAT(Node):
    """A gateway that replaces source addresses of `subnet` with its own.

    It leads to the machine's root namespace; the embedded machine has no connection to the Internet.
    """

    parameters: ClassVar[set[str]] = NODE_PARAMETERS | {
        # inetIntf is accepted as in earlier versions of Mininet; routes decide in any case.
        "subnet",
        "localIntf",
        "flush",
        "inetIntf",
    }

    def __init__(
        self,
        name: str,
        subnet: str = "10.0/8",
        localIntf: IntfOrName = None,
        flush: bool = False,
        **params: Any,
    ) -> None:
        super().__init__(name, **params)
        once(_shown, "NAT", warn, f"*** Warning: {name} {NO_INTERNET}\n")
        number, prefix = netParse(subnet)
        self.subnet = str(IPv4Network((ipStr(number), prefix), strict=False))
        self.localIntf = localIntf
        self.flush = flush
        self.forwardState: str | None = None
        self._rules: list[list[str]] = []

    def setManualConfig(self, intf: object) -> None:
        """Do nothing: in a machine no other program manages interfaces."""

    def config(self, **params: Any) -> Params:  # type: ignore[override]
        if not self.localIntf:
            self.localIntf = self.defaultIntf()
        results = super().config(**params)
        if self.flush:
            for words in (["-F"], ["-t", "nat", "-F"], ["-P", "INPUT", "ACCEPT"]):
                self._iptables(words)
        local = str(self.localIntf)
        rules = [
            ["FORWARD", "-i", local, "-d", self.subnet, "-j", "DROP"],
            ["FORWARD", "-i", local, "-s", self.subnet, "-j", "ACCEPT"],
            ["FORWARD", "-o", local, "-d", self.subnet, "-j", "ACCEPT"],
        ]
        translation = ["POSTROUTING", "-s", self.subnet, "!", "-d", self.subnet, "-j", "MASQUERADE"]
        for rule in reversed(rules):
            self._add(["-I", *rule], ["-D", *rule])
        self._add(["-t", "nat", "-A", *translation], ["-t", "nat", "-D", *translation])
        self.forwardState = self.cmd("cat", FORWARDING).strip()
        self.cmd(f"echo 1 > {FORWARDING}")
        return results

    def _add(self, words: list[str], undo: list[str]) -> None:
        self._iptables(words)
        self._rules.append(undo)

    def _iptables(self, words: list[str]) -> None:
        if shutil.which("iptables") is None:
            raise RequirementError(
                f"{self.name}: NAT needs iptables", "install it (Debian and Ubuntu: iptables)"
            )
        _, errors, status = self.pexec("iptables", *words)
        if status:
            raise CommandError(f"`iptables {' '.join(words)}` failed in {self.name}", output=errors)

    def terminate(self) -> None:
        """Remove it and its rules, also those in the root namespace."""
        if not self.inNamespace:
            for words in reversed(self._rules):
                self.pexec("iptables", *words)
            if self.forwardState is not None:
                self.cmd(f"echo {self.forwardState} > {FORWARDING}")
        self._rules = []
        super().terminate()
