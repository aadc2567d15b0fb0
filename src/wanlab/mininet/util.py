"""Mininet's utilities: commands, interfaces, addresses, numbers, and classes with fixed parameters."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from select import POLLIN, poll
from subprocess import PIPE, STDOUT, Popen, call, check_call
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from wanlab.errors import CommandError, RequirementError, WanlabError, did_you_mean

from .log import error, output

Python3 = True
Encoding = "utf-8"
BaseString = str
RETRY_INTERVAL_S = 0.5

T = TypeVar("T")
Key = TypeVar("Key")


class _Link(Protocol):
    def ends(self) -> Sequence[object]: ...


class _Interface(Protocol):
    @property
    def link(self) -> _Link | None: ...


class _Node(Protocol):
    """What these functions need to know of a node."""

    @property
    def name(self) -> str: ...

    @property
    def inNamespace(self) -> bool: ...

    @property
    def namespace(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def ports(self) -> Mapping[Any, int]: ...

    def intfList(self) -> Sequence[_Interface]: ...


class _Net(Protocol):
    @property
    def hosts(self) -> Sequence[_Node]: ...

    @property
    def switches(self) -> Sequence[_Node]: ...

    @property
    def controllers(self) -> Sequence[_Node]: ...


class _Server(Protocol):
    def IP(self) -> str | None: ...


def decode(buf: bytes | str) -> str:
    return buf if isinstance(buf, str) else buf.decode(Encoding, "replace")


def encode(buf: bytes | str) -> bytes:
    return buf if isinstance(buf, bytes) else buf.encode(Encoding)


# -- commands ---------------------------------------------------------------------------------------


def words_of(command: Iterable[object]) -> list[str]:
    """Return the words of a command, which is one string, several words, or one list of words."""
    arguments = list(command)
    if len(arguments) == 1:
        only = arguments[0]
        if isinstance(only, str):
            return shlex.split(only)
        return [str(word) for word in cast("Iterable[object]", only)]
    return [str(word) for word in arguments]


def run(cmd: str) -> int:
    """Run a command and return its exit status."""
    return call(shlex.split(cmd))


def checkRun(cmd: str) -> int:
    """Run a command. Raises CalledProcessError if it fails."""
    return check_call(shlex.split(cmd))


def quietRun(cmd: object, **kwargs: object) -> str:
    """Run a command and return its output, standard error included."""
    return errRun(cmd, stderr=STDOUT, **kwargs)[0]


oldQuietRun = quietRun


def errRun(*cmd: object, **kwargs: Any) -> tuple[str, str, int]:
    """Run a command and return (stdout, stderr, exit status). With `echo` show them as well.

    Other keyword arguments are those of subprocess.Popen. Raises CommandError if the program does
    not exist.
    """
    echo = kwargs.pop("echo", False)
    options = {"stdout": PIPE, "stderr": PIPE, **kwargs}
    if options.get("shell"):
        only = cmd[0] if len(cmd) == 1 else cmd
        words = only if isinstance(only, list | tuple) else [only]
        command: str | list[str] = " ".join(map(str, words))
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


def errFail(*cmd: object, **kwargs: object) -> tuple[str, str, int]:
    """Run a command as errRun does. Raises CommandError if its exit status is not 0."""
    out, err, status = errRun(*cmd, **kwargs)
    if status:
        command = " ".join(words_of(cmd))
        raise CommandError(f"`{command}` failed", status=status, output=err or out)
    return out, err, status


def which(cmd: str, **_kwargs: object) -> str:
    """Return the path of a program, or "" if there is none."""
    return shutil.which(cmd) or ""


def isShellBuiltin(cmd: str) -> bool:
    """Whether the command is a builtin of bash."""
    first = cmd.split(" ", 1)[0]
    return (
        subprocess.run(
            ["bash", "-c", 'test "$(type -t -- "$0")" = builtin', first], check=False
        ).returncode
        == 0
    )


def retry(
    retries: int, delaySecs: float, fn: Callable[..., object], *args: object, **keywords: object
) -> None:
    """Call `fn` until it returns a true value. Raises CommandError after so many retries."""
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
    node1: _Node | None = None,
    node2: _Node | None = None,
    deleteIntfs: bool = True,
    runCmd: Callable[..., object] | None = None,
) -> None:
    """Create a veth pair, each end in its node. (Links between nodes are created by wanlab.)"""
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
    failure = runner(f"ip link add {' '.join(words)}")
    if failure:
        raise CommandError(f"cannot create the interfaces {intf1} and {intf2}", output=str(failure))
    for name, node in ((intf1, node1), (intf2, node2)):
        if node is not None and node.inNamespace:
            moveIntf(name, node)


def moveIntfNoRetry(intf: str, dstNode: _Node, printError: bool = False) -> bool:
    """Move an interface of the root namespace into a node; return whether that worked."""
    failure = quietRun(f"ip link set {intf} netns {dstNode.pid}")
    if failure and printError:
        error(f"*** Error: moving {intf} to {dstNode.name} failed: {failure}\n")
    return not failure


def moveIntf(
    intf: str, dstNode: _Node, printError: bool = True, retries: int = 3, delaySecs: float = 0.001
) -> None:
    retry(retries, delaySecs, moveIntfNoRetry, intf, dstNode, printError=printError)


def connections(node: _Node) -> str:
    """Return a node's interfaces with their peers: `h1 h1-eth0:s1-eth1`."""
    parts = [node.name]
    for intf in node.intfList():
        peer: object = ""
        if intf.link:
            peer = next((end for end in intf.link.ends() if end is not intf), " ")
        parts.append(f"{intf}:{peer or ' '}")
    return " ".join(parts)


