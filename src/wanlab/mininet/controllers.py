"""OpenFlow controllers of Open vSwitches.

The bundled one is a program of the machine, `wanlab-controller`, which makes the switches learning
switches. It is started with a network that has such a switch. Bridges of the kernel need no
controller.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from wanlab.errors import RequirementError, WanlabError
from wanlab.network import open_request

from .hosts import NODE_PARAMETERS, IntfOrName, Node
from .live_network import NodeOfNetwork, live_network
from .log import info, warn
from .options import OPENFLOW_PORTS
from .parameters import caution, is_ours
from .pause import pause
from .switches import OVSBridge, OVSSwitch

BUNDLED_COMMAND = "wanlab-controller"
CONNECT_TIMEOUT_S = 1.0
POLL_INTERVAL_S = 0.01
MAX_WAIT_S = 30.0
CONTROLLER_PARAMETERS = {
    *NODE_PARAMETERS,
    "command",
    "cargs",
    "cdir",
    "ip",
    "port",
    "protocol",
    "verbose",
    "cip",
}


class Controller(Node):
    """A controller that is started with the network.

    It is the bundled one, or `command` in folder `cdir` with arguments `cargs`, where %d is the port.
    """

    parameters: ClassVar[set[str]] = CONTROLLER_PARAMETERS

    def __init__(
        self,
        name: str,
        inNamespace: bool = False,
        command: str = "controller",
        cargs: str = "ptcp:%d",
        cdir: str | None = None,
        ip: str = "127.0.0.1",
        port: int = 6653,
        protocol: str = "tcp",
        verbose: bool = False,
        **params: Any,
    ) -> None:
        self.command = command
        self.cargs = f"-v {cargs}" if verbose else cargs
        self.cdir = cdir
        self.ip, _, port_in_ip = ip.partition(":")
        self.port = int(port_in_ip or port)
        self.protocol = protocol
        self._runs = False
        super().__init__(name, inNamespace=inNamespace, ip=self.ip, **params)

    @classmethod
    def isAvailable(cls) -> str:
        """Return the path of the program, or "" if there is none."""
        return shutil.which(BUNDLED_COMMAND) or shutil.which("controller") or ""

    @property
    def is_bundled(self) -> bool:
        """Whether it is the bundled controller, which only Open vSwitches use."""
        return self.command in ("controller", BUNDLED_COMMAND)

    def IP(self, intf: IntfOrName = None) -> str:
        address = super().IP(intf) if self.intfs else None
        return address or self.ip

    def checkListening(self) -> None:
        """Raise WanlabError if another controller already listens on this address and port."""
        if self.is_listening():
            raise WanlabError(
                f"Please shut down the controller which is running on port {self.port}",
                "or choose another port=, or use RemoteController to connect to it",
            )

    def is_listening(self) -> bool:
        return connects(self.IP(), self.port)

    def start(self) -> None:
        """Start the controller. The bundled one is started only if a switch needs a controller."""
        if self.is_bundled and not live_network().has_node(needs_controller):
            return
        if (other := self._other_at_port()) is not None:
            what = f"{self.name} is not started: {other.name} listens on port {self.port}"
            caution(WanlabError(what, "give each controller its own port="))
            return
        self.checkListening()
        if self.cdir is not None:
            self.cmd("cd", self.cdir)
        command = BUNDLED_COMMAND if self.is_bundled else self.command
        arguments = f"{self.IP()} {self.port}" if self.is_bundled else self._arguments()
        self.cmd(f"{command} {arguments} 1>/tmp/{self.name}.log 2>&1 &")
        self._runs = True
        if self.is_bundled:
            self._wait()

    def _other_at_port(self) -> Controller | None:
        """Return a controller of this script that was started at the same address and port."""
        for node in live_network().nodes:
            if not isinstance(node, Controller) or node is self or not node._runs:
                continue
            if (node.IP(), node.port) == (self.IP(), self.port):
                return node
        return None

    def _arguments(self) -> str:
        return self.cargs % self.port if "%" in self.cargs else self.cargs

    def _wait(self) -> None:
        """Wait until the controller listens; otherwise, switches would retry only after a second."""
        waited_s = 0.0
        while not self.is_listening():
            if waited_s > MAX_WAIT_S:
                raise WanlabError(
                    f"{self.name}: {self.command} does not listen on port {self.port}",
                    f"its messages are in /tmp/{self.name}.log",
                )
            pause(POLL_INTERVAL_S)
            waited_s += POLL_INTERVAL_S

    def stop(self, deleteIntfs: bool = True) -> None:
        """End the program that `start` started."""
        if self._runs:
            self.cmd("kill %" if self.lastPid is None else f"kill {self.lastPid}")
            self.cmd("wait 2>/dev/null")
            self._runs = False
        super().stop(deleteIntfs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.IP()}:{self.port} pid={self.pid}> "


def needs_controller(node: NodeOfNetwork) -> bool:
    return isinstance(node, OVSSwitch) and not isinstance(node, OVSBridge)


def connects(address: str, port: int) -> bool:
    """Whether a TCP connection can be made."""
    with socket.socket() as attempt:
        attempt.settimeout(CONNECT_TIMEOUT_S)
        try:
            return attempt.connect_ex((address, port)) == 0
        except OSError:  # the name cannot be resolved
            return False


ControllerClass = Callable[..., "Controller | None"]


def needs_openflow(controller: Controller | ControllerClass | None) -> bool:
    """Whether a controller makes switches do something that bridges do not.

    True for remote controllers and those of the user's own classes. `controller` may be a controller,
    its class, or a function that makes one.
    """
    cls = controller if isinstance(controller, type) else type(controller)
    if issubclass(cls, RemoteController | Ryu):
        return True
    return issubclass(cls, Controller) and not is_ours(cls)


class OVSController(Controller):
    """Open vSwitch's test controller. The bundled controller takes its place."""

    parameters: ClassVar[set[str]] = CONTROLLER_PARAMETERS

    @classmethod
    def isAvailable(cls) -> str:
        names = (BUNDLED_COMMAND, "ovs-controller", "test-controller", "ovs-testcontroller")
        return next(filter(None, map(shutil.which, names)), "")


