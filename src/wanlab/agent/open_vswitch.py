"""Open vSwitch in a machine: started when it is first needed, told what to do in few calls."""

from __future__ import annotations

import _socket
import contextlib
import os
import signal
import time
from collections.abc import Callable

# Version 3.1 counts processors every 10 s of the kernel's clock, and finds none before that has shown
# 10 s: its log says "n-handler-threads 0", and every packet without a flow is lost.
READY_UPTIME_S = 10.0
END_S = 5.0
OVS_FOLDER = "/var/run/openvswitch"
OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

Run = Callable[[list[str]], str]
"""Runs a program in the root namespace; OSError with its words if it fails."""


def start_of_ovs() -> list[list[str]]:
    """The commands that start Open vSwitch, in order. Its database lives in memory, its sockets are
    where `ovs-vsctl` and the others look for them."""
    quiet = ["-vconsole:off", "-vsyslog:off", "--no-chdir", "--pidfile", "--detach"]
    database, socket = f"{OVS_FOLDER}/conf.db", f"{OVS_FOLDER}/db.sock"
    logs = {
        name: f"--log-file={OVS_FOLDER}/{name}.log" for name in ("ovsdb-server", "ovs-vswitchd")
    }
    return [
        ["ovsdb-tool", "create", database, OVS_SCHEMA],
        ["ovsdb-server", database, f"--remote=punix:{socket}", logs["ovsdb-server"], *quiet],
        ["ovs-vswitchd", f"unix:{socket}", logs["ovs-vswitchd"], *quiet],
    ]


class OpenVswitch:
    """What we have asked of it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bridges: dict[str, None] = {}
        self._ports: dict[str, None] = {}
        self._is_ours = False

    def start(self) -> None:
        if _is_running():
            return
        time.sleep(max(0.0, READY_UPTIME_S - time.monotonic()))
        os.makedirs(OVS_FOLDER, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{OVS_FOLDER}/conf.db")  # of one that has ended
        for command in start_of_ovs():
            self._run(command)
        self._is_ours = True

    def configure(self, arguments: list[str]) -> None:
        """Run ovs-vsctl, which returns when Open vSwitch has done all of it."""
        self._run(["ovs-vsctl", *arguments])
        for index, argument in enumerate(arguments):
            if argument == "add-br":
                self._bridges[arguments[index + 1]] = None
                _check_bridge_exists(arguments[index + 1])
            elif argument == "add-port":
                self._ports[arguments[index + 2]] = None

    def forget(self, name: str) -> bool:
        """Takes a switch or a port out of it; whether there was a switch of this name."""
        if name in self._bridges:
            del self._bridges[name]
            self._run(["ovs-vsctl", "--if-exists", "del-br", name])
            return True
        if name in self._ports:
            del self._ports[name]
            self._run(["ovs-vsctl", "--if-exists", "del-port", name])
        return False

    def undo(self) -> None:
        """Our switches go; so does what we have started, unless others use it."""
        if self._bridges:
            gone = [
                word for name in self._bridges for word in ("--", "--if-exists", "del-br", name)
            ]
            with contextlib.suppress(OSError):
                self._run(["ovs-vsctl", *gone])
        if self._is_ours and not self._others():
            self._end()

    def _end(self) -> None:
        """What it has in the kernel goes, too."""
        pids = [pid for pid in map(_pid_of, ("ovs-vswitchd", "ovsdb-server")) if pid]
        with contextlib.suppress(OSError):
            self._run(["ovs-appctl", "exit", "--cleanup"])
        with contextlib.suppress(OSError):
            os.kill(pids[-1], signal.SIGTERM)
        until = time.monotonic() + END_S
        while any(map(_lives, pids)) and time.monotonic() < until:
            time.sleep(0.01)

    def _others(self) -> str:
        try:
            return self._run(["ovs-vsctl", "list-br"]).strip()
        except OSError:
            return ""


def _check_bridge_exists(bridge: str) -> None:
    """ovs-vsctl does not fail when the kernel has no place for a switch."""
    try:
        _socket.if_nametoindex(bridge)
    except OSError:
        raise OSError(
            f"Open vSwitch could not make {bridge}: this kernel lacks its datapath (the module "
            "openvswitch), or with datapath user /dev/net/tun; the embedded machine has both"
        ) from None


def _is_running() -> bool:
    pid = _pid_of("ovs-vswitchd")
    return pid is not None and _lives(pid)


def _pid_of(name: str) -> int | None:
    try:
        with open(f"{OVS_FOLDER}/{name}.pid", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