def dumpNodeConnections(nodes: Iterable[_Node]) -> None:
    """Show what each interface of these nodes is connected to."""
    for node in nodes:
        output(connections(node) + "\n")


def dumpNetConnections(net: _Net) -> None:
    dumpNodeConnections([*net.controllers, *net.switches, *net.hosts])


def dumpPorts(switches: Iterable[_Node]) -> None:
    """Show the interfaces of switches with their port numbers."""
    for switch in switches:
        ports = [f"{intf}:{switch.ports[intf]} " for intf in switch.intfList()]
        output(f"{switch.name} {''.join(ports)}\n")


# -- addresses --------------------------------------------------------------------------------------


def _colonHex(val: int, bytecount: int) -> str:
    return val.to_bytes(bytecount, "big").hex(":")


def macColonHex(mac: int) -> str:
    """Return a MAC address as text."""
    return _colonHex(mac, 6)


def ipStr(ip: int) -> str:
    """Return an IPv4 address as text."""
    return ".".join(map(str, ip.to_bytes(4, "big")))


def ipNum(w: int, x: int, y: int, z: int) -> int:
    return (w << 24) | (x << 16) | (y << 8) | z


def ipAdd(i: int, prefixLen: int = 8, ipBaseNum: int = 0x0A000000) -> str:
    """Return the ith address of a network."""
    host_mask = 0xFFFFFFFF >> prefixLen
    if not 0 <= i <= host_mask:
        raise WanlabError(
            f"{ipStr(ipBaseNum)}/{prefixLen} has no address number {i}",
            "use a wider ipBase, such as 10.0.0.0/8",
        )
    return ipStr((ipBaseNum & ~host_mask & 0xFFFFFFFF) + i)


_DECIMAL = re.compile(r"[0-9]{1,3}")


def ipParse(ip: str) -> int:
    """Return an IPv4 address as a number; missing parts are 0, as in 10.0."""
    parts = [int(part) if _DECIMAL.fullmatch(part) else -1 for part in ip.split(".")]
    if len(parts) > 4 or not all(0 <= part <= 255 for part in parts):
        raise WanlabError(f"{ip!r} is not an IPv4 address", "as in 10.0.0.1")
    return ipNum(*[*parts, 0, 0, 0][:4])


def netParse(ipstr: str) -> tuple[int, int]:
    """Return (number, prefix length) of "10.0.0.0/8". Without a prefix each part counts 8 bits."""
    address, _, prefix = ipstr.partition("/")
    if prefix and not (_DECIMAL.fullmatch(prefix) and int(prefix) <= 32):
        raise WanlabError(f"{ipstr!r} is not an IPv4 network", "as in 10.0.0.0/8")
    return ipParse(address), int(prefix) if prefix else 8 * len(address.split("."))


