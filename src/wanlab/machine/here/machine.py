"""An agent of our own on the kernel that this program runs on, inside a machine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from wanlab.agent.host_service import ADDRESS as HOST_SERVICE
from wanlab.agent.host_service import FOR_AN_AGENT
from wanlab.errors import MachineError, RequirementError

from .. import Clock, MachineDescription
from ..channel import Channel
from ..conversation import Conversation
from ..guest_environment import ENVIRONMENT
from ..loop import CHUNK_BYTES, Pipes, RealLoop
from ..traits import MachineTraits

ABOUT_FILE = Path("/run/wanlab/machine.json")
END_REAL_S = 30.0


def is_inside() -> bool:
    """Whether this program runs inside a machine."""
    return ABOUT_FILE.exists()


class HereMachine:
    """Its clock is the machine's: where that is virtual, waiting costs nothing and equal runs are equal.
    Time passes by itself; `run` waits."""

    def __init__(self, working_folder: Path) -> None:
        self.folder = working_folder
        self.environment = {**ENVIRONMENT, **os.environ}
        self._about = read_about()
        self.traits = here_traits()
        self.clock: Clock = self._about["clock"]
        self.seed: int | None = self._about["seed"]
        self._socket = request_agent()
        self._closed = False
        self.channel = Channel(self._send)
        self._loop = RealLoop(Pipes(None, self._socket, self._socket), self.channel.feed)
        self._conversation = Conversation(
            self._loop, self.channel, explain_end=self._explain_end, serves=False
        )
        self.agent = self._conversation.agent
        try:
            self._conversation.await_agent()
            self.agent.prepare(environment=self.environment)
        except BaseException:
            self.close()
            raise

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    def describe(self) -> MachineDescription:
        return self._about

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        self._conversation.run(until_ns, stop)

    def prefix(self, node: str, folder: str) -> list[str]:
        paths = self.agent.paths(node)
        return [
            "nsenter",
            f"--net={paths['net']}",
            f"--mount={paths['mount']}",
            # Entering a mount namespace changes the current folder to its root.
            *("/bin/sh", "-c", 'cd "$0" && exec "$@"', folder),
        ]

    def move_interfaces(self, names: Iterable[str]) -> None:
        raise RequirementError(
            f"interfaces of the computer cannot be moved in from inside a machine: {', '.join(names)}",
            "start the network from outside, on the native machine: --machine native",
        )

    def pace_to_real(self, wanted: bool) -> None:
        """The machine's pace is set outside."""

    def end_stalled_process(self) -> None:
        """Stalls are detected and ended outside."""

    def close(self) -> None:
        """End the processes in the nodes and remove the nodes."""
        if self._closed:
            return
        self._closed = True
        # The agent undoes what it did, and then closes its end.
        with contextlib.suppress(OSError):
            self._socket.setblocking(True)
            self._socket.settimeout(END_REAL_S)
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(CHUNK_BYTES):
                pass
        self._conversation.close()

    def _send(self, data: bytes) -> None:
        self._loop.send(data)

    def _explain_end(self) -> MachineError:
        return MachineError("the network's agent has ended")


def request_agent() -> socket.socket:
    """Ask the machine's agent for an agent of our own; return the channel to it."""
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
            'machine="here" is for programs that run inside a machine; this one does not',
            "run it with: wanlab python SCRIPT",
        ) from None
    return about


def here_traits() -> MachineTraits:
    """Return the traits of the machine that this program runs in."""
    return MachineTraits(is_shared=True, has_own_kernel=read_about()["machine"] != "native")
