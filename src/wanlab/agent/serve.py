"""The agent's loop: calls in, answers and events out. Nothing else in the agent waits."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from . import integrity, root, system
from .bursts import OUTPUT_BYTES, REQUEST_BYTES, Bursts
from .counters import Counters
from .host_service import HostServiceSocket
from .messages import CHUNK_BYTES, Frame, FrameReader, Kind, encode, encode_json
from .namespaces import ROOT, Namespaces
from .perform import Performer
from .processes import Processes
from .watches import Watches

if TYPE_CHECKING:
    from typing import TypedDict

    from .namespaces import NamespacePaths
    from .root import EmbeddedRoot, GuestEnvironment

    class AgentDescription(TypedDict):
        """The answer to `prepare`."""

        release: str


Request = tuple[str, dict[str, Any]]
"""An operation: a verb of `Performer` and its arguments, as `wanlab.operations` writes them."""
RUN_TOGETHER = ("set_ovs", "set_vlans")
MAX_DESCRIPTORS = 1 << 20
MAX_TOGETHER = 1000  # a kernel takes about 2 MB of arguments


def calls_of(
    agent: Agent,
    processes: Processes,
    namespaces: Namespaces,
    counters: Counters,
    watches: Watches,
) -> dict[str, Callable[..., object]]:
    """Return the functions that may be called once the agent has been prepared, by name.

    `wanlab.machine.client.AgentClient` has a method with the same arguments for each.
    """
    return {
        "perform": agent.perform,
        "start": processes.start,
        "signal": processes.signal,
        "resize": processes.resize,
        "input_state": processes.input_state,
        "waits_for_input": processes.waits_for_input,
        "grant_credit": processes.grant_credit,
        "are_busy": processes.are_busy,
        "confine": processes.confine,
        "end_confinement": processes.end_confinement,
        "program_files": processes.program_files,
        "changed_programs": processes.changed_programs,
        "adopt": namespaces.adopt,
        "paths": namespaces.paths,
        "read": counters.read,
        "watch": watches.watch,
        "snapshot": watches.snapshot,
        "flush": watches.flush,
        "unwatch": watches.unwatch,
        "written_files": agent.written_files,
        "listen": agent.listen,
    }


class Agent:
    """Serves one machine over a pair of descriptors until `halt`, or until they are closed.

    It is the first process of wanlab's own kernel, which ends with it, unless it `is_guest`: then it
    works in namespaces that outlive it, so it undoes its operations when it leaves.
    """

    def __init__(self, input: int, output: int, *, is_guest: bool = False) -> None:
        self._input = input
        self._output = output
        self._is_guest = is_guest
        self._poll = select.epoll()
        self._bursts = Bursts()
        self._host_service: HostServiceSocket | None = None
        self._watches: Watches | None = None
        self._is_prepared = False
        self._calls: dict[str, Callable[..., object]] = {"prepare": self.prepare}

    def prepare(
        self,
        environment: dict[str, str],
        embedded_root: EmbeddedRoot | None = None,
        guest_environment: GuestEnvironment | None = None,
    ) -> AgentDescription:
        """Make the root file system and install the guest environment, if these arguments are given.

        This is the first call. The other calls exist only after it.
        """
        if embedded_root is not None:
            root.prepare(**embedded_root)
        namespaces = Namespaces()
        if guest_environment is not None:
            root.install(**guest_environment)
            self._host_service = HostServiceSocket(
                self._poll, self._send_request, {"paths": self._paths}, self._fork_for
            )
        self._performer = Performer(namespaces, environment)
        if not self._is_guest:
            self._performer.set_link_state(ROOT, "lo", up=True)
        self._namespaces = namespaces
        self._processes = Processes(namespaces, self._poll, self._send_output)
        counters = Counters(namespaces)
        self._watches = Watches(counters, namespaces, self._poll, self._send)
        if not self._is_guest:
            system.set_realtime_priority()
        self._calls = calls_of(self, self._processes, namespaces, counters, self._watches)
        self._calls["halt"] = self.halt
        self._is_prepared = True
        if not self._is_guest:
            _fill_pools()
        return {"release": os.uname().release}

    def perform(self, operations: list[Request]) -> None:
        """Perform operations in order. OperationFailed says which one failed."""
        for index, verb, arguments in batches(operations):
            try:
                with self._processes.writable_root():
                    self._performer.perform(verb, arguments)
            except (OSError, ValueError) as error:
                raise OperationFailed(index, error) from error
        if not self._is_guest:
            _fill_pools()

    def written_files(self, keep: str) -> list[tuple[str, int]]:
        integrity.load("wanlab.agent.written_files")
        from .written_files import written_files  # once at the end

        return written_files(keep)

    def _fork_for(self, connection: int) -> None:
        """Fork an agent for a program inside; the program's connection becomes its channel.

        A fork starts faster than a new Python, which would have to import everything again. In a
        sandbox, a new Python knows nothing of this one.
        """
        sandbox = self._processes.sandbox
        if sandbox is not None:
            sandbox.start_agent(connection)
        elif not os.fork():
            _serve_guest(connection)

    def _paths(self, node: str) -> NamespacePaths:
        """Answer a program's request for the namespaces of a node."""
        if self._processes.sandbox is None:
            return self._namespaces.paths(node)
        net = "/proc/1/ns/net" if node == ROOT else f"{root.NETNS_FOLDER}/{node}"
        return {"net": net, "mount": "/proc/self/ns/mnt"}

    def listen(self) -> str:
        """Answer programs that were forked from the one that this agent works for, which cannot use
        its channel.

        Return the address of the socket; its requests are `paths` and `node_paths`.
        """
        address = f"{integrity.RUN_FOLDER}/agent-{os.getpid()}"
        if self._host_service is None:
            self._host_service = HostServiceSocket(
                self._poll,
                lambda data: None,
                {"paths": self._paths_for_fork, "node_paths": self._node_paths},
                address=address,
            )
        return address

    def _paths_for_fork(self, node: str) -> object:
        try:
            return self._namespaces.paths(node)
        except (OSError, ValueError) as error:
            return {"error": str(error)}

    def _node_paths(self) -> object:
        return {name: self._namespaces.paths(name) for name in (ROOT, *self._namespaces.names())}

    def halt(self) -> None:
        if self._is_guest:
            self.leave()
        os.sync()
        system.power_off()

    def leave(self) -> NoReturn:
        """End the agent. A guest first kills its processes and undoes its operations. For other agents
        all of that ends with their namespaces."""
        if self._is_guest and self._is_prepared:
            self._processes.kill_all()
            self._performer.undo()
            if self._host_service is not None:
                os.unlink(self.listen())
        sys.exit()

    # -- the loop ---------------------------------------------------------------------------------

    def serve(self) -> None:
        reader = FrameReader()
        child_ended, child_ends = os.pipe()
        os.set_blocking(child_ends, False)
        os.set_blocking(child_ended, False)
        signal.set_wakeup_fd(child_ends, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._input, select.EPOLLIN)
        self._poll.register(child_ended, select.EPOLLIN)
        self._send(encode(Kind.READY, 0))
        while True:
            for descriptor, events in self._poll.poll():
                if descriptor == self._input:
                    data = os.read(self._input, CHUNK_BYTES)
                    if not data:
                        self.leave()
                    try:
                        frames = reader.feed(data)
                    except ValueError:  # a program's: the channel to the user's side has none
                        self.leave()
                    for frame in frames:
                        self._receive(frame)
                elif descriptor == child_ended:
                    os.read(child_ended, CHUNK_BYTES)
                    self._processes.reap()
                elif self._host_service is not None and self._host_service.owns(descriptor):
                    self._host_service.ready(descriptor, events)
                elif self._watches is not None and self._watches.owns(descriptor):
                    self._watches.ready(descriptor)
                else:
                    self._processes.ready(descriptor, events)

    def _receive(self, frame: Frame) -> None:
        if frame.kind is Kind.INPUT:
            self._processes.feed(frame.number, frame.body)
        elif frame.kind is Kind.INPUT_END:
            self._processes.end_input(frame.number)
        elif frame.kind is Kind.ANSWER and self._host_service is not None:
            self._host_service.answer(frame.number, frame.body)
        elif frame.kind is Kind.ANSWER_END and self._host_service is not None:
            self._host_service.answer_end(frame.number)
        else:
            self._answer_call(frame)

    def _answer_call(self, frame: Frame) -> None:
        try:
            arguments = frame.json()
            result = self._calls[arguments.pop("do")](**arguments)
        except OperationFailed as failure:
            self._send_failure(frame.number, failure.error, index=failure.index)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._send_failure(frame.number, error)
        else:
            if isinstance(result, bytes):
                self._send(encode(Kind.DATA, frame.number, result))
            else:
                self._send(encode_json(Kind.REPLY, frame.number, result))

    def _send_failure(self, number: int, error: Exception, **more: int) -> None:
        failure = {"error": _error_text(error), "kind": type(error).__name__, **more}
        self._send(encode_json(Kind.FAILURE, number, failure))

    def _send_output(self, data: bytes) -> None:
        self._send(data)
        self._bursts.sent(len(data) + OUTPUT_BYTES)

    def _send_request(self, data: bytes) -> None:
        self._send(data)
        self._bursts.sent(len(data) + REQUEST_BYTES)

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._output, data) :]


