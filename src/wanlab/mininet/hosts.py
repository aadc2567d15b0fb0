"""Node: a host or a router, and the base class of switches and controllers.

A Node exists in Python at once and in the kernel when it is needed (see `live_network`). Its shell is
started by its first command. Subclasses override `config` and `terminate`, as LinuxRouter does.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
from collections.abc import Callable, Iterable
from functools import partial
from io import FileIO
from pathlib import Path
from subprocess import PIPE
from typing import Any, ClassVar

import wanlab
from wanlab.errors import CommandError, WanlabError
from wanlab.topology import Controller as TopologyController
from wanlab.topology import Processor, read_processor

from .commands import decode, why_not_started, words_of
from .link import Intf, Link
from .live_network import live_network
from .log import debug, info, warn
from .macs import next_mac
from .namespace import KernelInterface
from .node_shell import INTERRUPT, NodeShell
from .parameters import Params, apply, caution_unknown, run_or_warn
from .queue_look import look_after

# What bash writes when a command goes to the background: "[1] 1234".
NEW_JOB = re.compile(r"^\[\d+\] \d+\r?\n")
PrivateDirectory = str | tuple[str, str] | list[str]

NODE_PARAMETERS = {
    "ip",
    "mac",
    "defaultRoute",
    "lo",
    "privateDirs",
    "inNamespace",
    "waitExited",
    "cpu",
    "cores",
    "sched",
    "period_us",
    "isSwitch",
    "cls",
    "batch",
}
PARAMETERS_OF_OTHERS = {
    "bw": "bw belongs to a link: addLink(..., cls=TCLink, bw=10)",
    "delay": "delay belongs to a link: addLink(..., cls=TCLink, delay='5ms')",
    "dpid": "dpid belongs to a switch",
    "protocols": "protocols belongs to a switch: cls=OVSSwitch",
}
IntfOrName = Intf | str | None


class Node:
    """Anything with a network stack, and a shell that runs there."""

    portBase = 0
    inToNode: ClassVar[dict[int, Node]] = {}
    outToNode: ClassVar[dict[int, Node]] = {}
    isSetup = False
    parameters: ClassVar[set[str]] = NODE_PARAMETERS

    def __init__(self, name: str, inNamespace: bool = True, **params: Any) -> None:
        caution_unknown(name, type(self), params, self.parameters, PARAMETERS_OF_OTHERS)
        self.checkSetup()
        self.name: str = name
        self.inNamespace: bool = inNamespace
        self.privateDirs: list[PrivateDirectory] = params.get("privateDirs") or []
        self.waitExited: bool = params.get("waitExited", False)
        self.params = params
        self._processor = own_processor(params.get("cpu"))
        self.intfs: dict[int, Intf] = {}
        self.ports: dict[Intf, int] = {}
        self.nameToIntf: dict[str, Intf] = {}
        self.reserved_ports: set[int] = set()
        """The ports that led to deleted nodes. Mininet does not use them again."""
        self.lastCmd: str | None = None
        self.lastPid: int | None = None
        self.waiting = False
        self.readbuf = ""
        self.execed = False
        self._shell: NodeShell | None = None
        self._undecoded = b""
        self._has_private_directories = False
        self._pending_ip_commands: list[str] = []
        live_network().add_node(self)

    # -- as part of the live network --------------------------------------------------------------

    @property
    def namespace_name(self) -> str:
        """The name of its network namespace; "" is the machine's root namespace."""
        return self.name if self.inNamespace else ""

    @property
    def namespace(self) -> str:
        """The name of its network namespace, which is created if it does not exist yet."""
        live_network().create_pending()
        return self.namespace_name

    def as_wanlab_node(self) -> wanlab.Host | wanlab.Switch | TopologyController:
        """Return this node as a node of a wanlab topology."""
        first = self.intfs.get(min(self.intfs)) if self.intfs else None
        address = first.address_with_prefix() if first else None
        return wanlab.Host(
            self.name,
            ip=address or "",
            mac=first.mac if first else next_mac(),
            in_root=not self.inNamespace,
            cpu=self._processor,
        )

    def on_created(self) -> None:
        """Run the `ip` commands that had to wait until the node existed in the kernel."""
        if self._pending_ip_commands:
            commands, self._pending_ip_commands = self._pending_ip_commands, []
            run_or_warn(self.namespace_name, "ip", commands)

    @property
    def is_live(self) -> bool:
        return live_network().is_live(self)

    @classmethod
    def checkSetup(cls) -> None:
        """Call `setup` before the first node of a class is made."""
        if not cls.__dict__.get("isSetup", False):
            cls.setup()
            cls.isSetup = True

    @classmethod
    def setup(cls) -> None:
        """Check that the programs of a subclass are installed. Override it."""

    # -- its shell --------------------------------------------------------------------------------

    def startShell(self, mnopts: str | None = None) -> None:
        """Start the node's shell now. Otherwise, the first command starts it."""
        # Two processes must not type into one terminal. A forked process uses its parent's shell
        # only while a command is running in it.
        shell = self._shell
        if shell and not shell.has_ended and (shell.is_busy or not shell.is_inherited):
            return
        self._drop_shell()
        shell = NodeShell(f"mininet:{self.name}", self._wrap)
        self._shell = shell
        self.inToNode[shell.fileno()] = self
        self.outToNode[shell.fileno()] = self
        self._undecoded = b""
        self.readbuf = ""
        self.waiting = False

    def _live_shell(self) -> NodeShell:
        live_network().create_pending()
        self.startShell()
        assert self._shell is not None
        return self._shell

    def _wrap(self, arguments: list[str], folder: str | None = None) -> list[str]:
        wrapped = live_network().wrap(self, arguments, folder)
        if self.privateDirs and not self._has_private_directories:
            self.mountPrivateDirs()
        return wrapped

    @property
    def shell(self) -> subprocess.Popen[bytes]:
        """The shell's process."""
        return self._live_shell().process

    @property
    def pid(self) -> int:
        """The number of its shell's process, which is in this node's namespaces."""
        return self._live_shell().pid

    @property
    def stdout(self) -> FileIO:
        """The terminal of its shell, to poll for output and to read it."""
        return self._live_shell().terminal

    stdin = stdout

    @property
    def master(self) -> int:
        """The file descriptor of its shell's terminal."""
        return self._live_shell().fileno()

    slave = master

    @property
    def pollOut(self) -> select.poll:
        """A poll object that waits for output of its shell."""
        poll = select.poll()
        poll.register(self._live_shell(), select.POLLIN)
        return poll

    @property
    def lastStatus(self) -> int | None:
        """The exit status of the last command."""
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

    def sendCmd(self, *args: object, **kwargs: object) -> None:
        """Start a command in the shell; call `monitor` or `waitOutput` for its output.

        With `printPid`, the command's process number becomes `lastPid`; with `echoes`, the terminal
        shows the keys that are typed; with `has_input=False`, standard input is at its end.
        """
        assert not self.waiting, f"{self.name} is busy with `{self.lastCmd}`"
        words = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        command = " ".join(map(str, words))
        shell = self._live_shell()
        self.lastCmd = command
        self.lastPid = None
        self.waiting = True
        self._background_before = shell.background_pid
        if kwargs.get("printPid") and not command.rstrip().endswith("&"):
            command = f"bash -c {shlex.quote(f'echo $$ >&3; exec {command}')} 3>{self._pid_file()}"
        shell.send(
            command,
            echoes=bool(kwargs.get("echoes")),
            has_input=bool(kwargs.get("has_input", True)),
        )

    def _pid_file(self) -> str:
        """The file to which a command that is sent with printPid writes its process number."""
        return f"/tmp/mininet-pid-{self.name}"

    def sendInt(self, intr: str = INTERRUPT) -> None:
        """Interrupt the running command, as Ctrl-C does."""
        if self._shell is not None:
            self._shell.interrupt(intr)

    def monitor(self, timeoutms: int | None = None, findPid: bool = True) -> str:
        """Return the next output of the command; "" on timeout. `waiting` is false once it has ended."""
        shell = self._shell or self._live_shell()
        if not self.waiting:
            return decode(shell.read(timeoutms)) if shell.is_readable(timeoutms) else ""
        before, self.readbuf = self.readbuf, ""
        data = self._undecoded
        if shell.is_busy and not before:
            data += shell.read(timeoutms)
        self._undecoded = b""
        if not shell.is_busy:
            self._end_of_command(shell)
        else:
            data, self._undecoded = _split_incomplete(data)
        if findPid and self.lastPid is None:
            self._find_pid()
        text = before + decode(data)
        if (self.lastCmd or "").rstrip().endswith("&"):
            text = NEW_JOB.sub("", text, count=1)
        return text

    def _end_of_command(self, shell: NodeShell) -> None:
        self.waiting = False
        if shell.background_pid != self._background_before:
            self.lastPid = shell.background_pid
        look_after(self.lastCmd, self.namespace_name)

    def _find_pid(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            file = Path(self._pid_file())
            self.lastPid = int(file.read_text())
            file.unlink()

    def waitOutput(self, verbose: bool = False, findPid: bool = True) -> str:
        """Wait for the end of the command and return its output."""
        pieces = []
        while self.waiting:
            data = self.monitor(findPid=findPid)
            pieces.append(data)
            (info if verbose else debug)(data)
        return "".join(pieces)

    def cmd(self, *args: object, verbose: bool = False, **kwargs: object) -> str:
        """Run a command in the shell and return its output. `lastStatus` is its exit status."""
        (info if verbose else debug)(f"*** {self.name} : {args}\n")
        if not live_network().has(self):
            warn(f"({self.name} exited - ignoring cmd{args})\n")
            return ""
        self.sendCmd(*args, **kwargs)
        return self.waitOutput(verbose)

    def cmdPrint(self, *args: object) -> str:
        """Run a command as `cmd` does, and show its output."""
        return self.cmd(*args, verbose=True)

    def read(self, size: int = 1024) -> str:
        """Return up to `size` characters of output."""
        if not self.readbuf:
            self.readbuf += decode(self._live_shell().read())
        data, self.readbuf = self.readbuf[:size], self.readbuf[size:]
        return data

    def readline(self) -> str | None:
        """Return a line of output without its line end, or None if no whole line has come yet."""
        if "\n" not in self.readbuf:
            self.readbuf += decode(self._live_shell().read())
        line, end, rest = self.readbuf.partition("\n")
        if not end:
            return None
        self.readbuf = rest
        return line

    def write(self, data: str | bytes) -> None:
        """Type `data` to the running command."""
        self._live_shell().write(data.encode() if isinstance(data, str) else data)

    def waitReadable(self, timeoutms: int | None = None) -> bool:
        """Wait for output; return whether there is some."""
        return bool(self.readbuf) or self._live_shell().is_readable(timeoutms)

    def popen(self, *args: object, **kwargs: Any) -> subprocess.Popen[Any]:
        """Start a process in this node: a `subprocess.Popen` whose pid is that of the program.

        It runs in a new session, so that os.killpg ends it and not the script.
        """
        kwargs.pop("mncmd", None)
        kwargs = {"stdout": PIPE, "stderr": PIPE, **kwargs}
        if kwargs.pop("shell", False):
            only = args[0] if len(args) == 1 else args
            words = only if isinstance(only, list | tuple) else [only]
            command = [os.environ.get("SHELL", "/bin/bash"), "-c", " ".join(map(str, words))]
        else:
            command = words_of(args)
        folder = kwargs.pop("cwd", None)
        if not self.namespace_name and folder is not None:
            kwargs["cwd"] = folder
        prepare = kwargs.pop("preexec_fn", None)
        if prepare is None:
            kwargs["start_new_session"] = True
        else:  # it may call os.setsid, which works only once
            kwargs["preexec_fn"] = partial(_start_session, prepare)
        return self._popen(self._wrap(command, folder), **kwargs)

    def _popen(self, cmd: list[str], **params: Any) -> subprocess.Popen[Any]:
        try:
            return subprocess.Popen(cmd, **params)
        except (FileNotFoundError, PermissionError) as refused:
            reason = why_not_started(refused)
            raise CommandError(f"{self.name}: {refused.filename}: {reason}") from None

    def pexec(self, *args: object, **kwargs: object) -> tuple[str, str, int]:
        """Run a process to its end and return (stdout, stderr, exit status)."""
        process = self.popen(*args, **{"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **kwargs})
        out, err = process.communicate()
        return decode(out or b""), decode(err or b""), process.wait()

    # -- interfaces -------------------------------------------------------------------------------

    def newPort(self) -> int:
        """Return the number of its next port."""
        used = [*self.ports.values(), *self.reserved_ports]
        return max(used) + 1 if used else self.portBase

    def addIntf(
        self,
        intf: Intf,
        port: int | None = None,
        moveIntfFn: Callable[..., object] | None = None,
    ) -> None:
        """Add an interface; `moveIntfFn` moves it here from the root namespace."""
        number = self.newPort() if port is None else port
        self.intfs[number] = intf
        self.ports[intf] = number
        self.nameToIntf[intf.name] = intf
        debug(f"\nadded intf {intf} ({number}) to node {self.name}\n")
        if moveIntfFn is not None and self.inNamespace:
            moveIntfFn(intf.name, self)

    def delIntf(self, intf: Intf | None) -> None:
        """Forget an interface."""
        port = None if intf is None else self.ports.pop(intf, None)
        if intf is not None and port is not None:
            self.intfs.pop(port, None)
            self.nameToIntf.pop(intf.name, None)

    def defaultIntf(self) -> Intf | None:
        """Return the interface with the lowest port number."""
        if self.intfs:
            return self.intfs[min(self.intfs)]
        warn(f"*** defaultIntf: warning: {self.name} has no interfaces\n")
        return None

    def intf(self, intf: IntfOrName = None) -> Intf | None:
        """Return an interface by its name, or without a name the default one."""
        if not intf:
            return self.defaultIntf()
        return self.nameToIntf.get(intf) if isinstance(intf, str) else intf

    def intfList(self) -> list[Intf]:
        return [self.intfs[number] for number in sorted(self.intfs)]

    def intfNames(self) -> list[str]:
        return [str(intf) for intf in self.intfList()]

    def connectionsTo(self, node: Node) -> list[tuple[Intf, Intf]]:
        """Return (interface here, interface there) for each link to another node."""
        connections = []
        for intf in self.intfList():
            link = intf.link
            if link is not None:
                near, far = link.ends() if link.ends()[0] is intf else reversed(link.ends())
                if far.node is node:
                    connections.append((near, far))
        return connections

    def deleteIntfs(self, checkName: bool = True) -> None:
        """Delete its interfaces; with `checkName` only those whose names contain its name."""
        for intf in list(self.intfs.values()):
            if self.name in intf.name or not checkName:
                intf.delete()

    def linkTo(self, node: Node, link: Callable[..., Link] | None = None) -> Link:
        """Make a link to another node."""
        return (link or Link)(self, node)

    # -- addresses and routes ---------------------------------------------------------------------

    def IP(self, intf: IntfOrName = None) -> str | None:
        interface = self.intf(intf)
        return interface.IP() if interface else None

    def MAC(self, intf: IntfOrName = None) -> str | None:
        interface = self.intf(intf)
        return interface.MAC() if interface else None

    def intfIsUp(self, intf: IntfOrName = None) -> bool:
        interface = self.intf(intf)
        return bool(interface and interface.isUp())

    def setIP(self, ip: str, prefixLen: int = 8, intf: IntfOrName = None, **_kwargs: object) -> str:
        return self._existing_intf(intf).setIP(ip, prefixLen)

    def setMAC(self, mac: str, intf: IntfOrName = None) -> str:
        return self._existing_intf(intf).setMAC(mac)

    def _existing_intf(self, intf: IntfOrName) -> Intf:
        interface = self.intf(intf)
        if interface is None:
            raise WanlabError(
                f"{self.name} has no interface{f' {intf}' if intf else ''}", "link it first"
            )
        return interface

    def setDefaultRoute(self, intf: IntfOrName = None) -> None:
        """Set the default route: to an interface, or as in `ip route`, "via 10.0.0.1"."""
        words = str(intf) if isinstance(intf, str) and " " in intf else f"dev {intf}"
        self._run_ip(f"route replace default {words.removeprefix('default ')}")

    def setHostRoute(self, ip: str, intf: IntfOrName) -> None:
        self._run_ip(f"route replace {ip} dev {intf}")

    def setARP(self, ip: str, mac: str) -> None:
        """Add a static ARP entry."""
        self.add_arp_entries([(ip, mac)])

    def add_arp_entries(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Add static ARP entries: pairs of (IPv4 address, MAC address)."""
        self._run_ip(*(f"neigh replace {ip} lladdr {mac} dev {self.intf()}" for ip, mac in pairs))

    def _run_ip(self, *lines: str) -> None:
        """Run lines of `ip` now, or as soon as the node exists in the kernel."""
        if self.is_live:
            live_network().create_pending()
            run_or_warn(self.namespace_name, "ip", list(lines))
        else:
            self._pending_ip_commands += lines

    # -- configuration ----------------------------------------------------------------------------

    def setParam(self, results: Params, method: str, **param: object) -> object:
        """Call `method` with the value of `param`, and add its result to `results`.

        `setParam(results, "setIP", ip="10.0.0.1/8")` calls setIP. Nothing is called if the node has no
        such method or the value is None.
        """
        return apply(self, results, method, param, (list,))

    def config(
        self,
        mac: str | None = None,
        ip: str | None = None,
        defaultRoute: IntfOrName = None,
        lo: str = "up",
        **_params: object,
    ) -> Params:
        """Apply these parameters and return the results. Subclasses extend it."""
        results: Params = {}
        self.setParam(results, "setMAC", mac=mac)
        self.setParam(results, "setIP", ip=ip)
        self.setParam(results, "setDefaultRoute", defaultRoute=defaultRoute)
        if lo != "up" and self.inNamespace:  # it is created up
            KernelInterface(self.namespace, "lo").set_up(False)
        return results

    def configDefault(self, **moreParams: object) -> None:
        """Configure the node with the parameters of its constructor, updated by `moreParams`."""
        self.params.update(moreParams)
        self.config(**self.params)

    # -- private directories ----------------------------------------------------------------------

    def mountPrivateDirs(self) -> None:
        """Mount each private directory: an empty one, or another directory under its name."""
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
        if self._has_private_directories:
            mounted = [d if isinstance(d, str) else d[0] for d in self.privateDirs]
            self._run_steps([f"umount -l {shlex.quote(path)}" for path in mounted])
            self._has_private_directories = False

    def _run_steps(self, steps: list[str]) -> None:
        command = live_network().wrap(self, ["/bin/sh", "-c", "\n".join(steps)])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(
                f"{self.name}: cannot mount or unmount its private directories", output=done.stderr
            )

    # -- removing ---------------------------------------------------------------------------------

    def cleanup(self) -> None:
        """End its shell."""
        self._drop_shell()

    def terminate(self) -> None:
        """Remove it, with its links and the processes in it."""
        self.cleanup()
        live_network().remove_node(self)

    def stop(self, deleteIntfs: bool = False) -> None:
        if deleteIntfs:
            self.deleteIntfs()
        self.terminate()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        interfaces = ",".join(f"{intf.name}:{intf.IP()}" for intf in self.intfList())
        return f"<{type(self).__name__} {self.name}: {interfaces} pid={self.pid}> "


def own_processor(cpu: object) -> Processor | None:
    """Return the processor that a node's `cpu` names: cpu="board-2019". None for Mininet's share, a
    number."""
    return None if cpu is None or isinstance(cpu, int | float) else read_processor(cpu)


def _start_session(prepare: Callable[[], object]) -> None:
    prepare()
    if os.getsid(0) != os.getpid():
        os.setsid()


def _split_incomplete(data: bytes) -> tuple[bytes, bytes]:
    """Split UTF-8 into complete characters and an incomplete character at the end."""
    for length in range(1, min(4, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            whole = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return (data[:-length], data[-length:]) if whole > length else (data, b"")
        if byte < 0x80:
            break
    return data, b""
