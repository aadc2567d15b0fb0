"""Controllers: who tells Open vSwitches what to do, over OpenFlow.

Ours is a program of the machine, `wanlab-controller`, which makes learning switches of them. It is
started with a network that has such a switch; bridges learn by themselves and need none.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from typing import Any, ClassVar

from wanlab.errors import RequirementError, WanlabError
from wanlab.network import open_request

from .ground import ground
from .hosts import NODE_PARAMETERS, Node
from .log import info, warn
from .options import OPENFLOW_PORTS
from .parameters import is_ours
from .switches import OVSBridge, OVSSwitch

OWN_COMMAND = "wanlab-controller"
CONNECT_S = 1.0
STEP_S = 0.01
MOST_WAIT_S = 30.0
CONTROLLER_PARAMETERS = {
    *NODE_PARAMETERS,
    *("command", "cargs", "cdir", "ip", "port", "protocol", "verbose", "cip"),
}


class Controller(Node):
    """A controller that is started with the network: ours, or `command` in folder `cdir` with
    arguments `cargs`, in which %d is the port."""

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
        self.ip, _, own_port = ip.partition(":")
        self.port = int(own_port or port)
        self.protocol = protocol
        self._runs = False
        super().__init__(name, inNamespace=inNamespace, ip=self.ip, **params)

    @classmethod
    def isAvailable(cls) -> str:
        """The program."""
        return shutil.which(OWN_COMMAND) or shutil.which("controller") or ""

    @property
    def is_own(self) -> bool:
        """Whether it is the bundled one, which only matters to Open vSwitches."""
        return self.command in ("controller", OWN_COMMAND)

    def IP(self, intf: Any = None) -> str:
        found = super().IP(intf) if self.intfs else None
        return found or self.ip

    def checkListening(self) -> None:
        """A controller that runs there already is an error."""
        if self.is_listening():
            raise WanlabError(
                f"Please shut down the controller which is running on port {self.port}",
                "or give this one another port=, or use RemoteController to connect to it",
            )

    def is_listening(self) -> bool:
        return connects(self.IP(), self.port)

    def start(self) -> None:
        """Starts it, if it has switches to lead."""
        if self.is_own and not ground.has_node(needs_controller):
            return
        self.checkListening()
        if self.cdir is not None:
            self.cmd("cd", self.cdir)
        command = OWN_COMMAND if self.is_own else self.command
        arguments = f"{self.IP()} {self.port}" if self.is_own else self._arguments()
        self.cmd(f"{command} {arguments} 1>/tmp/{self.name}.log 2>&1 &")
        self._runs = True
        if self.is_own:
            self._wait()

    def _arguments(self) -> str:
        return self.cargs % self.port if "%" in self.cargs else self.cargs

    def _wait(self) -> None:
        """Until it listens: switches would try again only after a second."""
        waited = 0.0
        while not self.is_listening():
            if waited > MOST_WAIT_S:
                raise WanlabError(
                    f"{self.name}: {self.command} does not listen on port {self.port}",
                    f"its messages are in /tmp/{self.name}.log",
                )
            time.sleep(STEP_S)
            waited += STEP_S

    def stop(self, *args: Any, **kwargs: Any) -> None:
        """Ends the program that `start` has started."""
        if self._runs:
            self.cmd("kill %" if self.lastPid is None else f"kill {self.lastPid}")
            self.cmd("wait 2>/dev/null")
            self._runs = False
        kwargs.setdefault("deleteIntfs", True)
        super().stop(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.IP()}:{self.port} pid={self.pid}> "


def needs_controller(node: Node) -> bool:
    return isinstance(node, OVSSwitch) and not isinstance(node, OVSBridge)


def connects(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as attempt:
        attempt.settimeout(CONNECT_S)
        return attempt.connect_ex((address, port)) == 0


def leads(controller: Any) -> bool:
    """Whether a controller (or its class, or a function that makes one) is there to make switches do
    something that bridges would not: a remote one, or one of the user's own."""
    cls = controller if isinstance(controller, type) else type(controller)
    if issubclass(cls, RemoteController | Ryu):
        return True
    return issubclass(cls, Controller) and not is_ours(cls)


