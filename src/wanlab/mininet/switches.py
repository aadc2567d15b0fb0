"""Switches: what stands between hosts, with its ports in the machine's root namespace.

Switch        for subclasses: a node with ports, and `start`, `stop` that do nothing yet
LinuxBridge   learns by itself (in nodelib, as in Mininet)
OVSSwitch     Open vSwitch, obeys controllers      OVSBridge   the same, learns by itself
UserSwitch, IVSSwitch   refused: programs that nobody has any more
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import wanlab
from wanlab.errors import CommandError, RequirementError, WanlabError

from .ground import ground
from .hosts import NODE_PARAMETERS, Node
from .util import errRun

if TYPE_CHECKING:
    from .controllers import Controller
    from .link import Intf

SWITCH_PARAMETERS = {*NODE_PARAMETERS, "dpid", "opts", "listenPort", "inNamespace", "isSwitch"}
OPEN_VSWITCH_PARAMETERS = {
    *("failMode", "datapath", "inband", "protocols", "reconnectms", "stp", "batch"),
}


class Switch(Node):
    """A node with ports that a program of a subclass's own connects. Its ports count from 1."""

    portBase = 1
    dpidLen = 16
    needs_dpid = True
    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS

    def __init__(
        self,
        name: str,
        dpid: str | None = None,
        opts: str = "",
        listenPort: int | None = None,
        **params: Any,
    ) -> None:
        params.setdefault("inNamespace", False)
        super().__init__(name, **params)
        self.dpid = self.defaultDpid(dpid)
        self.opts = opts
        self.listenPort = listenPort
        self.controlIntf: Intf | None = None
        self.is_started = False
        if not self.inNamespace:
            from .link import Intf

            self.controlIntf = Intf("lo", self, port=0)

    def defaultDpid(self, dpid: str | None = None) -> str:
        """The datapath's identity: as given, or the first number in the name; in hexadecimal."""
        if dpid:
            digits = str(dpid).replace(":", "").lower()
            if len(digits) > self.dpidLen or not re.fullmatch("[0-9a-f]+", digits):
                raise WanlabError(
                    f"{self.name}: {dpid!r} is not a dpid", f"{self.dpidLen} hexadecimal digits"
                )
        else:
            numbers = re.findall(r"\d+", self.name)
            if not numbers:
                if not self.needs_dpid:
                    return ""
                raise WanlabError(
                    f"{self.name}: Unable to derive default datapath ID - please either specify a "
                    "dpid or use a canonical switch name such as s23."
                )
            digits = f"{int(numbers[0]):x}"
        return digits.rjust(self.dpidLen, "0")

    def defaultIntf(self) -> Intf | None:
        return self.controlIntf or super().defaultIntf()

    def sendCmd(self, *cmd: Any, **kwargs: Any) -> None:
        """As a node's, once the switch has its shell to itself."""
        kwargs.setdefault("printPid", False)
        super().sendCmd(*cmd, **kwargs)

    def connected(self) -> bool:
        """Whether it works, and has reached its controller if it has one."""
        return True

    def start(self, controllers: Sequence[Controller]) -> None:
        """Begins to work. For subclasses."""
        ground.settle()
        self.is_started = True

    def stop(self, deleteIntfs: bool = True) -> None:
        """Ends to work."""
        self.is_started = False
        if deleteIntfs:
            self.deleteIntfs()
            ground.remove_node(self)

    def dpctl(self, *args: Any) -> str:
        raise WanlabError(f"{self.name} is a {type(self).__name__}, which has no dpctl")

    def attach(self, intf: Any) -> None:
        """Plugs an interface in. For subclasses."""

    def detach(self, intf: Any) -> None:
        """Unplugs an interface. For subclasses."""

    def foreign_intfs(self) -> list[Intf]:
        """Its interfaces that wanlab has not made and plugged in."""
        return [
            intf
            for intf in self.intfList()
            if intf.name != "lo" and (intf.link is None or intf.link.is_foreign)
        ]


