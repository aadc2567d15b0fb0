"""Node: a host, a router, and what switches and controllers are made from.

A Node is made in Python at once and in the kernel when it is needed (see `ground`). Its shell is
started with its first command. Subclasses override `config` and `terminate`, as LinuxRouter does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
from functools import cache
from itertools import count
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, ClassVar

import wanlab
from wanlab.errors import CommandError, WanlabError
from wanlab.topology import Controller

from .ground import batch, ground
from .log import debug, info, warn
from .namespace import Interface
from .parameters import apply, refuse_unknown
from .shell import INTERRUPT, Shell
from .util import decode, macColonHex, words_of

if TYPE_CHECKING:
    from .link import Intf, Link

# What a shell says of a command that goes to the background.
NEW_JOB = re.compile(r"^\[\d+\] \d+\r?\n")
PrivateDirectory = str | tuple[str, str] | list[str]

NODE_PARAMETERS = {
    *("ip", "mac", "defaultRoute", "lo", "privateDirs", "inNamespace", "waitExited"),
    *("cpu", "cores", "sched", "period_us", "isSwitch", "cls", "batch"),
}
OF_OTHER_NODES = {
    "bw": "bw belongs to a link: addLink(..., cls=TCLink, bw=10)",
    "delay": "delay belongs to a link: addLink(..., cls=TCLink, delay='5ms')",
    "dpid": "dpid belongs to a switch",
    "protocols": "protocols belongs to a switch: cls=OVSSwitch",
}
PROGRAMS = Path("/run/wanlab/mininet-programs")
_macs = count(1)


def next_mac() -> str:
    """Locally administered, and the same ones in every run: 02:00, which program of the machine this
    is, and a count."""
    return macColonHex(0x02 << 40 | _number_of_program() << 16 | next(_macs))


@cache
def _number_of_program() -> int:
    """A machine may run several, whose networks may meet."""
    try:
        with PROGRAMS.open("ab") as file:
            file.write(b".")
            return (file.tell() - 1) & 0xFFFF
    except OSError:
        return 0


class Node:
    """Anything with a network stack, and a shell in it."""

    portBase = 0
    inToNode: ClassVar[dict[int, Node]] = {}
    outToNode: ClassVar[dict[int, Node]] = {}
    isSetup = False
    parameters: ClassVar[set[str]] = NODE_PARAMETERS

    def __init__(self, name: str, inNamespace: bool = True, **params: Any) -> None:
        refuse_unknown(name, type(self), params, self.parameters, OF_OTHER_NODES)
        self.checkSetup()
        self.name: str = name
        self.inNamespace: bool = inNamespace
        self.privateDirs: list[PrivateDirectory] = params.get("privateDirs") or []
        self.waitExited: bool = params.get("waitExited", False)
        self.params: dict[str, Any] = params
        self.intfs: dict[int, Intf] = {}
        self.ports: dict[Intf, int] = {}
        self.nameToIntf: dict[str, Intf] = {}
        self.lastCmd: str | None = None
        self.lastPid: int | None = None
        self.waiting = False
        self.readbuf = ""
        self.execed = False
        self._shell: Shell | None = None
        self._decodes_from = b""
        self._has_private_directories = False
        self._routes: list[str] = []
        if self.privateDirs and not inNamespace:
            raise WanlabError(
                f"{name}: private directories need a namespace of the node's own",
                "leave out inNamespace=False",
            )
        ground.add_node(self)

    # -- what it is in the kernel -----------------------------------------------------------------

    @property
    def home(self) -> str:
        """Its network namespace; "" is the machine's root namespace."""
        return self.name if self.inNamespace else ""

    @property
    def namespace(self) -> str:
        """The same, made if it was not there yet."""
        ground.settle()
        return self.home

    def thing(self) -> wanlab.Host | wanlab.Switch | Controller:
        """What it is to wanlab."""
        first = self.intfs.get(min(self.intfs)) if self.intfs else None
        address = first.address_with_prefix() if first else None
        return wanlab.Host(
            self.name,
            ip=address or "",
            mac=first.mac if first else next_mac(),
            in_root=not self.inNamespace,
        )

    def settled(self) -> None:
        """Called when it is there; what waited for that is done."""
        if self._routes:
            routes, self._routes = self._routes, []
            batch(self.home, "ip", routes)

    @property
    def is_live(self) -> bool:
        return ground.is_live(self)

    @classmethod
    def checkSetup(cls) -> None:
        """Calls `setup` before the first node of a class."""
        if not cls.__dict__.get("isSetup", False):
            cls.setup()
            cls.isSetup = True

    @classmethod
    def setup(cls) -> None:
        """For subclasses: checks what they depend on."""

    # -- its shell --------------------------------------------------------------------------------

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts its shell now. The first command does that by itself."""
        if self._shell is not None and not self._shell.has_ended:
            return
        self._drop_shell()
        shell = Shell(f"mininet:{self.name}", self._wrap)
        self._shell = shell
        self.inToNode[shell.fileno()] = self
        self.outToNode[shell.fileno()] = self
        self._decodes_from = b""
        self.readbuf = ""
        self.waiting = False

    def _live_shell(self) -> Shell:
        self.startShell()
        assert self._shell is not None
        return self._shell

    def _wrap(self, arguments: list[str], folder: str | None = None) -> list[str]:
        wrapped = ground.wrap(self, arguments, folder)
        if self.privateDirs and not self._has_private_directories:
            self.mountPrivateDirs()
        return wrapped

    @property
    def shell(self) -> subprocess.Popen[bytes]:
        """The shell's process."""
        return self._live_shell().process

    @property
    def pid(self) -> int:
        """Of a process in this node: its shell."""
        return self._live_shell().pid

    @property
    def stdout(self) -> Any:
        """Where its commands' output can be polled for and read."""
        return self._live_shell().terminal

    stdin = stdout

    @property
    def master(self) -> int:
        """The descriptor of its shell's terminal."""
        return self._live_shell().fileno()

    slave = master

    @property
    def pollOut(self) -> Any:
        import select

        watch = select.poll()
        watch.register(self._live_shell(), select.POLLIN)
        return watch

    @property
    def lastStatus(self) -> int | None:
        """Exit status of the last command."""
        return None if self._shell is None else self._shell.status

    @classmethod
    def fdToNode(cls, fd: int) -> Node | None:
        return cls.outToNode.get(fd) or cls.inToNode.get(fd)

    def _drop_shell(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None and not shell.terminal.closed:
            self.inToNode.pop(shell.fileno(), None)
            self.outToNode.pop(shell.fileno(), None)
            shell.close()

    # -- commands ---------------------------------------------------------------------------------

    def sendCmd(
        self, *args: Any, printPid: bool = False, echoes: bool = False, **_kwargs: Any
    ) -> None:
        """Starts a command in the shell; `monitor` or `waitOutput` gives its output. `echoes`: its
        terminal shows what is typed."""
        assert not self.waiting, f"{self.name} is busy with `{self.lastCmd}`"
        words = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        command = " ".join(map(str, words))
        shell = self._live_shell()
        self.lastCmd = command
        self.lastPid = None
        self.waiting = True
        self._background_before = shell.background_pid
        if printPid and not command.rstrip().endswith("&"):
            command = f"bash -c {shlex.quote(f'echo $$ >&3; exec {command}')} 3>{self._pid_file()}"
        shell.send(command, echoes=echoes)

    def _pid_file(self) -> str:
        """Where a command that was sent with printPid leaves its pid."""
        return f"/tmp/mininet-pid-{self.name}"

    def sendInt(self, intr: str = INTERRUPT) -> None:
        """What Ctrl-C does."""
        if self._shell is not None:
            self._shell.interrupt(intr)

    def monitor(self, timeoutms: int | None = None, findPid: bool = True) -> str:
        """The next output of the command; "" if none comes in that time. `waiting` turns false with
        its end."""
        shell = self._shell or self._live_shell()
        if not self.waiting:
            return decode(shell.read(timeoutms)) if shell.is_readable(timeoutms) else ""
        before, self.readbuf = self.readbuf, ""
        data = self._decodes_from
        if shell.is_busy and not before:
            data += shell.read(timeoutms)
        self._decodes_from = b""
        if not shell.is_busy:
            self._end_of_command(shell)
        else:
            data, self._decodes_from = _whole_characters(data)
        if findPid and self.lastPid is None:
            self._find_pid()
        text = before + decode(data)
        if (self.lastCmd or "").rstrip().endswith("&"):
            text = NEW_JOB.sub("", text, count=1)
        return text

    def _end_of_command(self, shell: Shell) -> None:
        self.waiting = False
        if shell.background_pid != self._background_before:
            self.lastPid = shell.background_pid

    def _find_pid(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            file = Path(self._pid_file())
            self.lastPid = int(file.read_text())
            file.unlink()

    def waitOutput(self, verbose: bool = False, findPid: bool = True) -> str:
        """Waits for the end of the command; its output."""
        said = []
        while self.waiting:
            data = self.monitor(findPid=findPid)
            said.append(data)
            (info if verbose else debug)(data)
        return "".join(said)

    def cmd(self, *args: Any, verbose: bool = False, **kwargs: Any) -> str:
        """Runs a command in the shell and waits for it; its output. `lastStatus` is its status."""
        (info if verbose else debug)(f"*** {self.name} : {args}\n")
        self.sendCmd(*args, **kwargs)
        return self.waitOutput(verbose)

    def cmdPrint(self, *args: Any) -> str:
        """The same, shown."""
        return self.cmd(*args, verbose=True)

    def read(self, size: int = 1024) -> str:
        """Up to `size` characters of output."""
        if not self.readbuf:
            self.readbuf += decode(self._live_shell().read())
        data, self.readbuf = self.readbuf[:size], self.readbuf[size:]
        return data

    def readline(self) -> str | None:
        """A line of output without its end; None if there is no whole one yet."""
        if "\n" not in self.readbuf:
            self.readbuf += decode(self._live_shell().read())
        line, end, rest = self.readbuf.partition("\n")
        if not end:
            return None
        self.readbuf = rest
        return line

    def write(self, data: str | bytes) -> None:
        """Types something to the command that runs."""
        self._live_shell().write(data.encode() if isinstance(data, str) else data)

    def waitReadable(self, timeoutms: int | None = None) -> bool:
        """Waits for output."""
        return bool(self.readbuf) or self._live_shell().is_readable(timeoutms)

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[Any]:
        """A process of its own in this node: a `subprocess.Popen` whose pid is the program's."""
        kwargs.pop("mncmd", None)
        kwargs = {"stdout": PIPE, "stderr": PIPE, **kwargs}
        if kwargs.pop("shell", False):
            given = args[0] if len(args) == 1 and not isinstance(args[0], str) else args
            command = [os.environ.get("SHELL", "/bin/bash"), "-c", " ".join(map(str, given))]
        else:
            command = words_of(args)
        folder = kwargs.pop("cwd", None)
        if not self.home and folder is not None:
            kwargs["cwd"] = folder
        return self._popen(self._wrap(command, folder), **kwargs)

    def _popen(self, cmd: list[str], **params: Any) -> subprocess.Popen[Any]:
        try:
            return subprocess.Popen(cmd, **params)
        except FileNotFoundError as missing:
            raise CommandError(f"{self.name}: there is no program {missing.filename}") from None

    def pexec(self, *args: Any, **kwargs: Any) -> tuple[str, str, int]:
        """Runs a process to its end; (output, errors, status)."""
        process = self.popen(*args, **{"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **kwargs})
        out, err = process.communicate()
        return decode(out or b""), decode(err or b""), process.wait()

    # -- interfaces -------------------------------------------------------------------------------

    def newPort(self) -> int:
        """The number of its next port."""
        return max(self.ports.values()) + 1 if self.ports else self.portBase

    def addIntf(self, intf: Intf, port: int | None = None, moveIntfFn: Any = None) -> None:
        """Takes an interface; one that is in the root namespace so far is moved here."""
        number = self.newPort() if port is None else port
        self.intfs[number] = intf
        self.ports[intf] = number
        self.nameToIntf[intf.name] = intf
        debug(f"\nadded intf {intf} ({number}) to node {self.name}\n")
        if moveIntfFn is not None and self.inNamespace:
            moveIntfFn(intf.name, self)

    def delIntf(self, intf: Intf | None) -> None:
        """Forgets an interface."""
        port = None if intf is None else self.ports.pop(intf, None)
        if intf is not None and port is not None:
            self.intfs.pop(port, None)
            self.nameToIntf.pop(intf.name, None)

    def defaultIntf(self) -> Intf | None:
        """The interface with the lowest port number."""
        if self.intfs:
            return self.intfs[min(self.intfs)]
        warn(f"*** defaultIntf: warning: {self.name} has no interfaces\n")
        return None

    def intf(self, intf: Any = None) -> Any:
        """An interface by its name; the default one; or what it was given."""
        if not intf:
            return self.defaultIntf()
        return self.nameToIntf.get(intf) if isinstance(intf, str) else intf

    def intfList(self) -> list[Intf]:
        return [self.intfs[number] for number in sorted(self.intfs)]

    def intfNames(self) -> list[str]:
        return [str(intf) for intf in self.intfList()]

    def connectionsTo(self, node: Node) -> list[tuple[Intf, Intf]]:
        """(interface here, interface there) of each link to another node."""
        found = []
        for intf in self.intfList():
            link = intf.link
            if link is not None:
                near, far = link.ends() if link.intf1 is intf else reversed(link.ends())
                if far.node is node:
                    found.append((near, far))
        return found

    def deleteIntfs(self, checkName: bool = True) -> None:
        """Deletes its interfaces; `checkName`: only those that bear its name."""
        for intf in list(self.intfs.values()):
            if self.name in intf.name or not checkName:
                intf.delete()

    def linkTo(self, node: Node, link: Any = None) -> Link:
        """A link to another node."""
        from .link import Link

        made: Link = (link or Link)(self, node)
        return made

    # -- addresses and routes ---------------------------------------------------------------------

    def IP(self, intf: Any = None) -> str | None:
        found = self.intf(intf)
        return found.IP() if found else None

    def MAC(self, intf: Any = None) -> str | None:
        found = self.intf(intf)
        return found.MAC() if found else None

    def intfIsUp(self, intf: Any = None) -> bool:
        found = self.intf(intf)
        return bool(found and found.isUp())

    def setIP(self, ip: str, prefixLen: int = 8, intf: Any = None, **_kwargs: Any) -> Any:
        return self._known_intf(intf).setIP(ip, prefixLen)

    def setMAC(self, mac: str, intf: Any = None) -> Any:
        return self._known_intf(intf).setMAC(mac)

    def _known_intf(self, intf: Any) -> Any:
        found = self.intf(intf)
        if found is None:
            raise WanlabError(
                f"{self.name} has no interface{f' {intf}' if intf else ''}", "link it first"
            )
        return found

    def setDefaultRoute(self, intf: Any = None) -> None:
        """By an interface, or as `ip route` has it: "via 10.0.0.1"."""
        words = str(intf) if isinstance(intf, str) and " " in intf else f"dev {intf}"
        self._route(f"route replace default {words.removeprefix('default ')}")

    def setHostRoute(self, ip: str, intf: Any) -> None:
        self._route(f"route replace {ip} dev {intf}")

    def setARP(self, ip: str, mac: str) -> None:
        """A neighbour that needs no asking for."""
        self._neighbours([(ip, mac)])

    def _neighbours(self, pairs: list[tuple[str, str]]) -> None:
        self._route(*(f"neigh replace {ip} lladdr {mac} dev {self.intf()}" for ip, mac in pairs))

    def _route(self, *lines: str) -> None:
        """Lines for `ip`, now or when the node is there."""
        if self.is_live:
            ground.settle()
            batch(self.home, "ip", list(lines))
        else:
            self._routes += lines

    # -- configuration ----------------------------------------------------------------------------

    def setParam(self, results: dict[str, Any], method: str, **param: Any) -> Any:
        """`setParam(results, "setIP", ip="10.0.0.1/8")` calls setIP, if the node has it and the value
        is not None."""
        return apply(self, results, method, param, list)

    def config(
        self,
        mac: str | None = None,
        ip: str | None = None,
        defaultRoute: Any = None,
        lo: str = "up",
        **_params: Any,
    ) -> dict[str, Any]:
        """Sets what it is given. For subclasses: override it, call it, and do more."""
        results: dict[str, Any] = {}
        self.setParam(results, "setMAC", mac=mac)
        self.setParam(results, "setIP", ip=ip)
        self.setParam(results, "setDefaultRoute", defaultRoute=defaultRoute)
        if lo != "up" and self.inNamespace:  # up it is from the start
            Interface(self.namespace, "lo").set_up(False)
        return results

    def configDefault(self, **moreParams: Any) -> None:
        """Configures it with the parameters that it was made with, and more."""
        self.params.update(moreParams)
        self.config(**self.params)

    # -- private directories ----------------------------------------------------------------------

    def mountPrivateDirs(self) -> None:
        """Each is a folder that only this node sees so: empty, or another one under its name."""
        self._has_private_directories = True
        steps = ["set -e"]
        for directory in self.privateDirs:
            if isinstance(directory, str):
                steps.append(f"mkdir -p {shlex.quote(directory)}")
                steps.append(f"mount -n -t tmpfs tmpfs {shlex.quote(directory)}")
            else:
                mounted, real = directory[0], directory[1] % self.__dict__
                steps.append(f"mkdir -p {shlex.quote(real)} {shlex.quote(mounted)}")
                steps.append(f"mount --bind {shlex.quote(real)} {shlex.quote(mounted)}")
        self._run_steps(steps)

    def unmountPrivateDirs(self) -> None:
        """The opposite."""
        if self._has_private_directories:
            places = [d if isinstance(d, str) else d[0] for d in self.privateDirs]
            self._run_steps([f"umount -l {shlex.quote(place)}" for place in places])
            self._has_private_directories = False

    def _run_steps(self, steps: list[str]) -> None:
        command = ground.wrap(self, ["/bin/sh", "-c", "\n".join(steps)])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(f"{self.name}: private directories", output=done.stderr)

    # -- the end ----------------------------------------------------------------------------------

    def cleanup(self) -> None:
        """Ends its shell."""
        self._drop_shell()

    def terminate(self) -> None:
        """Takes it away, with its links and what runs in it."""
        self.cleanup()
        ground.remove_node(self)

    def stop(self, deleteIntfs: bool = False) -> None:
        if deleteIntfs:
            self.deleteIntfs()
        self.terminate()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        interfaces = ",".join(f"{intf.name}:{intf.IP()}" for intf in self.intfList())
        return f"<{type(self).__name__} {self.name}: {interfaces} pid={self.pid}> "


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """(what can be decoded, the beginning of a character whose rest is on its way)"""
    for length in range(1, min(4, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            whole = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return (data[:-length], data[-length:]) if whole > length else (data, b"")
        if byte < 0x80:
            break
    return data, b""
