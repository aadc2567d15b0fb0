"""Interfaces of nodes, plain (Intf) and with traffic control (TCIntf, see `shaping`).

An interface is created in the kernel with its link when it is needed (see `live_network`); until then
it only remembers its settings. Subclasses override `config`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from ipaddress import IPv4Interface, ip_interface
from typing import Any, ClassVar, Protocol

from wanlab.errors import CommandError, RequirementError, WanlabError

from .live_network import LinkOfNetwork, NodeOfNetwork, live_network
from .log import info
from .namespace import KernelInterface, run_batch
from .parameters import (
    ParameterValueError,
    Params,
    apply,
    caution,
    caution_unknown,
    run_or_warn,
)
from .shaping import Shaping, shaping, warn_of_small_queue

USE_TCLINK = "a plain link has no limits: use cls=TCLink, or Mininet(link=TCLink)"
PASS_DIRECTLY = "pass its content to addLink directly: addLink(h1, h2, cls=TCLink, bw=10)"
TC_PARAMETERS = {
    "bw",
    "delay",
    "jitter",
    "loss",
    "max_queue_size",
    "speedup",
    "gro",
    "txo",
    "rxo",
    "use_hfsc",
    "use_tbf",
    "use_htb",
    "latency_ms",
    "enable_ecn",
    "enable_red",
    "disable_gro",
}
INTF_PARAMETERS = {"ip", "mac", "ifconfig", "up", "moveIntfFn", "prefixLen"}
LINK_PARAMETERS = {"key", "use_htb"}
MAX_NAME_CHARACTERS = 15  # IFNAMSIZ, without the final NUL
FAST_WIRE_BPS = 40_000_000_000
UNLIMITED = 0
# On a wire, a packet takes 24 bytes more than a queue counts. The smallest packet has 60 bytes.
WIRE_OVERHEAD = 84 / 60


class NodeOfInterface(NodeOfNetwork, Protocol):
    """The part of a node that an interface uses."""

    ports: dict[Intf, int]
    reserved_ports: set[int]
    nameToIntf: dict[str, Intf]

    @property
    def inNamespace(self) -> bool: ...

    @property
    def namespace(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def is_live(self) -> bool: ...

    def newPort(self) -> int: ...

    def addIntf(
        self,
        intf: Intf,
        port: int | None = None,
        moveIntfFn: Callable[..., object] | None = None,
    ) -> None: ...

    def delIntf(self, intf: Intf | None) -> None: ...

    def intfList(self) -> list[Intf]: ...

    def cmd(self, *args: object, **kwargs: Any) -> str: ...

    def pexec(self, *args: object, **kwargs: object) -> tuple[str, str, int]: ...


class LinkOfInterface(LinkOfNetwork, Protocol):
    """The part of a link that an interface uses."""

    is_foreign: bool
    is_live: bool

    def ends(self) -> tuple[Intf, Intf]: ...


class Intf:
    """An interface of a node. Without a link, it represents an interface that already exists."""

    parameters: ClassVar[set[str]] = INTF_PARAMETERS | LINK_PARAMETERS

    def __init__(
        self,
        name: str,
        node: NodeOfInterface | None = None,
        port: int | None = None,
        link: LinkOfInterface | None = None,
        mac: str | None = None,
        **params: Any,
    ) -> None:
        assert node is not None, "an interface belongs to a node: Intf(name, node=h1)"
        self.name = name
        self.kernel_name = name
        """The name that wanlab created it with."""
        self.node = node
        self.link = link
        self.mac = mac if mac and not _problem_of_mac(mac) else None
        self.ip: str | None = None
        self.prefixLen: int | None = None
        self._pending_tc_commands: list[str] = []
        self._pending_ip_commands: list[str] = []
        move = params.pop("moveIntfFn", None)
        if name == "lo":
            self.ip, self.prefixLen = "127.0.0.1", 8
        elif link is None and move is None:
            self._move_to_node()
        # wanlab creates the interfaces of links in their node, so there is nothing to move.
        node.addIntf(self, port=port, moveIntfFn=move if self.is_live else None)
        if link is None and move is not None:
            self._interface().set_up(True)
        self.params = params
        self.config(**params)

    def _move_to_node(self) -> None:
        """Move an interface of the root namespace here: a NIC, or one that the script created."""
        interface = self._interface()
        if interface.exists():
            return
        if not KernelInterface("", self.name).exists():
            raise RequirementError(
                f"there is no interface {self.name} for {self.node.name}",
                "a machine does not have your computer's NICs: leave it out",
            )
        subprocess.run(["ip", "link", "set", self.name, "netns", self.node.namespace], check=True)
        interface.set_up(True)

    # -- reading ----------------------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        """Whether the kernel has it."""
        return self.link is None or self.link.is_live

    def IP(self) -> str | None:
        return self.ip

    def MAC(self) -> str | None:
        return self.mac

    def address_with_prefix(self) -> str | None:
        """Return its address for a topology."""
        if not self.ip or self.prefixLen is None or self._has_network_address():
            return None
        return f"{self.ip}/{self.prefixLen}"

    def isUp(self, setUp: bool = False) -> bool:
        """Return whether it is up; with `setUp` set it up first."""
        if setUp:
            self._interface().set_up(True)
            return True
        return self._interface().is_up()

    def updateIP(self) -> str | None:
        """Read its address from the kernel."""
        self.ip, self.prefixLen = self._interface().address() or (None, None)
        return self.ip

    def updateMAC(self) -> str | None:
        """Read its MAC address from the kernel."""
        self.mac = self._interface().mac()
        return self.mac

    def updateAddr(self) -> tuple[str | None, str | None]:
        return self.updateIP(), self.updateMAC()

    def status(self) -> str:
        """Return OK, DOWN or MISSING."""
        if not self._interface().exists():
            return "MISSING"
        return "OK" if self.isUp() else "DOWN"

    # -- setting ----------------------------------------------------------------------------------

    def _interface(self) -> KernelInterface:
        return KernelInterface(self.node.namespace, self.name)

    def exists_in_kernel(self) -> bool:
        return self._interface().exists()

    def cmd(self, *args: object, **kwargs: object) -> str:
        """Run a command in the node's shell."""
        return self.node.cmd(*args, **kwargs)

    def setIP(self, ipstr: str, prefixLen: int | None = None) -> str:
        """Set the address: 10.0.0.1/8, or the address and the length of its prefix."""
        if "/" not in ipstr and prefixLen is None:
            raise WanlabError(f"{self.name}: {ipstr} has no prefix length", f"as in {ipstr}/8")
        try:
            new = ip_interface(ipstr if "/" in ipstr else f"{ipstr}/{prefixLen}")
        except ValueError:
            what = f"{self.name}: {ipstr!r} is not an address and is not set, as in Mininet"
            caution(ParameterValueError(what, "write it as in 10.0.0.1/8"))
            return ""
        length = new.network.prefixlen
        if new.version == 6:
            self._run_ip(f"addr replace {new.ip}/{length} dev {self.name}")
            return ""
        address = str(new.ip)
        is_new = (address, length) != (self.ip, self.prefixLen)
        self.ip, self.prefixLen = address, length
        if self.is_live:
            if is_new:
                self._interface().set_address(address, length)
            if not self._interface().is_up():  # Mininet runs `ifconfig h1-eth0 10.0.0.1/8 up`
                self.set_up(True)
        return ""

    def _run_ip(self, line: str) -> None:
        """Run a line of `ip` now, or as soon as the interface exists."""
        if self.is_live:
            self.run_ip(line)
        else:
            self._pending_ip_commands.append(line)

    def setMAC(self, macstr: str) -> str:
        if problem := _problem_of_mac(macstr):
            what = (
                f"{self.name}: the MAC address {macstr!r} {problem}; it is not set, as in Mininet"
            )
            caution(ParameterValueError(what, "write it as in 00:00:00:00:00:01"))
            return ""
        is_new = self.mac != macstr
        self.mac = macstr
        if self.is_live and is_new:
            self._interface().set_mac(macstr)
        return ""

    def on_created(self, node_was_live: bool) -> None:
        """Make the settings that the topology cannot contain.

        These are the MAC address, if the node was live before its first link, addresses that only the
        kernel accepts, and pending `ip` commands.
        """
        if node_was_live and self.mac is not None:
            self._interface().set_mac(self.mac)
        if self._has_network_address():
            assert self.ip is not None
            assert self.prefixLen is not None
            self._interface().set_address(self.ip, self.prefixLen)
        commands, self._pending_ip_commands = self._pending_ip_commands, []
        if commands:
            run_or_warn(self.node.namespace, "ip", commands)

    def _has_network_address(self) -> bool:
        """Whether its address is that of the network itself, which topologies refuse."""
        if not self.ip or self.prefixLen is None or self.prefixLen > 30:
            return False
        network = IPv4Interface(f"{self.ip}/{self.prefixLen}").network
        return str(network.network_address) == self.ip

    def restore_kernel_name(self) -> None:
        """Restore the interface's first name, because wanlab removes it by that name."""
        if not self.is_live or self.name == self.kernel_name:
            return
        original = KernelInterface(self.node.namespace, self.kernel_name)
        # `name` may belong to a VLAN interface on top of the original one, which still exists.
        if not original.exists() and self.exists_in_kernel():
            self.rename(self.kernel_name)

    def run_ip(self, line: str) -> None:
        """Run a line of `ip` in the node's namespace."""
        namespace = self.node.namespace
        run_batch(namespace, "ip", [line])

    def ifconfig(self, *args: object) -> str:
        """Accept up, down, or an address with its prefix; without arguments show the interface.

        Any other arguments are passed to ifconfig, if it is installed.
        """
        words = " ".join(map(str, args)).split()
        if words in (["up"], ["down"]):
            self.set_up(words == ["up"])
            return ""
        if len(words) == 1 and "/" in words[0]:
            return self.setIP(words[0])
        if not words and shutil.which("ifconfig") is None:
            return self.cmd("ip addr show", self.name)
        return self.cmd("ifconfig", self.name, *words)

    def set_up(self, up: bool) -> None:
        """Unplug the cable or plug it in; addresses and routes are restored afterwards."""
        is_wanlabs = self.link is not None and not self.link.is_foreign
        if is_wanlabs and self.name == self.kernel_name:
            live_network().create_pending()
            live_network().network.set_port_up(self.kernel_name, up)
        else:
            self._interface().set_up(up)

    def rename(self, newname: str) -> str:
        if len(newname) > MAX_NAME_CHARACTERS:
            raise WanlabError(
                f"{newname} is too long for an interface name",
                f"{MAX_NAME_CHARACTERS} characters at most",
            )
        if self.is_live or self.link is None:
            interface = self._interface()
            interface.set_up(False)
            interface.rename(newname)
            interface.set_up(True)
        else:
            self.kernel_name = newname
        self.node.nameToIntf.pop(self.name, None)
        self.name = newname
        self.node.nameToIntf[newname] = self
        return ""

    def setParam(self, results: Params, method: str, **param: object) -> object:
        """See Node.setParam."""
        return apply(self, results, method, param, (list, tuple))

    def config(
        self,
        mac: str | None = None,
        ip: str | None = None,
        ifconfig: object = None,
        up: bool = True,
        **params: object,
    ) -> Params:
        """Apply these parameters and return the results. Subclasses may override it."""
        hints = {**dict.fromkeys(TC_PARAMETERS, USE_TCLINK), "linkopts": PASS_DIRECTLY}
        caution_unknown(self.name, type(self), params, self.parameters, hints)
        results: Params = {}
        self.setParam(results, "setMAC", mac=mac)
        self.setParam(results, "setIP", ip=ip)
        if not up:
            self.ifconfig("down")
        elif self.link is not None and self.link.is_foreign:
            self._interface().set_up(True)
        self.setParam(results, "ifconfig", ifconfig=ifconfig)
        return results

    def speed_bps(self) -> int | None:
        """Return the speed that its wire needs; None is the default speed."""
        return None

    def pop_tc_commands(self) -> list[str]:
        """Return the pending tc commands, and forget them."""
        commands, self._pending_tc_commands = self._pending_tc_commands, []
        return commands

    # -- removing ---------------------------------------------------------------------------------

    def delete(self) -> None:
        """Remove it; a link is removed with either of its ends."""
        self.restore_kernel_name()
        self.node.delIntf(self)
        if self.link is not None and not self.link.is_foreign:
            live_network().remove_link(self.link)
        elif self.name != "lo" and self.exists_in_kernel():
            self.run_ip(f"link del {self.name}")
        self.link = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _problem_of_mac(mac: str) -> str:
    """Return why the kernel refuses a MAC address, or ""."""
    if not re.fullmatch(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}", mac):
        return "is malformed"
    octets = [int(octet, 16) for octet in mac.split(":")]
    if not any(octets):
        return "is all zeros"
    return "is multicast" if octets[0] & 1 else ""


