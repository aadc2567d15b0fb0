"""Switches. Their ports are in the machine's root namespace.

Switch                  base class: a node with ports, whose `start` and `stop` connect nothing
LinuxBridge             a learning bridge of the kernel (in nodelib, as in Mininet)
OVSSwitch               Open vSwitch, controlled by OpenFlow controllers
OVSBridge               Open vSwitch as a learning bridge
UserSwitch, IVSSwitch   refused: their programs are no longer available
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol

import wanlab
from wanlab.errors import CommandError, RequirementError, WanlabError
from wanlab.topology import storm_settings

from .commands import errRun
from .hosts import NODE_PARAMETERS, IntfOrName, Node
from .link import Intf
from .live_network import live_network
from .log import info, warn
from .parameters import ParameterValueError, caution
from .pause import pause

SWITCH_PARAMETERS = {*NODE_PARAMETERS, "dpid", "opts", "listenPort", "inNamespace", "isSwitch"}
OPENFLOW_PARAMETERS = ("protocols", "datapath", "inband", "reconnectms")
OPEN_VSWITCH_PARAMETERS = {
    "failMode",
    "datapath",
    "inband",
    "protocols",
    "reconnectms",
    "stp",
    "batch",
}

MAX_SCRIPT_BYTES = 1 << 20
_FILE_NAMES = re.compile(r"[\w./-]+\.(?:sh|txt|cli)\b")
_OVS_PROGRAMS = re.compile(r"\bovs-(?:ofctl|vsctl|appctl|dpctl)\b|\.(?:dpctl|vsctl)\(")


class ControllerAddress(Protocol):
    """The part of a controller that a switch uses: where it listens."""

    protocol: str
    port: int

    def IP(self) -> str: ...


class Switch(Node):
    """A node whose ports count from 1. A subclass starts the program that connects them."""

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
            self.controlIntf = Intf("lo", self, port=0)

    def defaultDpid(self, dpid: str | None = None) -> str:
        """Return the datapath ID in hexadecimal: `dpid`, or the first number in the name."""
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

    def sendCmd(self, *cmd: object, **kwargs: object) -> None:
        """See Node.sendCmd."""
        super().sendCmd(*cmd, **{"printPid": False, **kwargs})

    def connected(self) -> bool:
        """Whether it forwards packets, and is connected to its controller if it has one."""
        return True

    def start(self, controllers: Sequence[ControllerAddress]) -> None:
        """Start forwarding. Subclasses extend it."""
        live_network().create_pending()
        self.is_started = True

    def stop(self, deleteIntfs: bool = True) -> None:
        """Stop forwarding."""
        self.is_started = False
        if deleteIntfs:
            self.deleteIntfs()
            live_network().remove_node(self)

    def dpctl(self, *args: object) -> str:
        raise WanlabError(f"{self.name} is a {type(self).__name__}, which has no dpctl")

    def attach(self, intf: IntfOrName) -> None:
        """Add an interface to the switch. Subclasses implement it."""

    def detach(self, intf: IntfOrName) -> None:
        """Remove an interface from the switch. Subclasses implement it."""

    def foreign_intfs(self) -> list[Intf]:
        """Return the interfaces that were not created, and added to the switch, by wanlab."""
        return [
            intf
            for intf in self.intfList()
            if intf.name != "lo" and (intf.link is None or intf.link.is_foreign)
        ]


class OVSSwitch(Switch):
    """An Open vSwitch.

    failMode: what it does without a controller, "secure" (use only the flows that it has) or
    "standalone" (be a learning switch).
    """

    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | OPEN_VSWITCH_PARAMETERS
    argmax = 128_000

    def __init__(
        self,
        name: str,
        failMode: str = "secure",
        datapath: str = "kernel",
        inband: bool = False,
        protocols: str | Iterable[str] | None = None,
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
        self._controllers: list[ControllerAddress] = []
        if stp and failMode != "standalone":
            what = f"{name}: stp has no effect without failMode='standalone', as in Mininet"
            hint = "OVSSwitch(..., failMode='standalone', stp=True), or OVSBridge"
            caution(ParameterValueError(what, hint))
            self.stp = False

    @classmethod
    def convert_from_bridge(cls, bridge: Switch) -> None:
        """Turn a bridge that does not exist in the kernel yet into an Open vSwitch."""
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
        """Raise RequirementError if Open vSwitch is not installed."""
        if shutil.which("ovs-vsctl") is None:
            raise RequirementError(
                "Open vSwitch is not installed on this computer",
                "install it (Debian and Ubuntu: openvswitch-switch), or use Linux bridges: "
                "Mininet(switch=LinuxBridge), mn --switch lxbr",
            )

    def as_wanlab_node(self) -> wanlab.Switch:
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

    def vsctl(self, *args: object, **_kwargs: object) -> str:
        """Run `ovs-vsctl` in the root namespace and return its output."""
        live_network().create_pending()
        words = [word for arg in args for word in str(arg).split()]
        out, err, status = errRun("ovs-vsctl", *words)
        if status:
            raise CommandError(f"`ovs-vsctl {' '.join(words)}` failed", output=err or out)
        return out

    def dpctl(self, *args: object) -> str:
        live_network().create_pending()
        options = ["-O", self._versions()] if self.protocols else []
        return self.cmd("ovs-ofctl", *options, args[0], self.name, *args[1:])

    def _versions(self) -> str:
        if isinstance(self.protocols, str):
            return self.protocols
        return ",".join(self.protocols or ())

    def attach(self, intf: IntfOrName) -> None:
        known = self.intf(intf)
        request = f"-- set Interface {intf} ofport_request={self.ports[known]}" if known else ""
        self.vsctl("--may-exist add-port", self.name, intf, request)

    def detach(self, intf: IntfOrName) -> None:
        self.vsctl("--if-exists del-port", self.name, intf)

    def controller_targets(self, controllers: Iterable[ControllerAddress]) -> list[str]:
        targets = [f"{c.protocol}:{c.IP()}:{c.port}" for c in controllers]
        if self.listenPort and not self.inNamespace:
            targets.append(f"ptcp:{self.listenPort}")
        return targets

    def bridgeOpts(self) -> str:
        """Return further settings of its bridge, as arguments of `ovs-vsctl`."""
        opts = f" other_config:disable-in-band={str(not self.inband).lower()}"
        return opts + (f" {self.opts}" if self.opts else "")

    def start_arguments(self, controllers: Sequence[ControllerAddress]) -> list[str]:
        """Return the arguments of `ovs-vsctl` that start it; one call may start several switches."""
        self._controllers = list(controllers)
        words, names = [], []
        for number, target in enumerate(self.controller_targets(controllers)):
            names.append(f"@{self.name}c{number}")
            words += ["--", f"--id={names[-1]}", "create", "Controller", f'target="{target}"']
            if not target.startswith("p"):  # passive: the switch listens there
                words.append(f"max_backoff={self.reconnectms}")
                words += storm_settings(self.name, live_network().network.topology)
        controller = [f"controller=[{','.join(names)}]"] if names else []
        return [*words, "--", "set", "bridge", self.name, *self.bridgeOpts().split(), *controller]

    def start(self, controllers: Sequence[ControllerAddress]) -> None:
        super().start(controllers)
        self.vsctl(*self.start_arguments(controllers))
        for intf in self.foreign_intfs():
            self.attach(intf)

    @classmethod
    def batchStartup(cls, switches: Iterable[OVSSwitch], run: object = None) -> list[OVSSwitch]:
        """Do nothing: switches are started together anyway (see `start_together`)."""
        return list(switches)

    @classmethod
    def batchShutdown(cls, switches: Iterable[OVSSwitch], run: object = None) -> list[OVSSwitch]:
        return list(switches)

    def stop(self, deleteIntfs: bool = True) -> None:
        if self.is_started and not deleteIntfs:  # otherwise it is removed as a whole
            self.vsctl("del-controller", self.name, "-- set-fail-mode", self.name, "secure")
            self.dpctl("del-flows")
        super().stop(deleteIntfs)

    def controllerUUIDs(self, update: bool = False) -> list[str]:
        """Return the UUIDs of its connections to controllers."""
        output = self.vsctl("get Bridge", self.name, "controller")
        return re.findall(r"[0-9a-f-]{36}", output)

    def connected(self) -> bool:
        """Whether a controller has answered, or the switch forwards without a controller."""
        uuids = self.controllerUUIDs()
        if not uuids:
            return self.failMode == "standalone"
        return any(
            "true" in self.vsctl("--if-exists get Controller", uuid, "is_connected")
            for uuid in uuids
        ) or (self.failMode == "standalone")

    def intfOpts(self, intf: IntfOrName) -> str:
        """Return the settings of one of its interfaces, as arguments of `ovs-vsctl`."""
        known = self.intf(intf)
        assert known is not None, f"{self.name} has no interface {intf}"
        return f" ofport_request={self.ports[known]}"

    @classmethod
    def isOldOVS(cls) -> bool:
        return False

    @staticmethod
    def TCReapply(intf: object) -> None:
        """Do nothing: tc commands run after the ports were added, so Open vSwitch removes none."""


OVSKernelSwitch = OVSSwitch


class OVSBridge(OVSSwitch):
    """An Open vSwitch as a learning bridge, without a controller."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["failMode"] = "standalone"
        super().__init__(*args, **kwargs)

    def start(self, controllers: Sequence[ControllerAddress]) -> None:
        super().start([])

    def connected(self) -> bool:
        return True


