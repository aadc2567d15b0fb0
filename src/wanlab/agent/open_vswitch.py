"""Runs Open vSwitch: starts it when it is first needed, and configures it with few calls."""

from __future__ import annotations

import _socket
import contextlib
import os
import signal
import time
from collections.abc import Callable

# Version 3.1 counts CPUs every 10 s of the kernel's clock and finds none during the first 10 s: its log
# says "n-handler-threads 0", and every packet without a flow is lost.
READY_UPTIME_S = 10.0
END_S = 5.0
OVS_FOLDER = "/var/run/openvswitch"
OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

RunInRoot = Callable[[list[str]], str]
"""Runs a program in the root namespace; OSError with its output if it fails."""


def start_of_ovs() -> list[list[str]]:
    """Return the commands that start Open vSwitch, in order.

    Its database is in memory. Its sockets are where `ovs-vsctl` and the other tools look for them.
    """
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
    """The switches and ports that we have added."""

    def __init__(self, run: RunInRoot) -> None:
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
            os.unlink(f"{OVS_FOLDER}/conf.db")  # of an earlier Open vSwitch
        for command in start_of_ovs():
            self._run(command)
        self._is_ours = True

    def configure(self, arguments: list[str]) -> None:
        """Run ovs-vsctl, which returns when Open vSwitch has applied all changes."""
        self._run(["ovs-vsctl", *arguments])
        for index, argument in enumerate(arguments):
            if argument == "add-br":
                self._bridges[arguments[index + 1]] = None
                _check_bridge_exists(arguments[index + 1])
            elif argument == "add-port":
                self._ports[arguments[index + 2]] = None

    def forget(self, name: str) -> bool:
        """Remove a switch or a port by its name. Return whether it was a switch."""
        if name in self._bridges:
            del self._bridges[name]
            self._run(["ovs-vsctl", "--if-exists", "del-br", name])
            return True
        if name in self._ports:
            del self._ports[name]
            self._run(["ovs-vsctl", "--if-exists", "del-port", name])
        return False

    def undo(self) -> None:
        """Remove our switches; end Open vSwitch if we started it and nobody else uses it."""
        if self._bridges:
            arguments = [
                argument
                for name in self._bridges
                for argument in ("--", "--if-exists", "del-br", name)
            ]
            with contextlib.suppress(OSError):
                self._run(["ovs-vsctl", *arguments])
        if self._is_ours and not self._remaining_bridges():
            self._end()

    def _end(self) -> None:
        """End its programs; `--cleanup` also removes its datapath from the kernel."""
        pids = [pid for pid in map(_pid_of, ("ovs-vswitchd", "ovsdb-server")) if pid]
        with contextlib.suppress(OSError):
            self._run(["ovs-appctl", "exit", "--cleanup"])
        with contextlib.suppress(OSError):
            os.kill(pids[-1], signal.SIGTERM)
        deadline = time.monotonic() + END_S
        while any(map(_is_alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _remaining_bridges(self) -> str:
        try:
            return self._run(["ovs-vsctl", "list-br"]).strip()
        except OSError:
            return ""


def _check_bridge_exists(bridge: str) -> None:
    """Raise OSError if the kernel did not make a switch; ovs-vsctl does not report that."""
    try:
        _socket.if_nametoindex(bridge)
    except OSError:
        raise OSError(
            f"Open vSwitch could not create {bridge}: this kernel lacks the module openvswitch or, "
            "with datapath user, /dev/net/tun; the embedded machine has both"
        ) from None


def _is_running() -> bool:
    pid = _pid_of("ovs-vswitchd")
    return pid is not None and _is_alive(pid)


def _pid_of(name: str) -> int | None:
    try:
        with open(f"{OVS_FOLDER}/{name}.pid", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
