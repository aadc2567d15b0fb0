"""An agent on the kernel that we are on."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from wanlab.agent.host_service import ADDRESS as HOST_SERVICE
from wanlab.agent.host_service import FOR_AN_AGENT
from wanlab.errors import MachineError, RequirementError

from .. import Clock, MachineDescription
from ..channel import Channel
from ..furniture import ENVIRONMENT
from ..loop import Lost, Pipes, RealLoop
from ..traits import MachineTraits

ABOUT_FILE = Path("/run/wanlab/machine.json")
FOREVER_NS = 1 << 62
END_REAL_S = 30.0
CHUNK = 65536


def is_inside() -> bool:
    """Whether this program runs inside a machine."""
    return ABOUT_FILE.exists()


class HereMachine:
    """Its clock is the machine's: where that is virtual, waiting costs nothing, and equal runs are
    equal. Time passes by itself; `run` waits."""

    def __init__(self, working_folder: Path) -> None:
        self.folder = working_folder
        self.environment = {**ENVIRONMENT, **os.environ}
        self._about = read_about()
        self.traits = here_traits()
        self.clock: Clock = self._about["clock"]
        self.seed: int | None = self._about["seed"]
        self._end = ask_for_agent()
        self._closed = False
        self._loop = RealLoop(Pipes(None, self._end, self._end), self._hear)
        self.channel = Channel(self._loop.say)
        try:
            self.run(FOREVER_NS, lambda: self.channel.is_ready)
            self.call("prepare", environment=self.environment)
        except BaseException:
            self.close()
            raise

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    def describe(self) -> MachineDescription:
        return self._about

    def call(self, do: str, **arguments: object) -> Any:
        number = self.channel.call(do, **arguments)
        self.run(FOREVER_NS, lambda: self.channel.is_answered(number))
        return self.channel.answer(number)

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        if self._closed:
            raise MachineError("the network has been closed")
        try:
            self._loop.run(until_ns, stop)
        except Lost:
            raise MachineError("the network's agent has ended") from None

    def prefix(self, node: str, folder: str) -> list[str]:
        """What goes in front of a command so that it runs in a node, in a folder."""
        paths = self.call("paths", node=node)
        return [
            "nsenter",
            f"--net={paths['net']}",
            f"--mount={paths['mount']}",
            # Entering a mount namespace leads to its root.
            *("/bin/sh", "-c", 'cd "$0" && exec "$@"', folder),
        ]

    def move_interfaces(self, names: Iterable[str]) -> None:
        raise RequirementError(
            f"interfaces of the computer cannot be moved in from inside a machine: {', '.join(names)}",
            "start the network from outside, on the native machine: --machine native",
        )

    def pace_to_real(self, wanted: bool) -> None:
        """The pace is set outside."""

    def end_stalled_process(self) -> None:
        """Seen and done outside."""

    def close(self) -> None:
        """Ends what runs in the nodes and takes them away."""
        if self._closed:
            return
        self._closed = True
        # It undoes what it did, and is gone when its end is closed.
        with contextlib.suppress(OSError):
            self._end.setblocking(True)
            self._end.settimeout(END_REAL_S)
            self._end.shutdown(socket.SHUT_WR)
            while self._end.recv(CHUNK):
                pass
        self._loop.close()

    def _hear(self, data: bytes) -> None:
        self.channel.feed(data)


def ask_for_agent() -> socket.socket:
    """A channel to an agent of our own."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        end.connect(HOST_SERVICE)
        end.sendall(FOR_AN_AGENT + b"\n")
    except OSError as error:
        end.close()
        raise MachineError(f"the machine's agent does not answer: {error.strerror}") from None
    return end


@cache
def read_about() -> MachineDescription:
    """Read machine.json. RequirementError if this program does not run inside a machine."""
    try:
        about: MachineDescription = json.loads(ABOUT_FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RequirementError(
            'machine="here" is for programs that run inside a machine, and this one does not',
            "run it with: wanlab python SCRIPT",
        ) from None
    return about


def here_traits() -> MachineTraits:
    """Return the traits of the machine that this program runs in."""
    return MachineTraits(is_shared=True, has_own_kernel=read_about()["machine"] != "native")