def start_together(switches: Sequence[OVSSwitch], controllers: Sequence[ControllerAddress]) -> None:
    """Start Open vSwitches, whose classes do not override `start`, in one process."""
    arguments: list[str] = []
    for switch in switches:
        of_switch = [] if isinstance(switch, OVSBridge) else controllers
        arguments += switch.start_arguments(of_switch)
        switch.is_started = True
    if arguments:
        switches[0].vsctl(*arguments)


def asks_for_openflow(params: Mapping[str, object]) -> bool:
    """Whether the parameters of a switch require an Open vSwitch with a controller."""
    cls = params.get("cls")
    if cls is not None:
        return isinstance(cls, type) and issubclass(cls, OVSSwitch) and cls is not OVSBridge
    has_openflow_parameter = any(params.get(name) for name in OPENFLOW_PARAMETERS)
    return has_openflow_parameter or params.get("failMode", "standalone") != "standalone"


def script_uses_open_vswitch() -> bool:
    """Whether the running script, or a file beside it, calls Open vSwitch's programs.

    Its switches then have to be Open vSwitches, as they are by default in Mininet. The files beside it
    are the modules that it has imported, and the shell scripts and files of prompt commands that it
    names.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or shutil.which("ovs-vsctl") is None:
        return False
    script = Path(main).resolve()
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = (Path(file).resolve() for file in modules if file is not None and file.endswith(".py"))
    texts = [_text_of(path) for path in {script, *paths} if path.parent == script.parent]
    names = {name for text in texts for name in _FILE_NAMES.findall(text)}
    texts += [_text_of(script.parent / name) for name in names]
    return any(map(_OVS_PROGRAMS.search, texts))


def _text_of(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read, or is too large for a script."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= MAX_SCRIPT_BYTES:
            return path.read_text(encoding="utf-8", errors="replace")
    return ""


def wait_until_connected(
    switches: Iterable[Switch], limit_s: float | None, interval_s: float
) -> bool:
    """Wait until all switches are connected to their controllers; return whether they are."""
    info("*** Waiting for switches to connect\n")
    waited_s = 0.0
    remaining = list(switches)
    while True:
        for switch in list(remaining):
            if switch.connected():
                info(f"{switch} ")
                remaining.remove(switch)
        if not remaining:
            info("\n")
            return True
        if limit_s is not None and waited_s >= limit_s:
            break
        pause(interval_s)
        waited_s += interval_s
    warn(f"Timed out after {waited_s:g} seconds\n")
    for switch in remaining:
        warn(f"Warning: {switch.name} is not connected to a controller\n")
    return False


class UserSwitch(Switch):
    """OpenFlow's reference switch in user space. Refused: it is no longer available."""

    dpidLen = 12
    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | {"dpopts"}

    def __init__(self, name: str, dpopts: str = "--no-slicing", **kwargs: object) -> None:
        raise RequirementError(
            f"{name}: UserSwitch needs ofdatapath and ofprotocol, OpenFlow's reference switch of "
            "2009, which no distribution packages any more",
            "use OVSSwitch(datapath='user')",
        )


class IVSSwitch(Switch):
    """The Indigo Virtual Switch. Refused: it is no longer available."""

    parameters: ClassVar[set[str]] = SWITCH_PARAMETERS | {"verbose"}

    def __init__(self, name: str, verbose: bool = False, **kwargs: object) -> None:
        raise RequirementError(
            f"{name}: IVSSwitch needs ivs, a switch whose development ended in 2016",
            "use OVSSwitch",
        )


def run_in_root(command: Sequence[str]) -> None:
    """Run a command in the root namespace. Raises CommandError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"`{' '.join(command)}` failed", output=done.stderr or done.stdout)
