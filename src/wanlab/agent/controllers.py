"""Controllers of ours in a machine: started, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

RUN_FOLDER = "/run/wanlab"
PATIENCE_S = 10.0
LOOK_EVERY_S = 0.02

Run = Callable[[list[str]], str]
"""Runs a program in the root namespace; OSError with its words if it fails."""


def start_of_controller(controller: str, address: str, port: int) -> list[str]:
    files = ["--pidfile", f"{RUN_FOLDER}/{controller}.pid", "--log", log_of_controller(controller)]
    return ["wanlab-controller", address, str(port), "--detach", *files]


def start_of_relay(controller: str, address: str, port: int) -> list[str]:
    pidfile = f"{RUN_FOLDER}/{controller}.pid"
    return ["wanlab-relay", address, str(port), "--detach", "--pidfile", pidfile]


def log_of_controller(controller: str) -> str:
    """Where Mininet's users look for it."""
    return f"/tmp/{controller}.log"


class Controllers:
    """Those that we have started."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._names: dict[str, None] = {}

    def start(self, name: str, address: str, port: int) -> None:
        self._run(start_of_controller(name, address, port))
        self._names[name] = None

    def start_relay(self, name: str, address: str, port: int) -> None:
        self._run(start_of_relay(name, address, port))
        self._names[name] = None

    def await_switches(self, name: str, count: int) -> None:
        """Waits on the machine's clock; OSError if they do not come."""
        until = time.monotonic() + PATIENCE_S
        while (come := _switches_of(name)) < count:
            if time.monotonic() > until:
                raise OSError(
                    f"{count - come} of {count} switches did not connect to controller {name} within "
                    f"{PATIENCE_S:.0f} s: it speaks OpenFlow 1.0 and 1.3"
                )
            time.sleep(LOOK_EVERY_S)

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


def _switches_of(name: str) -> int:
    """How many its log knows."""
    with open(log_of_controller(name), encoding="utf-8") as file:
        return len({line for line in file if " connected, " in line})