class OVSController(Controller):
    """Open vSwitch's test controller, which does the same as ours."""

    parameters: ClassVar[set[str]] = CONTROLLER_PARAMETERS

    @classmethod
    def isAvailable(cls) -> str:
        names = (OWN_COMMAND, "ovs-controller", "test-controller", "ovs-testcontroller")
        return next(filter(None, map(shutil.which, names)), "")


class RemoteController(Controller):
    """One that somebody else starts."""

    def __init__(
        self, name: str, ip: str = "127.0.0.1", port: int | None = None, **kwargs: Any
    ) -> None:
        self._is_port_given = port is not None or ":" in ip
        super().__init__(name, ip=ip, port=port or OPENFLOW_PORTS[0], **kwargs)
        self.command = "remote"

    def start(self) -> None:
        """It runs elsewhere; here is looked whether it answers."""
        self.checkListening()

    def stop(self, *args: Any, **kwargs: Any) -> None:
        Node.stop(self, deleteIntfs=True)

    def isListening(self, ip: str, port: int) -> bool:
        return connects(ip, port)

    def checkListening(self) -> None:
        """Without a port of its own it is looked for at the two that are usual: in the machine, and on
        the user's computer as far as that may be reached."""
        ports = (self.port,) if self._is_port_given else OPENFLOW_PORTS
        for port in ports:
            if self.isListening(self.ip, port) or self._is_brought_near(port):
                self.port = port
                return
        for port in ports:
            warn(f"Unable to contact the remote controller at {self.ip}:{port}\n")
        warn(f"(one on your own computer is reached with: --allow-connect {self.ip}:{ports[0]})\n")
        if not self._is_port_given:
            info(f"Setting remote controller to {self.ip}:{self.port}\n")

    def _is_brought_near(self, port: int) -> bool:
        """A relay listens for it in the machine, if it answers outside."""
        request = {"do": "connect", "address": self.ip, "port": port}
        try:
            with open_request(request) as connection, connection.makefile("rb") as lines:
                answer = json.loads(lines.readline() or b"{}")
        except (WanlabError, ValueError):
            return False
        if "connected" not in answer:
            return False
        self.cmd("wanlab-relay", self.ip, port, "--detach")
        self.ip = "127.0.0.1"
        return self.isListening(self.ip, port)


class Ryu(Controller):
    """The Ryu framework, where it is installed."""

    parameters: ClassVar[set[str]] = CONTROLLER_PARAMETERS | {"ryuArgs"}

    def __init__(
        self,
        name: str,
        ryuArgs: Any = "ryu.app.simple_switch",
        command: str = "ryu run",
        **kwargs: Any,
    ) -> None:
        if shutil.which("ryu") is None and command == "ryu run":
            raise RequirementError(
                f"{name}: Ryu is not installed", "pip install ryu, or use Controller"
            )
        words = ryuArgs if isinstance(ryuArgs, str) else " ".join(ryuArgs)
        super().__init__(name, command=command, cargs=f"--ofp-tcp-listen-port %d {words}", **kwargs)


class NOX(Controller):
    """A controller of 2008."""

    def __init__(self, name: str, *noxArgs: Any, **kwargs: Any) -> None:
        raise RequirementError(
            f"{name}: NOX is not to be had any more", "use Controller, RemoteController or Ryu"
        )


def NullController(*_args: Any, **_kwargs: Any) -> None:
    """No controller."""


DefaultControllers = (Controller, OVSController)


def findController(controllers: Any = DefaultControllers) -> Any:
    """The first of these that is available."""
    return next((cls for cls in controllers if cls.isAvailable()), None)


def DefaultController(name: str, controllers: Any = DefaultControllers, **kwargs: Any) -> Any:
    cls = findController(controllers)
    if cls is None:
        raise RequirementError("Could not find a default OpenFlow controller")
    return cls(name, **kwargs)