class OVSSwitch(Switch):
    """An Open vSwitch. failMode: what it does without a controller, "secure" (nothing) or
    "standalone" (it learns by itself)."""

    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | OPEN_VSWITCH_PARAMETERS
    argmax = 128_000

    def __init__(
        self,
        name: str,
        failMode: str = "secure",
        datapath: str = "kernel",
        inband: bool = False,
        protocols: Any = None,
        reconnectms: int = 1000,
        stp: bool = False,
        batch: bool = False,
        **params: Any,
    ) -> None:
        super().__init__(name, **params)
        self.failMode = failMode
        self.datapath = datapath
        self.inband = inband
        self.protocols = protocols
        self.reconnectms = reconnectms
        self.stp = stp
        self.batch = batch
        self._controllers: list[Controller] = []
        if stp and failMode != "standalone":
            raise WanlabError(
                f"{name}: the spanning tree protocol needs failMode='standalone'",
                "OVSSwitch(..., failMode='standalone', stp=True), or OVSBridge",
            )

    @classmethod
    def instead_of(cls, bridge: Switch) -> None:
        """Turns a switch that was to be a bridge, and is not made yet, into one of these."""
        cls.checkSetup()
        bridge.__class__ = cls
        bridge.__dict__.update(
            dpid=bridge.defaultDpid(bridge.dpid),
            failMode="secure",
            datapath="kernel",
            inband=False,
            protocols=None,
            reconnectms=1000,
            batch=False,
            _controllers=[],
        )

    @classmethod
    def setup(cls) -> None:
        """Whether Open vSwitch is there."""
        if shutil.which("ovs-vsctl") is None:
            raise RequirementError(
                "Open vSwitch is not installed on this computer",
                "install it (Debian and Ubuntu: openvswitch-switch), or use Linux bridges: "
                "Mininet(switch=LinuxBridge), mn --switch lxbr",
            )

    def thing(self) -> wanlab.Switch:
        protocols = self.protocols or ()
        if isinstance(protocols, str):
            protocols = protocols.split(",")
        return wanlab.Switch(
            self.name,
            kind="ovs",
            dpid=self.dpid,
            stp=bool(self.stp),
            protocols=tuple(protocols),
            fail_mode=self.failMode,
            datapath={"user": "user"}.get(self.datapath, "kernel"),
            listen_port=self.listenPort,
        )

    def vsctl(self, *args: Any, **_kwargs: Any) -> str:
        """`ovs-vsctl` in the root namespace; what it says."""
        ground.settle()
        words = [word for arg in args for word in str(arg).split()]
        out, err, status = errRun("ovs-vsctl", *words)
        if status:
            raise CommandError(f"`ovs-vsctl {' '.join(words)}` failed", output=err or out)
        return out

    def dpctl(self, *args: Any) -> str:
        ground.settle()
        options = ["-O", self._versions()] if self.protocols else []
        return self.cmd("ovs-ofctl", *options, args[0], self.name, *args[1:])

    def _versions(self) -> str:
        return self.protocols if isinstance(self.protocols, str) else ",".join(self.protocols)

    def attach(self, intf: Any) -> None:
        found = self.intf(intf)
        number = f"-- set Interface {intf} ofport_request={self.ports[found]}" if found else ""
        self.vsctl("--may-exist add-port", self.name, intf, number)

    def detach(self, intf: Any) -> None:
        self.vsctl("--if-exists del-port", self.name, intf)

    def controller_targets(self, controllers: Iterable[Controller]) -> list[str]:
        targets = [f"{c.protocol}:{c.IP()}:{c.port}" for c in controllers]
        if self.listenPort and not self.inNamespace:
            targets.append(f"ptcp:{self.listenPort}")
        return targets

    def bridgeOpts(self) -> str:
        """What else its bridge is told, for `ovs-vsctl`."""
        opts = f" other_config:disable-in-band={str(not self.inband).lower()}"
        return opts + (f" {self.opts}" if self.opts else "")

    def start_words(self, controllers: Sequence[Controller]) -> list[str]:
        """For one `ovs-vsctl`, in which several switches may start."""
        self._controllers = list(controllers)
        words, names = [], []
        for number, target in enumerate(self.controller_targets(controllers)):
            names.append(f"@{self.name}c{number}")
            words += ["--", f"--id={names[-1]}", "create", "Controller", f'target="{target}"']
            if not target.startswith("p"):  # those are listened to, not called
                words.append(f"max_backoff={self.reconnectms}")
        guides = [f"controller=[{','.join(names)}]"] if names else []
        return [*words, "--", "set", "bridge", self.name, *self.bridgeOpts().split(), *guides]

    def start(self, controllers: Sequence[Controller]) -> None:
        super().start(controllers)
        self.vsctl(*self.start_words(controllers))
        for intf in self.foreign_intfs():
            self.attach(intf)

    @classmethod
    def batchStartup(cls, switches: Iterable[OVSSwitch], run: Any = None) -> list[OVSSwitch]:
        """Nothing is left to do: they have been made together."""
        return list(switches)

    @classmethod
    def batchShutdown(cls, switches: Iterable[OVSSwitch], run: Any = None) -> list[OVSSwitch]:
        return list(switches)

    def stop(self, deleteIntfs: bool = True) -> None:
        if self.is_started and not deleteIntfs:  # otherwise it goes as a whole
            self.vsctl("del-controller", self.name, "-- set-fail-mode", self.name, "secure")
            self.dpctl("del-flows")
        super().stop(deleteIntfs)

    def controllerUUIDs(self, update: bool = False) -> list[str]:
        """Open vSwitch's names for its connections to controllers."""
        said = self.vsctl("get Bridge", self.name, "controller")
        return re.findall(r"[0-9a-f-]{36}", said)

    def connected(self) -> bool:
        """Whether one of its controllers has answered; without one, whether it learns by itself."""
        uuids = self.controllerUUIDs()
        if not uuids:
            return self.failMode == "standalone"
        return any(
            "true" in self.vsctl("--if-exists get Controller", uuid, "is_connected")
            for uuid in uuids
        ) or (self.failMode == "standalone")

    def intfOpts(self, intf: Any) -> str:
        """What an interface of it is told, for `ovs-vsctl`."""
        return f" ofport_request={self.ports[self.intf(intf)]}"

    @classmethod
    def isOldOVS(cls) -> bool:
        return False

    @staticmethod
    def TCReapply(intf: Any) -> None:
        """Ours are not lost: they are set when the switch has its ports."""


