"""An agent of our own on the kernel that this program runs on, inside a machine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from wanlab.agent.host_service import ADDRESS as HOST_SERVICE
from wanlab.agent.host_service import FOR_AN_AGENT
from wanlab.agent.messages import Frame
from wanlab.errors import MachineError, RequirementError, WanlabError

from .. import Clock, MachineDescription, Preemption
from ..channel import Channel
from ..client import AgentClient
from ..conversation import Conversation
from ..guest_environment import ENVIRONMENT
from ..loop import CHUNK_BYTES, Pipes, RealLoop
from ..traits import HERE

ABOUT_FILE = Path("/run/wanlab/machine.json")
END_REAL_S = 30.0


def is_inside() -> bool:
    """Whether this program runs inside a machine."""
    return ABOUT_FILE.exists()


class HereMachine:
    """The machine that this program runs in.

    Its clock is the machine's: where that is virtual, waiting costs nothing and equal runs are equal.
    Time passes by itself; `run` waits.

    A process that was forked from the program may use it, too. It cannot share the channel, because
    each would read the other's answers. So it asks the program's agent for the namespaces of nodes
    through a separate socket, and gets a separate agent when it changes something.
    """

    def __init__(self, working_folder: Path) -> None:
        self.folder = working_folder
        self.environment = {**ENVIRONMENT, **os.environ}
        self._about = read_about()
        self.traits = HERE
        self.clock: Clock = self._about["clock"]
        self.seed: int | None = self._about["seed"]
        self._closed = False
        self._address = ""
        """The address of the socket at which this program's agent answers forked processes."""
        self._is_forked = False
        """Whether this is a forked process without an agent of its own."""
        self._connect()
        register(self)

    def _connect(self) -> None:
        self._socket = request_agent()
        self._channel = Channel(self._send)
        self._loop = RealLoop(Pipes(None, self._socket, self._socket), self._channel.feed)
        self._conversation = Conversation(
            self._loop, self._channel, explain_end=self._explain_end, serves=False
        )
        try:
            self._conversation.await_agent()
            self._conversation.agent.prepare(environment=self.environment)
        except BaseException:
            self.close()
            raise

    @property
    def channel(self) -> Channel:
        self._connect_if_forked()
        return self._channel

    @property
    def agent(self) -> AgentClient:
        self._connect_if_forked()
        return self._conversation.agent

    @property
    def preemptions(self) -> Sequence[Preemption]:
        """None: preemptions are known only outside the machine."""
        return ()

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    @property
    def next_event_ns(self) -> int:
        return self._loop.next_event_ns

    def describe(self) -> MachineDescription:
        return self._about

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        self._connect_if_forked()
        self._conversation.run(until_ns, stop)

    def observe(
        self,
        on_sent: Callable[[bytes], None] | None,
        on_frame: Callable[[Frame], None] | None,
    ) -> None:
        raise RequirementError(
            "a program inside a machine cannot record the machine's session",
            "record it from outside: wanlab python --session FILE SCRIPT",
        )

    def prefix(self, node: str, folder: str) -> list[str]:
        if self._is_forked:
            paths = self._ask_former_agent(do="paths", node=node)
        else:
            paths = self.agent.paths(node)
        return [
            "nsenter",
            f"--net={paths['net']}",
            f"--mount={paths['mount']}",
            # Entering a mount namespace changes the current folder to its root.
            "/bin/sh",
            "-c",
            'cd "$0" && exec "$@"',
            folder,
        ]

    @property
    def computed_real_s(self) -> float:
        return 0.0

    def programs_computed_ns(self) -> Mapping[int, int]:
        return {}

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        """The machine's pace is set outside."""

    def end_stalled_process(self) -> None:
        """Stalls are detected and ended outside."""

    def kill(self) -> None:
        """The machine can be killed only from outside."""

    def close(self) -> None:
        """End the processes in the nodes and remove the nodes; in a forked process, only those that it
        has made itself."""
        if self._closed:
            return
        self._closed = True
        if self._is_forked:
            return
        # The agent undoes what it did, and then closes its end.
        with contextlib.suppress(OSError):
            self._socket.setblocking(True)
            self._socket.settimeout(END_REAL_S)
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(CHUNK_BYTES):
                pass
        self._conversation.close()

    # -- forks ------------------------------------------------------------------------------------

    def prepare_fork(self) -> None:
        """Let the agent answer the process that is about to be forked."""
        if not (self._closed or self._is_forked or self._address):
            with contextlib.suppress(WanlabError):  # its agent has ended
                self._address = self._conversation.agent.listen()

    def forked(self) -> None:
        """Leave the channel to the parent."""
        if not (self._closed or self._is_forked):
            self._is_forked = True
            self._conversation.close()

    def _connect_if_forked(self) -> None:
        if self._is_forked and not self._closed:
            nodes = self._ask_former_agent(do="node_paths")
            self._is_forked, self._address = False, ""
            self._connect()
            self._conversation.agent.adopt(nodes)

    def _ask_former_agent(self, **request: str) -> Any:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(self._address)
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as lines:
                    answer = json.loads(
                        lines.readline() or b'{"error": "it has closed the connection"}'
                    )
            except OSError as error:
                answer = {"error": error.strerror or str(error)}
        if "error" in answer:
            raise MachineError(
                f"the network's agent does not answer this forked process: {answer['error']}",
                "stop the network only after the processes that use it have ended",
            )
        return answer

    def _send(self, data: bytes) -> None:
        self._loop.send(data)

    def _explain_end(self) -> MachineError:
        return MachineError("the network's agent has ended")


_machines: weakref.WeakSet[HereMachine] = weakref.WeakSet()


def register(machine: HereMachine) -> None:
    """Call `prepare_fork` and `forked` of a machine at every fork from now on."""
    _install_hooks()
    _machines.add(machine)


@cache
def _install_hooks() -> None:
    def before() -> None:
        for machine in list(_machines):
            machine.prepare_fork()

    def after() -> None:
        for machine in list(_machines):
            machine.forked()

    os.register_at_fork(before=before, after_in_child=after)


def request_agent() -> socket.socket:
    """Ask the machine's agent for an agent of our own; return the channel to it."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.connect(HOST_SERVICE)
        channel.sendall(FOR_AN_AGENT + b"\n")
    except OSError as error:
        channel.close()
        raise MachineError(f"the machine's agent does not answer: {error.strerror}") from None
    return channel


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