class RemoteController(Controller):
    """A controller that runs already, outside of this script."""

    def __init__(
        self, name: str, ip: str = "127.0.0.1", port: int | None = None, **kwargs: Any
    ) -> None:
        self._has_fixed_port = port is not None or ":" in ip
        super().__init__(name, ip=ip, port=port or OPENFLOW_PORTS[0], **kwargs)
        self.command = "remote"

    def start(self) -> None:
        """Check that the controller answers."""
        self.checkListening()

    def stop(self, deleteIntfs: bool = True) -> None:
        Node.stop(self, deleteIntfs=True)

    def isListening(self, ip: str, port: int) -> bool:
        return connects(ip, port)

    def checkListening(self) -> None:
        """Look for the controller in the machine and, if --allow-connect permits, on the computer.

        Without `port`, both usual ports are tried.
        """
        ports = (self.port,) if self._has_fixed_port else OPENFLOW_PORTS
        self._refusals: list[str] = []
        for port in ports:
            if self.isListening(self.ip, port) or self._is_relayed(port):
                self.port = port
                return
        warn_of_absence(self.ip, ports, self._refusals)
        if not self._has_fixed_port:
            info(f"Setting remote controller to {self.ip}:{self.port}\n")

    def _is_relayed(self, port: int) -> bool:
        """If it answers on the user's computer, start a relay to it in the machine."""
        request = {"do": "connect", "address": self.ip, "port": port}
        try:
            with open_request(request) as connection, connection.makefile("rb") as lines:
                answer = json.loads(lines.readline() or b"{}")
        except (WanlabError, ValueError):
            return False
        if "connected" not in answer:
            if answer.get("is_allowed"):
                self._refusals.append(answer["error"])
            return False
        self.cmd("wanlab-relay", self.ip, port, "--detach")
        self.ip = "127.0.0.1"
        return self.isListening(self.ip, port)


def warn_of_absence(address: str, ports: Sequence[int], refusals: Sequence[str] = ()) -> None:
    """Say that no controller answers at these ports of an address.

    `refusals` are the reasons from the user's computer, where --allow-connect permits to look.
    """
    for port in ports:
        warn(f"Unable to contact the remote controller at {address}:{port}\n")
    if refusals:
        warn(f"(on your own computer: {'; '.join(refusals)}; start the controller first)\n")
        return
    warn(f"(to use one on your own computer: --allow-connect {address}:{ports[0]})\n")


class Ryu(Controller):
    """The Ryu framework, if it is installed."""

    parameters: ClassVar[set[str]] = CONTROLLER_PARAMETERS | {"ryuArgs"}

    def __init__(
        self,
        name: str,
        ryuArgs: str | Iterable[str] = "ryu.app.simple_switch",
        command: str = "ryu run",
        **kwargs: Any,
    ) -> None:
        if shutil.which("ryu") is None and command == "ryu run":
            raise RequirementError(
                f"{name}: Ryu is not installed",
                "pip install ryu; for its successor os-ken: start it, and use RemoteController",
            )
        words = ryuArgs if isinstance(ryuArgs, str) else " ".join(ryuArgs)
        super().__init__(name, command=command, cargs=f"--ofp-tcp-listen-port %d {words}", **kwargs)


class NOX(Controller):
    """The NOX controller. Refused: it is no longer available."""

    def __init__(self, name: str, *noxArgs: object, **kwargs: object) -> None:
        raise RequirementError(
            f"{name}: NOX is no longer available", "use Controller, RemoteController or Ryu"
        )


def NullController(*_args: object, **_kwargs: object) -> None:
    """Make no controller."""


DefaultControllers = (Controller, OVSController)


def findController(
    controllers: Iterable[type[Controller]] = DefaultControllers,
) -> type[Controller] | None:
    """Return the first of these classes whose program is installed."""
    return next((cls for cls in controllers if cls.isAvailable()), None)


def DefaultController(
    name: str,
    controllers: Iterable[type[Controller]] = DefaultControllers,
    **kwargs: Any,
) -> Controller:
    """Make a controller of the first class whose program is installed."""
    cls = findController(controllers)
    if cls is None:
        raise RequirementError("Could not find a default OpenFlow controller")
    return cls(name, **kwargs)