class TCIntf(Intf):
    """An interface with traffic control on its outgoing packets."""

    bwParamMax = 1000
    """Mininet's limit. Here any rate is possible."""
    parameters: ClassVar[set[str]] = Intf.parameters | TC_PARAMETERS
    _bw: float | None = None
    _pending_offloads: str = ""

    def config(  # type: ignore[override]
        self,
        bw: object = None,
        delay: object = None,
        jitter: object = None,
        loss: object = None,
        gro: bool | None = None,
        txo: bool | None = None,
        rxo: bool | None = None,
        speedup: float = 0,
        use_hfsc: bool = False,
        use_tbf: bool = False,
        latency_ms: float | None = None,
        enable_ecn: bool = False,
        enable_red: bool = False,
        max_queue_size: int | None = None,
        **params: Any,
    ) -> Params:
        """Replace the interface's conditions. If no parameter sets one, they stay as they are."""
        if "disable_gro" in params:
            gro = not params.pop("disable_gro")
        results = super().config(**params)
        conditions = shaping(
            self.name,
            bw=bw,
            delay=delay,
            jitter=jitter,
            loss=loss,
            use_hfsc=use_hfsc,
            use_tbf=use_tbf,
            latency_ms=latency_ms,
            enable_ecn=enable_ecn,
            enable_red=enable_red,
            max_queue_size=max_queue_size,
        )
        if speedup and conditions.bw is not None and self.node.name.startswith("s"):
            conditions = shaping(self.name, **{**vars(conditions), "bw": speedup})
        offloads = {"gro": gro, "tx": txo, "rx": rxo}
        self._set_offloads({name: on for name, on in offloads.items() if on is not None})
        if conditions.is_empty:
            return results
        info(f"({conditions.describe()}) ")
        results["tcoutputs"] = self._shape(conditions)
        results["parent"] = f" {conditions.delay_lines('', conditions.rate_lines('')[1])[1]} "
        return results

    def _shape(self, conditions: Shaping) -> list[str]:
        self._bw = conditions.bw
        wire_bps = live_network().network.line_rate_bps
        in_flight = conditions.packets_in_flight(wire_bps)
        if conditions.max_queue_size and conditions.max_queue_size < in_flight:
            warn_of_small_queue(self.name, conditions.max_queue_size, in_flight)
        lines = conditions.lines(self.name, wire_bps)
        if not self.is_live:
            self._pending_tc_commands = lines
        else:
            speed_bps = self.speed_bps()
            if speed_bps is not None and self.link is not None and not self.link.is_foreign:
                live_network().network.set_port_speed(self.kernel_name, speed_bps)
            reset = [f"qdisc del dev {self.name} root"] if self._has_qdisc() else []
            run_or_warn(self.node.namespace, "tc", reset + lines)
        return ["" for _ in lines]

    def speed_bps(self) -> int | None:
        """Return the speed of a faster wire, if its rate comes close to that of the default wire."""
        needed_bps = 0 if self._bw is None else self._bw * 1e6 * WIRE_OVERHEAD
        default_bps = live_network().network.line_rate_bps
        if default_bps == UNLIMITED or needed_bps <= default_bps:
            return None
        return FAST_WIRE_BPS if needed_bps <= FAST_WIRE_BPS else UNLIMITED

    def _has_qdisc(self) -> bool:
        """Whether a queueing discipline was installed on it (the kernel's default is `0:`)."""
        lines = self.tc("%s qdisc show dev %s").splitlines()
        return any(" root " in line and " 0: " not in line for line in lines)

    def _set_offloads(self, offloads: dict[str, bool]) -> None:
        """Switch offloads of its NIC on or off, now or as soon as it exists."""
        words = [f"{name} {'on' if is_on else 'off'}" for name, is_on in offloads.items()]
        if words:
            self._pending_offloads = " ".join(words)
            if self.is_live:
                self._run_ethtool()

    def _run_ethtool(self) -> None:
        words, self._pending_offloads = self._pending_offloads, ""
        line = f"ethtool -K {self.name} {words}"
        try:
            _, errors, status = self.node.pexec(line)
        except CommandError as error:  # it is not installed
            caution(CommandError(f"`{line}` failed: {error.what}"))
            return
        if status:
            caution(CommandError(f"`{line}` failed in {self.node}", output=errors))

    def on_created(self, node_was_live: bool) -> None:
        """See Intf.on_created; also switch the offloads."""
        super().on_created(node_was_live)
        if self._pending_offloads:
            self._run_ethtool()

    def tc(self, cmd: str, tc: str = "tc") -> str:
        """Run `cmd` with the program and the interface filled in: "%s qdisc show dev %s"."""
        output, errors, _ = self.node.pexec(cmd % (tc, self.name))
        return output + errors

    def bwCmds(
        self, bw: object = None, speedup: float = 0, **flags: object
    ) -> tuple[list[str], str]:
        """Return (commands for `tc`, the parent of what follows)."""
        if speedup and self.node.name.startswith("s"):
            bw = speedup
        lines, parent = shaping(self.name, bw=bw, **flags).rate_lines("%s")
        return [f"%s {line}" for line in lines], f" {parent} "

    @staticmethod
    def delayCmds(parent: str, **values: object) -> tuple[list[str], str]:
        """Return (commands for `tc`, the parent of what follows)."""
        lines, below = shaping("netem", **values).delay_lines("%s", parent.strip())
        return [f"%s {line}" for line in lines], f" {below} "


class OVSIntf(Intf):
    """One end of a patch between two Open vSwitches."""

    def ifconfig(self, *args: object) -> str:
        words = " ".join(map(str, args))
        if words == "up":
            return ""
        raise WanlabError(f"{self.name} is a patch port, which cannot be {words}")