def batches(operations: list[Request]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield (index, verb, arguments) of each operation.

    Consecutive operations that one run of a program can do are joined to one operation: its arguments
    are the concatenated lists of theirs.
    """
    index = 0
    while index < len(operations):
        verb, arguments = operations[index]
        end = index + 1
        if verb in RUN_TOGETHER:
            while end < min(len(operations), index + MAX_TOGETHER) and operations[end][0] == verb:
                end += 1
            arguments = {
                key: [item for _, other in operations[index:end] for item in other[key]]
                for key in arguments
            }
        yield index, verb, arguments
        index = end


def _serve_guest(connection: int) -> NoReturn:
    """Serve a program inside as its agent, in a separate process."""
    status = 1
    try:
        os.setsid()
        _close_all_but(connection)
        integrity.forget()
        for _ in range(3):  # 0, 1, 2
            os.open(os.devnull, os.O_RDWR)
        os.set_blocking(connection, True)
        Agent(connection, connection, is_guest=True).serve()
    except SystemExit:
        status = 0
    finally:
        os._exit(status)


def _close_all_but(*kept: int) -> None:
    # Not by /proc/self/fd: a program can mount something else there.
    start = 0
    for descriptor in (*sorted(kept), MAX_DESCRIPTORS):
        os.closerange(start, descriptor)
        start = descriptor + 1


class OperationFailed(Exception):
    def __init__(self, index: int, error: Exception) -> None:
        super().__init__(index, error)
        self.index = index
        self.error = error


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


def _fill_pools() -> None:
    """Take memory for some small objects of every size, and give it back.

    A call then finds a free one for the path of a folder, however long that is, without a page more:
    programs see the memory of this one.
    """
    _ = [bytes(size) for size in range(0, 480, 16) for _ in range(8)]
