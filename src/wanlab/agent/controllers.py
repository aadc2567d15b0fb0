"""Starts and stops our OpenFlow controllers and relays."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

RUN_FOLDER = "/run/wanlab"
CONNECT_TIMEOUT_S = 10.0
CHECK_INTERVAL_S = 0.02

RunInRoot = Callable[[list[str]], str]
"""Runs a program in the root namespace; OSError with its output if it fails."""


def start_of_controller(controller: str, address: str, port: int) -> list[str]:
    files = ["--pidfile", f"{RUN_FOLDER}/{controller}.pid", "--log", log_of_controller(controller)]
    return ["wanlab-controller", address, str(port), "--detach", *files]


def start_of_relay(controller: str, address: str, port: int) -> list[str]:
    pidfile = f"{RUN_FOLDER}/{controller}.pid"
    return ["wanlab-relay", address, str(port), "--detach", "--pidfile", pidfile]


def log_of_controller(controller: str) -> str:
    """Return the log's path: the one that Mininet uses."""
    return f"/tmp/{controller}.log"


class Controllers:
    """The controllers and relays that we have started."""

    def __init__(self, run: RunInRoot) -> None:
        self._run = run
        self._names: dict[str, None] = {}

    def start(self, name: str, address: str, port: int) -> None:
        self._run(start_of_controller(name, address, port))
        self._names[name] = None

    def start_relay(self, name: str, address: str, port: int) -> None:
        self._run(start_of_relay(name, address, port))
        self._names[name] = None

    def await_switches(self, name: str, count: int) -> None:
        """Wait until `count` switches have connected; OSError if they do not in time."""
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while (connected := _connected_switches(name)) < count:
            if time.monotonic() > deadline:
                raise OSError(
                    f"{count - connected} of {count} switches did not connect to controller {name} "
                    f"within {CONNECT_TIMEOUT_S:.0f} s: they must speak OpenFlow 1.0 or 1.3"
                )
            time.sleep(CHECK_INTERVAL_S)

    def stop(self, name: str) -> None:
        self._names.pop(name, None)
        with (
            contextlib.suppress(OSError, ValueError),
            open(f"{RUN_FOLDER}/{name}.pid", encoding="ascii") as file,
        ):
            os.kill(int(file.read()), signal.SIGTERM)

    def undo(self) -> None:
        for name in list(self._names):
            self.stop(name)


def _connected_switches(name: str) -> int:
    """Count the switches in a controller's log."""
    with open(log_of_controller(name), encoding="utf-8") as file:
        return len({line for line in file if " connected, " in line})
