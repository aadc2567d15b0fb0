"""Links and their interfaces.

    Link     two Intf and a wire between them; takes no parameters of traffic control
    TCLink   two TCIntf: bw, delay, jitter, loss, max_queue_size, ... (see `shaping`)

An interface is made with its link when it is needed (see `ground`); until then it notes what it is
told. Subclasses override `config`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import wanlab
import wanlab.topology
from wanlab.errors import CommandError, RequirementError, WanlabError

from .ground import batch, ground
from .hosts import next_mac
from .log import info
from .namespace import Interface
from .parameters import apply, is_ours, refuse_unknown
from .shaping import Shaping, shaping
from .util import ipParse, makeIntfPair

if TYPE_CHECKING:
    from .hosts import Node

USE_TCLINK = "a plain link has no limits: use cls=TCLink, or Mininet(link=TCLink)"
TC_PARAMETERS = {
    *("bw", "delay", "jitter", "loss", "max_queue_size", "speedup", "gro", "txo", "rxo"),
    *("use_hfsc", "use_tbf", "use_htb", "latency_ms", "enable_ecn", "enable_red"),
    "disable_gro",
}
INTF_PARAMETERS = {"ip", "mac", "ifconfig", "up", "moveIntfFn", "prefixLen"}
LINK_PARAMETERS = {"key", "use_htb"}
MOST_NAME_CHARACTERS = 15
FAST_WIRE_BPS = 40_000_000_000
UNLIMITED = 0
# On a wire a packet takes 24 bytes more than a queue counts; the smallest one has 60.
WIRE_SHARE = 84 / 60


class Intf:
    """An interface of a node. Without a link it is one that is there already."""

    parameters: ClassVar[set[str]] = INTF_PARAMETERS | LINK_PARAMETERS

    def __init__(
        self,
        name: str,
        node: Node | None = None,
        port: int | None = None,
        link: Link | None = None,
        mac: str | None = None,
        **params: Any,
    ) -> None:
        assert node is not None, "an interface belongs to a node: Intf(name, node=h1)"
        self.name = name
        self.made_as = name
        self.node = node
        self.link = link
        self.mac = mac
        self.ip: str | None = None
        self.prefixLen: int | None = None
        self.is_live = link is None or link.is_foreign
        self._commands: list[str] = []
        self._has_shaping = False
        if name == "lo":
            self.ip, self.prefixLen = "127.0.0.1", 8
        elif link is None:
            self._take_foreign()
        move = params.pop("moveIntfFn", None)
        # Where an interface stands already, nothing has to be moved.
        node.addIntf(self, port=port, moveIntfFn=move if self.is_live else None)
        self.params = params
        self.config(**params)

    def _take_foreign(self) -> None:
        """An interface that is in the root namespace already: a card, or what a script has made."""
        here = Interface(self.node.namespace, self.name)
        if here.exists():
            return
        if not Interface("", self.name).exists():
            raise RequirementError(
                f"there is no interface {self.name} for {self.node.name}",
                "a machine of our own has no cards of your computer; run on the native machine "
                "as root: wanlab python --machine native SCRIPT",
            )
        subprocess.run(["ip", "link", "set", self.name, "netns", self.node.namespace], check=True)
        here.set_up(True)

    # -- asking -----------------------------------------------------------------------------------

    def IP(self) -> str | None:
        return self.ip

    def MAC(self) -> str | None:
        return self.mac

    def address_with_prefix(self) -> str | None:
        return f"{self.ip}/{self.prefixLen}" if self.ip and self.prefixLen is not None else None

    def isUp(self, setUp: bool = False) -> bool:
        """Whether it is up; with `setUp` it is afterwards."""
        if setUp:
            self._interface().set_up(True)
            return True
        return self._interface().is_up()

    def updateIP(self) -> str | None:
        """Asks the kernel for its address."""
        found = self._interface().address()
        self.ip, self.prefixLen = found or (None, None)
        return self.ip

    def updateMAC(self) -> str | None:
        """Asks the kernel for its MAC."""
        self.mac = self._interface().mac()
        return self.mac

    def updateAddr(self) -> tuple[str | None, str | None]:
        return self.updateIP(), self.updateMAC()

    def status(self) -> str:
        """OK, DOWN, or MISSING."""
        if not self._interface().exists():
            return "MISSING"
        return "OK" if self.isUp() else "DOWN"

    # -- setting ----------------------------------------------------------------------------------

    def _interface(self) -> Interface:
        """In the kernel."""
        return Interface(self.node.namespace, self.name)

    def cmd(self, *args: Any, **kwargs: Any) -> str:
        """In the node's shell."""
        return self.node.cmd(*args, **kwargs)

    def setIP(self, ipstr: str, prefixLen: int | None = None) -> str:
        """10.0.0.1/8, or the address and the length of its prefix."""
        address, slash, prefix = ipstr.partition("/")
        if slash:
            prefixLen = int(prefix)
        if prefixLen is None:
            raise WanlabError(f"{self.name}: {ipstr} has no prefix", f"as in {ipstr}/8")
        if ":" in address:
            self._at_once(f"addr replace {address}/{prefixLen} dev {self.name}")
            return ""
        if len(address.split(".")) != 4:
            raise WanlabError(f"{self.name}: {ipstr!r} is not an address", "as in 10.0.0.1/8")
        ipParse(address)
        is_new = (address, prefixLen) != (self.ip, self.prefixLen)
        self.ip, self.prefixLen = (address, prefixLen) if address != "0.0.0.0" else (None, None)
        if self.is_live and is_new:
            self._interface().set_address(address, prefixLen)
        return ""

    def setMAC(self, macstr: str) -> str:
        if len(macstr.split(":")) != 6:
            raise WanlabError(f"{self.name}: {macstr!r} is not a MAC address")
        is_new = self.mac != macstr
        self.mac = macstr
        if self.is_live and is_new:
            self._interface().set_mac(macstr)
        return ""

    def be_called_as_made(self) -> None:
        """wanlab takes it away by the name that it was made with."""
        if not self.is_live or self.name == self.made_as:
            return
        before = Interface(self.node.namespace, self.made_as)
        # A VLAN's interface may have taken the place of the one that carries it.
        if not before.exists() and self._interface().exists():
            self.rename(self.made_as)

    def settle_mac(self) -> None:
        """Called when it has been made for a node that had a MAC of its own before."""
        if self.mac is not None:
            self._interface().set_mac(self.mac)

    def _at_once(self, line: str) -> None:
        namespace = self.node.namespace
        batch(namespace, "ip", [line])

    def ifconfig(self, *args: Any) -> str:
        """up, down, an address with its prefix; with nothing, what `ip` shows. Anything else is for
        ifconfig, where it is installed."""
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
        """As pulling a cable and plugging it in: addresses and routes are there again afterwards."""
        is_wanlabs = self.link is not None and not self.link.is_foreign
        if is_wanlabs and self.name == self.made_as:
            ground.settle()
            ground.network.set_port_up(self.made_as, up)
        else:
            self._interface().set_up(up)

    def rename(self, newname: str) -> str:
        if len(newname) > MOST_NAME_CHARACTERS:
            raise WanlabError(
                f"{newname} is too long for an interface",
                f"{MOST_NAME_CHARACTERS} characters at most",
            )
        if self.is_live or self.link is None:
            interface = self._interface()
            interface.set_up(False)
            interface.rename(newname)
            interface.set_up(True)
        else:
            self.made_as = newname
        self.node.nameToIntf.pop(self.name, None)
        self.name = newname
        self.node.nameToIntf[newname] = self
        return ""

    def setParam(self, results: dict[str, Any], method: str, **param: Any) -> Any:
        """As Node.setParam."""
        return apply(self, results, method, param, list | tuple)

    def config(
        self,
        mac: str | None = None,
        ip: str | None = None,
        ifconfig: Any = None,
        up: bool = True,
        **params: Any,
    ) -> dict[str, Any]:
        """Sets what it is given."""
        cure = dict.fromkeys(TC_PARAMETERS, USE_TCLINK)
        refuse_unknown(self.name, type(self), params, self.parameters, cure)
        results: dict[str, Any] = {}
        self.setParam(results, "setMAC", mac=mac)
        self.setParam(results, "setIP", ip=ip)
        if not up:
            self.ifconfig("down")
        elif self.link is not None and self.link.is_foreign:
            self._interface().set_up(True)
        self.setParam(results, "ifconfig", ifconfig=ifconfig)
        return results

    def speed_bps(self) -> int | None:
        """How fast its wire has to be; None: as any other."""
        return None

    def take_commands(self) -> list[str]:
        """The tc commands that wait for it to be made."""
        commands, self._commands = self._commands, []
        return commands

    # -- the end ----------------------------------------------------------------------------------

    def delete(self) -> None:
        """Takes it away; a link goes with either of its ends."""
        self.be_called_as_made()
        self.node.delIntf(self)
        if self.link is not None and not self.link.is_foreign:
            ground.remove_link(self.link)
        elif self.name != "lo" and self._interface().exists():
            self._at_once(f"link del {self.name}")
        self.link = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class TCIntf(Intf):
    """An interface with traffic control on what leaves through it."""

    bwParamMax = 1000
    """Mininet's limit. Here any rate is possible."""
    parameters: ClassVar[set[str]] = Intf.parameters | TC_PARAMETERS
    _bw: float | None = None

    def config(  # type: ignore[override]
        self,
        bw: Any = None,
        delay: Any = None,
        jitter: Any = None,
        loss: Any = None,
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
    ) -> dict[str, Any]:
        """Replaces the conditions of the interface; with none given they stay."""
        if "disable_gro" in params:
            gro = not params.pop("disable_gro")
        results = super().config(**params)
        wanted = shaping(
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
        if speedup and wanted.bw is not None and self.node.name.startswith("s"):
            wanted = shaping(self.name, **{**vars(wanted), "bw": speedup})
        offloads = {"gro": gro, "tx": txo, "rx": rxo}
        self._set_offloads({word: on for word, on in offloads.items() if on is not None})
        if wanted.is_empty:
            return results
        info(f"({wanted.words()}) ")
        results["tcoutputs"] = self._shape(wanted)
        results["parent"] = f" {wanted.delay_lines('', wanted.rate_lines('')[1])[1]} "
        return results

    def _shape(self, wanted: Shaping) -> list[str]:
        lines = wanted.lines(self.name)
        self._bw = wanted.bw
        if not self.is_live:
            self._commands = lines
        else:
            speed_bps = self.speed_bps()
            if speed_bps is not None and self.link is not None and not self.link.is_foreign:
                ground.network.set_port_speed(self.made_as, speed_bps)
            before = [f"qdisc del dev {self.name} root"] if self._is_shaped() else []
            batch(self.node.namespace, "tc", before + lines)
        return ["" for _ in lines]

    def speed_bps(self) -> int | None:
        """A rate near that of the wire, or beyond it, takes a faster wire."""
        needed_bps = 0 if self._bw is None else self._bw * 1e6 * WIRE_SHARE
        usual_bps = ground.network.line_rate_bps
        if usual_bps == UNLIMITED or needed_bps <= usual_bps:
            return None
        return FAST_WIRE_BPS if needed_bps <= FAST_WIRE_BPS else UNLIMITED

    def _is_shaped(self) -> bool:
        """Whether somebody has put a queueing discipline there."""
        return any(" root " in line and " 0: " not in line for line in self._shown())

    def _shown(self) -> Iterable[str]:
        return self.tc("%s qdisc show dev %s").splitlines()

    def _set_offloads(self, offloads: dict[str, bool]) -> None:
        if offloads:
            words = [
                word for name, on in offloads.items() for word in (name, "on" if on else "off")
            ]
            _, errors, status = self.node.pexec("ethtool", "-K", self.name, *words)
            if status:
                raise CommandError(f"`ethtool -K {self.name} {' '.join(words)}`", output=errors)

    def tc(self, cmd: str, tc: str = "tc") -> str:
        """`cmd` with the program and the interface in it: "%s qdisc show dev %s"."""
        output, errors, _ = self.node.pexec(cmd % (tc, self.name))
        return output + errors

    def bwCmds(self, bw: Any = None, speedup: float = 0, **flags: Any) -> tuple[list[str], str]:
        """(commands for `tc`, the parent of what follows)"""
        if speedup and self.node.name.startswith("s"):
            bw = speedup
        lines, parent = shaping(self.name, bw=bw, **flags).rate_lines("%s")
        return [f"%s {line}" for line in lines], f" {parent} "

    @staticmethod
    def delayCmds(parent: str, **values: Any) -> tuple[list[str], str]:
        """(commands for `tc`, the parent of what follows)"""
        lines, below = shaping("netem", **values).delay_lines("%s", parent.strip())
        return [f"%s {line}" for line in lines], f" {below} "


class OVSIntf(Intf):
    """One end of a patch between two Open vSwitches."""

    def ifconfig(self, *args: Any) -> str:
        words = " ".join(map(str, args))
        if words == "up":
            return ""
        raise WanlabError(f"{self.name} is a patch port, which cannot be {words}")


class Link:
    """A wire between two nodes. `params` hold for both ends, `params1` and `params2` for one."""

    def __init__(
        self,
        node1: Node,
        node2: Node,
        port1: int | None = None,
        port2: int | None = None,
        intfName1: str | None = None,
        intfName2: str | None = None,
        addr1: str | None = None,
        addr2: str | None = None,
        intf: Any = Intf,
        cls1: Any = None,
        cls2: Any = None,
        params1: dict[str, Any] | None = None,
        params2: dict[str, Any] | None = None,
        fast: bool = True,
        **params: Any,
    ) -> None:
        self.fast = fast
        self.is_foreign = not is_ours_to_make(type(self))
        """Made by a subclass, in its own way."""
        one = self._end(node1, port1, intfName1, {**params, **(params1 or {})})
        # A link from a node to itself takes two ports of it.
        two = self._end(node2, port2, intfName2, {**params, **(params2 or {})}, after=one)
        addr1, addr2 = addr1 or next_mac(), addr2 or next_mac()
        if self.is_foreign:
            ground.settle()
            self.makeIntfPair(
                one["name"], two["name"], addr1, addr2, node1, node2, deleteIntfs=False
            )
        self.intf1: Any = None
        self.intf2: Any = None
        try:
            self.intf1 = (cls1 or intf)(link=self, mac=addr1, **one)
            self.intf2 = (cls2 or intf)(link=self, mac=addr2, **two)
        except Exception:
            for end in (one, two):
                end["node"].delIntf(end["node"].nameToIntf.get(end["name"]))
            raise
        if not self.is_foreign:
            ground.add_link(self)

    def _end(
        self,
        node: Node,
        port: int | None,
        name: str | None,
        params: dict[str, Any],
        after: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Name, port and parameters of an end."""
        number = params.pop("port", None) if port is None else port
        if number is None:
            number = node.newPort()
            if after is not None and after["node"] is node and after["port"] == number:
                number += 1
        name = name or params.pop("intfName", None) or self.intfName(node, number)
        if len(name) > MOST_NAME_CHARACTERS:
            raise WanlabError(
                f"{name} is too long for an interface ({MOST_NAME_CHARACTERS} characters)",
                "shorten the node's name, or give intfName1 and intfName2",
            )
        taken = node.nameToIntf.get(name)
        if taken is not None:
            raise WanlabError(f"{node.name} has an interface {name} already", "choose another port")
        return {"name": name, "node": node, "port": number, **params}

    def intfName(self, node: Node, n: int) -> str:
        """The name of a node's nth interface."""
        return f"{node.name}-eth{n}"

    @classmethod
    def makeIntfPair(
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Node | None = None,
        node2: Node | None = None,
        deleteIntfs: bool = True,
    ) -> Any:
        """For subclasses: makes both interfaces, each in its node. Ours are made by wanlab."""
        return makeIntfPair(
            intfname1, intfname2, addr1, addr2, node1, node2, deleteIntfs=deleteIntfs
        )

    @staticmethod
    def _ignore(*args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    # -- what it is to wanlab ---------------------------------------------------------------------

    def ends(self) -> tuple[Any, Any]:
        return self.intf1, self.intf2

    def thing(self) -> wanlab.topology.Link:
        return wanlab.topology.Link(self._port(self.intf1), self._port(self.intf2))

    def _port(self, intf: Intf) -> wanlab.Port:
        return wanlab.Port(
            intf.node.name,
            number=intf.node.ports[intf],
            name=intf.made_as,
            # A host has a MAC even before its first link: there this one is set afterwards.
            mac=None if intf.node.is_live else intf.mac,
            ip=intf.address_with_prefix(),
            speed_bps=intf.speed_bps(),
        )

    # -- the end ----------------------------------------------------------------------------------

    def delete(self) -> None:
        """Takes it away with both interfaces."""
        for intf in self.ends():
            intf.be_called_as_made()
            intf.node.delIntf(intf)
        if not self.is_foreign:
            ground.remove_link(self)
        elif self.intf1._interface().exists():
            self.intf1._at_once(f"link del {self.intf1.name}")
        self.intf1.link = self.intf2.link = None

    def stop(self) -> None:
        """Called when the network ends."""
        self.delete()

    def status(self) -> str:
        return f"({self.intf1.status()} {self.intf2.status()})"

    def __str__(self) -> str:
        return f"{self.intf1}<->{self.intf2}"


def is_ours_to_make(cls: type) -> bool:
    """Whether a class of links leaves it to wanlab to make the interfaces."""
    for owner in cls.__mro__:
        if "makeIntfPair" in vars(owner):
            return is_ours(owner)
    return True


class TCLink(Link):
    """A link with traffic control at both ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("cls1", TCIntf)
        kwargs.setdefault("cls2", TCIntf)
        super().__init__(*args, **kwargs)


class TCULink(TCLink):
    """The same with the offloads off that a switch in user space cannot do."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"txo": False, "rxo": False, **kwargs})


class OVSLink(Link):
    """A link; between two Open vSwitches Mininet makes it of patch ports, we of interfaces, so that
    it can be shaped and captured."""