# -- numbers, names, classes ------------------------------------------------------------------------


def irange(start: int, end: int) -> range:
    """Return the range from start to end, both included."""
    return range(start, end + 1)


def numCores() -> int:
    return os.cpu_count() or 1


def checkInt(s: str | float) -> int | None:
    try:
        return int(s)
    except ValueError:
        return None


def checkFloat(s: str | float) -> float | None:
    try:
        return float(s)
    except ValueError:
        return None


def makeNumeric(s: str) -> int | float | str:
    """Return a number if the text looks like one, otherwise the text."""
    whole = checkInt(s)
    if whole is not None:
        return whole
    number = checkFloat(s)
    return s if number is None else number


def natural(text: object) -> list[tuple[bool, int | str]]:
    """Return a sort key that puts h2 before h10."""
    parts = re.split(r"(\d+)", str(text))
    return [(False, int(part)) if part.isdigit() else (True, part) for part in parts if part]


def naturalSeq(t: Iterable[object]) -> list[list[tuple[bool, int | str]]]:
    return [natural(text) for text in t]


def fmtBps(bps: float, fmt: str = "") -> str:
    """Return a rate in iperf's format: 9.6 Mbits/sec.

    `fmt` is k, m, g or t for a fixed prefix, and K, M, G or T for bytes.
    """
    value, unit = float(bps), "bits/sec"
    if fmt.isupper() and fmt != "A":
        value, unit = value / 8, "Bytes/sec"
    prefixes = "kMGTP"
    fixed = fmt[:1].upper().replace("K", "k")
    if fixed and fixed in prefixes:
        exponent = prefixes.find(fixed) + 1
    else:
        exponent = 0
        while exponent < len(prefixes) and value >= 1000 ** (exponent + 1):
            exponent += 1
    prefix = prefixes[exponent - 1] if exponent else ""
    return f"{value / 1000**exponent:.1f} {prefix}{unit}"


def splitArgs(argstr: str) -> tuple[str, list[int | float | str], dict[str, int | float | str]]:
    """Split `name,1,x=2` into ("name", [1], {"x": 2})."""
    name, *items = argstr.split(",")
    args = [makeNumeric(item) for item in items if "=" not in item]
    pairs = (item.split("=", 1) for item in items if "=" in item)
    return name, args, {key: makeNumeric(value) for key, value in pairs}


def custom(cls: Callable[..., T], **params: object) -> Callable[..., T]:
    """Return a function that calls a class or function with these parameters fixed."""

    def customized(*args: object, **kwargs: object) -> T:
        return cls(*args, **{**kwargs, **params})

    customized.__name__ = f"custom({cls},{params})"
    return customized


def specialClass(
    cls: type[T],
    prepend: Iterable[object] | None = None,
    append: Iterable[object] | None = None,
    defaults: Mapping[str, object] | None = None,
    override: Mapping[str, object] | None = None,
) -> type[T]:
    """Return a subclass whose constructor adds these arguments to its own."""
    before, after = list(prepend or []), list(append or [])
    first, last = dict(defaults or {}), dict(override or {})

    class CustomClass(cls):  # type: ignore[misc, valid-type]
        """A class with fixed parameters."""

        def __init__(self, *args: object, **params: object) -> None:
            super().__init__(*before, *args, *after, **{**first, **params, **last})

    CustomClass.__name__ = f"{cls.__name__}{first}" if first else cls.__name__
    CustomClass.__module__ = cls.__module__
    return CustomClass


def customClass(classes: Mapping[str, Callable[..., T]], argStr: str) -> Callable[..., T]:
    """Return the class that `name,args` names, with these args fixed."""
    name, args, kwargs = splitArgs(argStr)
    if name not in classes:
        raise WanlabError(
            f"{name} is unknown", f"{did_you_mean(name, classes)} - known: {', '.join(classes)}"
        )
    cls = classes[name]
    if not args and not kwargs:
        return cls
    return specialClass(cast("type[T]", cls), append=args, defaults=kwargs)


