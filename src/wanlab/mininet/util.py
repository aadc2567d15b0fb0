"""Mininet's utilities: commands, numbers and addresses, classes with parameters fixed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from select import POLLIN, poll
from subprocess import PIPE, STDOUT, Popen, call, check_call
from typing import TYPE_CHECKING, Any

from wanlab.errors import CommandError, RequirementError, WanlabError, did_you_mean

from .log import error, output

if TYPE_CHECKING:
    from .node import Node

Python3 = True
Encoding = "utf-8"
BaseString = str
STEP_S = 0.5


def decode(buf: bytes | str) -> str:
    return buf if isinstance(buf, str) else buf.decode(Encoding, "replace")


def encode(buf: bytes | str) -> bytes:
    return buf if isinstance(buf, bytes) else buf.encode(Encoding)


# -- commands ---------------------------------------------------------------------------------------


def words_of(command: Iterable[Any]) -> list[str]:
    """A command as given to `cmd`, `popen`, `errRun`: one string, several words, or a list."""
    given = list(command)
    if len(given) == 1:
        only = given[0]
        return shlex.split(only) if isinstance(only, str) else [str(word) for word in only]
    return [str(word) for word in given]


def run(cmd: str) -> int:
    """Runs a command; its status."""
    return call(shlex.split(cmd))


def checkRun(cmd: str) -> int:
    """Runs a command; CalledProcessError if it fails."""
    return check_call(shlex.split(cmd))


def quietRun(cmd: Any, **kwargs: Any) -> str:
    """Runs a command; what it wrote, errors too."""
    return errRun(cmd, stderr=STDOUT, **kwargs)[0]


oldQuietRun = quietRun


def errRun(*cmd: Any, **kwargs: Any) -> tuple[str, str, int]:
    """Runs a command; (output, errors, status). `echo=True` shows them as well."""
    echo = kwargs.pop("echo", False)
    options = {"stdout": PIPE, "stderr": PIPE, **kwargs}
    if options.get("shell"):
        command: Any = cmd[0] if len(cmd) == 1 else " ".join(map(str, cmd))
        if not isinstance(command, str):
            command = " ".join(map(str, command))
    else:
        command = words_of(cmd)
    if echo:
        output(command if isinstance(command, str) else " ".join(command), "\n")
    try:
        done = subprocess.run(command, check=False, **options)
    except FileNotFoundError as missing:
        raise CommandError(f"{missing.filename}: there is no such program") from None
    out, err = (decode(text or b"") for text in (done.stdout, done.stderr))
    if echo:
        output(out)
        error(err)
    return out, err, done.returncode


def errFail(*cmd: Any, **kwargs: Any) -> tuple[str, str, int]:
    """As errRun; CommandError if the status is not 0."""
    out, err, status = errRun(*cmd, **kwargs)
    if status:
        shown = " ".join(words_of(cmd))
        raise CommandError(f"`{shown}` failed", status=status, output=err or out)
    return out, err, status


def which(cmd: str, **_kwargs: Any) -> str:
    """Where a program is; empty if it is not there."""
    return shutil.which(cmd) or ""


def isShellBuiltin(cmd: str) -> bool:
    """Whether bash does this itself."""
    first = cmd.split(" ", 1)[0]
    return (
        subprocess.run(
            ["bash", "-c", 'test "$(type -t -- "$0")" = builtin', first], check=False
        ).returncode
        == 0
    )


def retry(
    retries: int, delaySecs: float, fn: Callable[..., Any], *args: Any, **keywords: Any
) -> None:
    """Calls `fn` until it says yes."""
    for attempt in range(retries + 1):
        if fn(*args, **keywords):
            return
        if attempt < retries:
            time.sleep(delaySecs)
    error(f"*** gave up after {retries} retries\n")
    raise CommandError(f"{getattr(fn, '__name__', fn)} did not succeed in {retries} retries")


# -- interfaces -------------------------------------------------------------------------------------


def makeIntfPair(
    intf1: str,
    intf2: str,
    addr1: str | None = None,
    addr2: str | None = None,
    node1: Node | None = None,
    node2: Node | None = None,
    deleteIntfs: bool = True,
    runCmd: Callable[..., Any] | None = None,
) -> None:
    """A veth pair by hand, each end in its node. Links between nodes are made by wanlab."""
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
    said = runner(f"ip link add {' '.join(words)}")
    if said:
        raise CommandError(f"cannot create the interfaces {intf1} and {intf2}", output=str(said))
    for name, node in ((intf1, node1), (intf2, node2)):
        if node is not None and node.inNamespace:
            moveIntf(name, node)


def moveIntfNoRetry(intf: str, dstNode: Node, printError: bool = False) -> bool:
    """Moves an interface of the root namespace into a node."""
    said = quietRun(f"ip link set {intf} netns {dstNode.pid}")
    if said and printError:
        error(f"*** Error: moving {intf} to {dstNode.name} failed: {said}\n")
    return not said


def moveIntf(
    intf: str, dstNode: Node, printError: bool = True, retries: int = 3, delaySecs: float = 0.001
) -> None:
    retry(retries, delaySecs, moveIntfNoRetry, intf, dstNode, printError=printError)


def connections(node: Node) -> str:
    """`h1 h1-eth0:s1-eth1`"""
    parts = [node.name]
    for intf in node.intfList():
        peer: Any = ""
        if intf.link:
            peer = next((end for end in intf.link.ends() if end is not intf), " ")
        parts.append(f"{intf}:{peer or ' '}")
    return " ".join(parts)


def dumpNodeConnections(nodes: Iterable[Node]) -> None:
    """Shows what each interface of these nodes is connected to."""
    for node in nodes:
        output(connections(node) + "\n")


def dumpNetConnections(net: Any) -> None:
    dumpNodeConnections([*net.controllers, *net.switches, *net.hosts])


def dumpPorts(switches: Iterable[Node]) -> None:
    """Shows the interfaces of switches with their port numbers."""
    for switch in switches:
        ports = [f"{intf}:{switch.ports[intf]} " for intf in switch.intfList()]
        output(f"{switch.name} {''.join(ports)}\n")


# -- addresses --------------------------------------------------------------------------------------


def _colonHex(val: int, bytecount: int) -> str:
    return val.to_bytes(bytecount, "big").hex(":")


def macColonHex(mac: int) -> str:
    """A MAC address as text."""
    return _colonHex(mac, 6)


def ipStr(ip: int) -> str:
    """An IPv4 address as text."""
    return ".".join(map(str, ip.to_bytes(4, "big")))


def ipNum(w: int, x: int, y: int, z: int) -> int:
    return (w << 24) | (x << 16) | (y << 8) | z


def ipAdd(i: int, prefixLen: int = 8, ipBaseNum: int = 0x0A000000) -> str:
    """The ith address of a network."""
    most = 0xFFFFFFFF >> prefixLen
    if not 0 <= i <= most:
        raise WanlabError(
            f"{ipStr(ipBaseNum)}/{prefixLen} has no address number {i}",
            "use a wider ipBase, such as 10.0.0.0/8",
        )
    return ipStr((ipBaseNum & ~most & 0xFFFFFFFF) + i)


def ipParse(ip: str) -> int:
    """An IPv4 address as a number; parts that are left out are 0, as in 10.0."""
    parts = [int(part) for part in ip.split(".")]
    if len(parts) > 4 or not all(0 <= part <= 255 for part in parts):
        raise WanlabError(f"{ip!r} is not an IPv4 address")
    return ipNum(*[*parts, 0, 0, 0][:4])


def netParse(ipstr: str) -> tuple[int, int]:
    """(number, prefix length) of "10.0.0.0/8"; without a prefix, as many bits as are written."""
    address, _, prefix = ipstr.partition("/")
    return ipParse(address), int(prefix) if prefix else 8 * len(address.split("."))


# -- numbers, names, classes ------------------------------------------------------------------------


def irange(start: int, end: int) -> range:
    """start...end, both included."""
    return range(start, end + 1)


def numCores() -> int:
    return os.cpu_count() or 1


def checkInt(s: Any) -> int | None:
    try:
        return int(s)
    except ValueError:
        return None


def checkFloat(s: Any) -> float | None:
    try:
        return float(s)
    except ValueError:
        return None


def makeNumeric(s: Any) -> Any:
    """A number if the text looks like one, otherwise the text."""
    whole = checkInt(s)
    if whole is not None:
        return whole
    number = checkFloat(s)
    return s if number is None else number


def natural(text: Any) -> list[tuple[bool, Any]]:
    """Sort key: h2 before h10."""
    parts = re.split(r"(\d+)", str(text))
    return [(False, int(part)) if part.isdigit() else (True, part) for part in parts if part]


def naturalSeq(t: Iterable[Any]) -> list[list[tuple[bool, Any]]]:
    return [natural(text) for text in t]


def fmtBps(bps: float, fmt: str = "") -> str:
    """A rate as iperf writes it: 9.6 Mbits/sec. `fmt`: k, m, g, t for a fixed prefix, K, M, G, T for
    bytes."""
    value, word = float(bps), "bits/sec"
    if fmt.isupper() and fmt != "A":
        value, word = value / 8, "Bytes/sec"
    prefixes = "kMGTP"
    wanted = fmt[:1].upper().replace("K", "k")
    place = prefixes.find(wanted) + 1 if wanted and wanted in prefixes else -1
    if place < 0:
        place = 0
        while place < len(prefixes) and value >= 1000 ** (place + 1):
            place += 1
    prefix = prefixes[place - 1] if place else ""
    return f"{value / 1000**place:.1f} {prefix}{word}"


def splitArgs(argstr: str) -> tuple[str, list[Any], dict[str, Any]]:
    """`name,1,x=2` -> ("name", [1], {"x": 2})"""
    name, *given = argstr.split(",")
    args = [makeNumeric(item) for item in given if "=" not in item]
    pairs = (item.split("=", 1) for item in given if "=" in item)
    return name, args, {key: makeNumeric(value) for key, value in pairs}


def custom(cls: Any, **params: Any) -> Any:
    """A class (or function) with parameters fixed beforehand."""

    def customized(*args: Any, **kwargs: Any) -> Any:
        return cls(*args, **{**kwargs, **params})

    customized.__name__ = f"custom({cls},{params})"
    return customized


def specialClass(
    cls: Any,
    prepend: Iterable[Any] | None = None,
    append: Iterable[Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    override: Mapping[str, Any] | None = None,
) -> Any:
    """A subclass with arguments added to those of its constructor."""
    before, after = list(prepend or []), list(append or [])
    first, last = dict(defaults or {}), dict(override or {})

    class CustomClass(cls):  # type: ignore[misc]
        """A class with parameters fixed beforehand."""

        def __init__(self, *args: Any, **params: Any) -> None:
            super().__init__(*before, *args, *after, **{**first, **params, **last})

    CustomClass.__name__ = f"{cls.__name__}{first}" if first else cls.__name__
    CustomClass.__module__ = cls.__module__
    return CustomClass


def customClass(classes: Mapping[str, Any], argStr: str) -> Any:
    """The class that `name,args` names, with these args fixed."""
    name, args, kwargs = splitArgs(argStr)
    if name not in classes:
        raise WanlabError(
            f"{name} is unknown", f"{did_you_mean(name, classes)} - known: {', '.join(classes)}"
        )
    cls = classes[name]
    if not args and not kwargs:
        return cls
    return specialClass(cls, append=args, defaults=kwargs)


def buildTopo(topos: Mapping[str, Any], topoStr: str) -> Any:
    """The topology that `name,args` describes."""
    name, args, kwargs = splitArgs(topoStr)
    if name not in topos:
        raise WanlabError(f"Invalid topo name {name}", did_you_mean(name, topos))
    return topos[name](*args, **kwargs)


# -- many processes at once -------------------------------------------------------------------------


def pmonitor(
    popens: dict[Any, Popen[bytes]],
    timeoutms: int | None = 500,
    readline: bool = True,
    readmax: int = 1024,
) -> Iterator[tuple[Any, str]]:
    """Yields (key, line) as processes write; (None, "") when nothing came for a while; ends when all
    have ended. Those that have are taken out of `popens`.
    """
    watch = poll()
    keys = {}
    for key, process in popens.items():
        assert process.stdout is not None, "start it with stdout=PIPE"
        keys[process.stdout.fileno()] = key
        watch.register(process.stdout.fileno(), POLLIN)
    pieces: dict[int, bytes] = dict.fromkeys(keys, b"")
    while keys:
        ready = watch.poll(timeoutms)
        if not ready:
            yield None, ""
        for descriptor, events in ready:
            key = keys[descriptor]
            data = os.read(descriptor, 65536 if readline else readmax) if events else b""
            if not data:
                if pieces[descriptor]:
                    yield key, decode(pieces[descriptor])
                watch.unregister(descriptor)
                del keys[descriptor]
                popens.pop(key, None)
            elif not readline:
                yield key, decode(data)
            else:
                *lines, rest = (pieces[descriptor] + data).split(b"\n")
                pieces[descriptor] = rest
                for line in lines:
                    yield key, decode(line + b"\n")


def waitListening(
    client: Node | None = None,
    server: Any = "127.0.0.1",
    port: Any = 80,
    timeout: float | None = None,
) -> bool:
    """Waits until a server takes connections from a client (a node; None: the root namespace)."""
    import socket

    from .namespace import inside

    address = server if isinstance(server, str) else server.IP()
    number = (
        socket.getservbyname(port) if isinstance(port, str) and not port.isdigit() else int(port)
    )
    waited = 0.0
    while True:
        with inside(client.namespace if client else ""):
            attempt = socket.socket()
        with attempt:
            attempt.settimeout(STEP_S)
            if attempt.connect_ex((address, number)) == 0:
                return True
        if timeout is not None and waited >= timeout:
            error(f"could not connect to {server} on port {number}\n")
            return False
        time.sleep(STEP_S)
        waited += STEP_S


# -- what a machine of its own makes superfluous ----------------------------------------------------


def ensureRoot() -> None:
    """Inside a machine everybody is root."""
    if os.getuid() != 0:
        print("*** Mininet must run as root.")
        sys.exit(1)


def fixLimits() -> None:
    """Limits of the machine are set when it starts; those of your computer are never touched."""


def rlimitTestAndSet(name: int, limit: int) -> None:
    """Raises a limit of this process."""
    import resource

    soft, hard = resource.getrlimit(name)
    if soft < limit:
        resource.setrlimit(name, (limit, max(limit, hard)))


def sysctlTestAndSet(name: str, limit: Any) -> None:
    """Raises a kernel parameter to `limit` if it is a number below it; sets it otherwise."""
    from pathlib import Path

    file = Path(name if name.startswith("/proc") else f"/proc/sys/{name.replace('.', '/')}")
    before = makeNumeric(file.read_text(encoding="ascii").strip())
    if not isinstance(before, int) or not isinstance(limit, int) or before < limit:
        file.write_text(str(limit), encoding="ascii")


def mountCgroups(cgcontrol: str = "") -> str:
    """Control groups are where the machine has mounted them."""
    return "/sys/fs/cgroup"


class Pexpect:
    """pexpect, where it is installed, with texts instead of bytes."""

    @staticmethod
    def spawn(*args: Any, **kwargs: Any) -> Any:
        return _pexpect().spawn(*args, **{"encoding": Encoding, **kwargs})

    def __getattr__(self, name: str) -> Any:
        return getattr(_pexpect(), name)


def _pexpect() -> Any:
    try:
        return import_module("pexpect")
    except ImportError:
        raise RequirementError("pexpect is not installed", "pip install pexpect") from None


pexpect = Pexpect()