OVSKernelSwitch = OVSSwitch


class OVSBridge(OVSSwitch):
    """An Open vSwitch that learns by itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["failMode"] = "standalone"
        super().__init__(*args, **kwargs)

    def start(self, controllers: Sequence[Controller]) -> None:
        super().start([])

    def connected(self) -> bool:
        return True


def start_together(switches: Sequence[OVSSwitch], controllers: Sequence[Controller]) -> None:
    """Starts Open vSwitches whose class has its `start` from here, in one process."""
    words: list[str] = []
    for switch in switches:
        wanted = [] if isinstance(switch, OVSBridge) else controllers
        words += switch.start_words(wanted)
        switch.is_started = True
    if words:
        switches[0].vsctl(*words)


class UserSwitch(Switch):
    """Mininet's reference switch in user space."""

    dpidLen = 12
    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | {"dpopts"}

    def __init__(self, name: str, dpopts: str = "--no-slicing", **kwargs: Any) -> None:
        raise RequirementError(
            f"{name}: UserSwitch needs ofdatapath and ofprotocol, OpenFlow's reference switch of "
            "2009, which no distribution has any more",
            "use OVSSwitch(datapath='user')",
        )


class IVSSwitch(Switch):
    """The Indigo Virtual Switch."""

    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | {"verbose"}

    def __init__(self, name: str, verbose: bool = False, **kwargs: Any) -> None:
        raise RequirementError(
            f"{name}: IVSSwitch needs ivs, a switch whose development ended in 2016",
            "use OVSSwitch",
        )


def run_in_root(command: Sequence[str]) -> None:
    """CommandError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"`{' '.join(command)}` failed", output=done.stderr or done.stdout)