def buildTopo(topos: Mapping[str, Callable[..., T]], topoStr: str) -> T:
    """Return the topology that `name,args` describes."""
    name, args, kwargs = splitArgs(topoStr)
    if name not in topos:
        raise WanlabError(f"Invalid topo name {name}", did_you_mean(name, topos))
    return topos[name](*args, **kwargs)


# -- many processes at once -------------------------------------------------------------------------


def pmonitor(
    popens: dict[Key, Popen[bytes]],
    timeoutms: int | None = 500,
    readline: bool = True,
    readmax: int = 1024,
) -> Iterator[tuple[Key | None, str]]:
    """Yield (key, line) as processes write, and (None, "") on timeout, until all have ended.

    A process that has ended is removed from `popens`.
    """
    poller = poll()
    keys = {}
    for key, process in popens.items():
        assert process.stdout is not None, "start it with stdout=PIPE"
        keys[process.stdout.fileno()] = key
        poller.register(process.stdout.fileno(), POLLIN)
    pieces: dict[int, bytes] = dict.fromkeys(keys, b"")
    while keys:
        ready = poller.poll(timeoutms)
        if not ready:
            yield None, ""
        for descriptor, events in ready:
            key = keys[descriptor]
            data = os.read(descriptor, 65536 if readline else readmax) if events else b""
            if not data:
                if pieces[descriptor]:
                    yield key, decode(pieces[descriptor])
                poller.unregister(descriptor)
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
    client: _Node | None = None,
    server: str | _Server = "127.0.0.1",
    port: int | str = 80,
    timeout: float | None = None,
) -> bool:
    """Wait until a server accepts connections from a client, which is a node or the root namespace.

    Returns whether it did within `timeout` seconds.
    """
    import socket

    from .namespace import inside

    address = server if isinstance(server, str) else server.IP()
    number = (
        socket.getservbyname(port) if isinstance(port, str) and not port.isdigit() else int(port)
    )
    waited_s = 0.0
    while True:
        with inside(client.namespace if client else ""):
            attempt = socket.socket()
        with attempt:
            attempt.settimeout(RETRY_INTERVAL_S)
            if attempt.connect_ex((address, number)) == 0:
                return True
        if timeout is not None and waited_s >= timeout:
            error(f"could not connect to {server} on port {number}\n")
            return False
        time.sleep(RETRY_INTERVAL_S)
        waited_s += RETRY_INTERVAL_S


# -- not needed inside a machine --------------------------------------------------------------------


def ensureRoot() -> None:
    """End the program if it is not root; inside a machine it always is."""
    if os.getuid() != 0:
        print("*** Mininet must run as root.")
        sys.exit(1)


def fixLimits() -> None:
    """Do nothing: the limits of a machine are set when it starts."""


def rlimitTestAndSet(name: int, limit: int) -> None:
    """Raise a limit of this process to at least `limit`."""
    import resource

    soft, hard = resource.getrlimit(name)
    if soft < limit:
        resource.setrlimit(name, (limit, max(limit, hard)))


def sysctlTestAndSet(name: str, limit: object) -> None:
    """Set a kernel parameter, unless it is a number that is at least `limit`."""
    from pathlib import Path

    file = Path(name if name.startswith("/proc") else f"/proc/sys/{name.replace('.', '/')}")
    before = makeNumeric(file.read_text(encoding="ascii").strip())
    if not isinstance(before, int) or not isinstance(limit, int) or before < limit:
        file.write_text(str(limit), encoding="ascii")


def mountCgroups(cgcontrol: str = "") -> str:
    """Return the mount point of control groups; the machine has mounted them."""
    return "/sys/fs/cgroup"


class Pexpect:
    """The module pexpect, if it is installed, with text instead of bytes."""

    @staticmethod
    def spawn(*args: object, **kwargs: object) -> Any:
        return _pexpect().spawn(*args, **{"encoding": Encoding, **kwargs})

    def __getattr__(self, name: str) -> Any:
        return getattr(_pexpect(), name)


def _pexpect() -> ModuleType:
    try:
        return import_module("pexpect")
    except ImportError:
        raise RequirementError("pexpect is not installed", "pip install pexpect") from None


pexpect = Pexpect()
